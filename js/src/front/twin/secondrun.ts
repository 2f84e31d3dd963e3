// The run of the sentence below: another text of the same model, asked for beside the one shown, and a view of it whose
// pins and text are its own. All that the front asks of a run it asks of this one too.
import { batch, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Traits } from "../../generated/vocabulary";
import { type Answer, arrived, type Kind } from "../../kernel/answers";
import type { Synced } from "../../kernel/synced";
import { createFront } from "../../state/frontstate";
import { type Overview, overviewFrom } from "../../state/overview";
import { createShownHead } from "../../state/shownhead";
import { useView, type View, viewBeside } from "../../state/view";
import { textBelow } from "./opentwin";

const SECOND: Kind<Overview, "second_run"> = {
  op: "second_run",
  read: ({ fields, arrays }) => overviewFrom(fields, arrays),
};

export interface SecondRun {
  view: ReadonlySignal<View | null>; // null until the first run is here
  refused: ReadonlySignal<string>;
  end(): void;
}

/** The traits with a text and pins of their own. */
function syncedBeside(synced: Synced, text: Signal<string>): Synced {
  const local = {
    text,
    text_pair: signal(""),
    query: signal<number | null>(null),
    key: signal<number | null>(null),
    opened: signal<Traits["opened"]>({}),
  };
  const put = (changes: Partial<Traits>) =>
    batch(() => {
      const shared: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(changes))
        if (name in local) (local[name as keyof typeof local] as Signal<unknown>).value = value;
        else shared[name] = value;
      if (Object.keys(shared).length > 0) synced.put(shared);
    });
  return { ...synced, ...local, put };
}

function createSecondRun(main: View): SecondRun {
  const { page, answers } = main;
  const controller = new AbortController();
  const [second, refused] = [signal<View | null>(null), signal("")];
  const [text, running] = [signal(""), signal(false)];
  let sent: Signal<Overview> | null = null;
  let [current, count] = ["", 0];
  /** Each time anew: a model keeps the latest runs alone. */
  const ask = (next: string): Answer<Overview> => {
    if (next !== current) [current, count] = [next, count + 1];
    return answers.get(SECOND, { trace: `beside ${count}`, map: "" }, { text: next });
  };
  const build = (overview: Overview): View => {
    sent = signal(overview);
    const synced = syncedBeside(main.synced, text);
    const { shownHead, grown } = createShownHead(synced, answers, main.link, controller.signal, sent);
    const run = async (next: string) => {
      running.value = true;
      page.compareWith.value = { ...page.compareWith.peek(), text: next };
      await arrived(() => ask(next)).finally(() => {
        running.value = false;
      });
    };
    const { link, spent, request, show } = main;
    const front = { ...createFront(), hidden: page.front.hidden };
    return viewBeside(
      main,
      { synced, answers, shownHead, grown, link, running, spent, request, show, run },
      { ...page, front, target: signal(""), targetAt: signal(-1) },
    );
  };
  const follow = effect(() => {
    const next = textBelow(main);
    const answer = next ? ask(next) : null;
    if (!answer || answer.state === "asking") return;
    batch(() => {
      refused.value = answer.state === "refused" ? answer.reason : "";
      if (answer.state !== "answered" || answer.value === sent?.peek()) return;
      text.value = answer.value.text;
      if (sent) sent.value = answer.value;
      else second.value = build(answer.value);
    });
  });
  const end = () => {
    follow();
    controller.abort();
  };
  return { view: second, refused, end };
}

/** While the component is there. */
export function useSecondRun(): SecondRun {
  const view = useView();
  const [second] = useState(() => createSecondRun(view));
  useEffect(() => second.end, []);
  return second;
}
