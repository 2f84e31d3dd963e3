// What am I seeing? Spotlights, one after the other, on the parts of the screen.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isUnfolded } from "../front/unfolded";
import { headLabel, px } from "../paint/format";
import { Button, Close } from "../parts/controls";
import { useView, type View } from "../state/view";
import { statusText } from "./statusline";

interface Spot {
  at: string; // what it falls on
  title: string;
  says: (view: View) => string;
}

const has = ({ root }: View, part: string) => root.current!.querySelector(part) !== null;

const SPOTS: Spot[] = [
  {
    at: ".bl-sentence",
    title: "The sentence",
    says: ({ shownHead: { layer, head } }) =>
      `The arcs show what a word looks at in ${headLabel(layer, head)}, the thicker the more. Touch another word, or change the text.`,
  },
  {
    at: ".bl-front-answer",
    title: "The answer",
    says: (view) => {
      if (!has(view, ".bl-answer-row")) return "What a model answers stands here, where it answers anything.";
      return `What the model answers${has(view, ".bl-lost") ? ", and how much of it is lost without this head" : ""}.`;
    },
  },
  {
    at: ".bl-heads-here:has(.bl-open-heads)",
    title: "The heads",
    says: (view) => {
      if (isUnfolded(view)) return "All of them stand below; the button folds them away again.";
      if (!has(view, ".bl-head-chip")) return "Behind the button all of them.";
      return "Those that matter most to the answer here, and behind the last button all of them.";
    },
  },
  {
    at: ".bl-atlas",
    title: "All heads",
    says: ({ overview: { n_layers, n_heads } }) =>
      `${n_layers} layers of ${n_heads} heads, each a small picture of where its words look. Click one to see it large.`,
  },
  { at: ".bl-head", title: "One head", says: (view) => statusText(view) },
  {
    at: ".bl-words",
    title: "In words",
    says: ({ focus: { pinnedQuery, pinnedKey } }) =>
      `What this head does in this text, and below it ${
        pinnedQuery || pinnedKey ? "the numbers of what is pinned" : "how its picture is read"
      }.`,
  },
  {
    at: ".bl-asking",
    title: "What to ask",
    says: () => "How the number is computed, why the head looks there, and what happens without it.",
  },
];

export function Walk() {
  const view = useView();
  const step = useSignal(-1);
  isUnfolded(view); // what there is to see depends on it
  const spots = SPOTS.filter(({ at }) => view.root.current?.querySelector(at));
  const spot = spots[step.value];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape ends the walk, wherever in it the focus is
    <span
      class="bl-walk"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !spot) return;
        event.preventDefault(); // it is not the pin's
        event.stopPropagation();
        step.value = -1;
      }}
    >
      <Button
        class="bl-button"
        title="What am I seeing?"
        aria-label="What am I seeing?"
        onClick={() => {
          step.value = 0;
        }}
      >
        ?
      </Button>
      {spot && (
        <Spotlight
          key={spot.at}
          spot={spot}
          place={`${step.value + 1} of ${spots.length}`}
          last={step.value + 1 === spots.length}
          next={() => {
            step.value = step.value + 1 < spots.length ? step.value + 1 : -1;
          }}
          close={() => {
            step.value = -1;
          }}
        />
      )}
    </span>
  );
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

interface SpotlightProps {
  spot: Spot;
  place: string;
  last: boolean;
  next: () => void;
  close: () => void;
}

function Spotlight({ spot, place, last, next, close }: SpotlightProps) {
  const view = useView();
  const note = useRef<HTMLDivElement>(null);
  const [box, setBox] = useState<Box | null>(null);
  useLayoutEffect(() => {
    const root = view.root.current!;
    const measure = () => {
      const [frame, lit] = [root, root.querySelector(spot.at)!].map((element) => element.getBoundingClientRect());
      const { left, top, width, height } = lit!;
      setBox({ left: left - frame!.left, top: top - frame!.top, width, height });
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(root);
    return () => watch.disconnect();
  }, [spot]);
  useEffect(() => {
    note.current?.querySelector<HTMLElement>(".bl-primary")?.focus();
    note.current?.scrollIntoView({ block: "nearest" });
  }, [box === null]);
  if (!box) return null;
  return (
    <>
      <div
        class="bl-spotlight"
        style={{ left: px(box.left), top: px(box.top), width: px(box.width), height: px(box.height) }}
      />
      <div
        ref={note}
        class="bl-spot-note"
        role="dialog"
        aria-label={`What am I seeing? ${spot.title}`}
        data-testid="walk"
        style={{ left: px(box.left + 12), top: px(box.top + Math.min(48, box.height / 2)) }}
      >
        <Close label="Close" onClick={close} />
        <b>{spot.title}</b>
        <p>{spot.says(view)}</p>
        <Button class="bl-button bl-primary" onClick={next}>
          {last ? "Done" : "Next"}
        </Button>{" "}
        <span class="bl-muted">{place}</span>
      </div>
    </>
  );
}
