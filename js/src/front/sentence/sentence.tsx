// The sentence: a text field whose words are buttons, and over them what the chosen head looks at.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { isOfProgram, placeIn, touchedAt } from "../../kernel/opened";
import { share } from "../../paint/format";
import { Check } from "../../parts/controls";
import { wordName } from "../../parts/token";
import { useWidth } from "../../parts/width";
import { clozeOf } from "../../state/cloze";
import { headsInHand } from "../../state/frontanswers";
import type { Box } from "../../state/frontstate";
import { useView } from "../../state/view";
import { heaviestOf, hiddenWordsOf, lossLines } from "../../tabs/task/hiddenwords";
import { closeLeaf } from "../leaf/openleaf";
import { isBrief, leafOf } from "../unfolded";
import { arcsOf, habitOf, type Scene } from "./arcs";
import { useTyped } from "./field";
import { HeadArcs } from "./headarcs";
import { useLayout, wordAt } from "./layout";
import { charactersInSight } from "./lettering";
import { LABEL_BELOW, Line, taps } from "./line";
import { LongLine, partAround } from "./longline";
import { usePins } from "./pins";
import { VerbRow, verbsOf } from "./verbs";
import { askerOf, isLongText, meanRowOf, previewOf, rowOf, type TextLine, wordsOf, wordWeights } from "./wordrow";

const isTouch = globalThis.matchMedia?.("(pointer: coarse)").matches;
const TO_TYPE = isTouch ? " Hold it to write another." : " Double-click it to write another.";
const KEYS = "Space: look. Enter: change.";
const TWICE = 350; // ms between two taps
const PAPER = 660; // px of a stage on a sheet of A4 or Letter
const LONG_PRESS = 450; // ms of a finger
const TAPS = 2; // touches after which nobody needs to be told

const upsideDown = (box: Box | null): Box | null => box && { ...box, top: -box.bottom, bottom: -box.top };

/** The sentence that stands beside this one. */
export interface Beside {
  text: string;
  isAbove: boolean; // this one stands below it, with its arcs under the words
  close: () => void;
}

interface Props {
  beside?: Beside | null;
  end?: { children: ComponentChildren; width: number }; // at the end of the row of verbs, and its width in em
}

export function Sentence({ beside = null, end }: Props) {
  const view = useView();
  const { synced, link, running, page, overview, shownHead } = view;
  const stage = useRef<HTMLDivElement>(null);
  const second = page.front.secondText;
  const below = beside?.isAbove ?? false;
  const byKeys = useSignal(false); // a word has the focus, from the keyboard
  const touched = useRef(false); // the last pointer was a finger
  const press = useRef<ReturnType<typeof setTimeout>>(undefined);
  const tap = useRef({ word: -1, at: 0 }); // the last of a finger
  const letGo = () => clearTimeout(press.current);
  const pins = useRef<{ query: number | null; key: number | null }>({ query: null, key: null }); // before a click
  const words = wordsOf(overview);
  const { submitted, pinCell } = usePins(view, words);
  const typed = useTyped(submitted);
  const { fields, secondText, runsAlone } = typed;
  const live = link.kernel.value && overview.lens;
  const mayWrite = live || (overview.lens && link.coming.value !== ""); // it runs once the model is here
  const hasPair = secondText.value !== "" || fields[1].value.value !== "";
  const lines = [0, 1].flatMap((n): TextLine[] => {
    const line = words.lines[n];
    if (line && (n === 0 || overview.pair || !overview.square)) return [line];
    return n === 1 && (hasPair || second.value) ? [{ text: "", places: [], before: [], after: [] }] : [];
  });
  const texts = lines.map((line, n) => (live || fields[n]!.value.value ? fields[n]!.value.value : line.text));
  const home = askerOf(view, words, null);
  const centre = useSignal<{ word: number; rest: number } | null>(null); // of a long text, while the same word is pinned
  const width = useWidth(stage, PAPER);
  const characters = lines.length === 1 ? charactersInSight(texts[0]!, width) : Number.POSITIVE_INFINITY;
  const middle = centre.value?.rest === home ? centre.value.word : home;
  const stretch = characters < texts[0]!.length ? partAround(lines[0]!, middle, characters) : null;
  const { type, boxes } = useLayout(
    stage,
    words,
    stretch ? [texts[0]!.slice(stretch.start, stretch.end)] : texts,
    width,
    isBrief(view),
    beside?.text ?? null,
  );
  const long = isLongText(shownHead.weights);
  const { front } = page;
  useEffect(() => {
    front.word.value = null; // of another text
    front.preview.value = null;
  }, [overview.subject]);
  useLayoutEffect(() => {
    front.boxes.value = boxes;
  }, [boxes]);
  const preview = previewOf(view, words);
  const asker = preview?.asker ?? askerOf(view, words);
  const weights = wordWeights(shownHead.weights, words);
  const mean = preview ? null : meanRowOf(view, words);
  const key = preview ? `${preview.layer} ${preview.head}` : String(mean ? headsInHand(view) : "");
  const row = useMemo(
    () => rowOf(preview?.weights ?? mean ?? weights.values.row(asker), words),
    [weights, words, asker, key],
  );
  const pinned = view.focus.pinnedQuery
    ? words.rows.findIndex(({ pieces }) => pieces.includes(view.focus.query))
    : null;
  const habit = useMemo(() => {
    if (long || !overview.square) return null;
    const rows = words.rows.map((_, n) => weights.values.row(n));
    const step = habitOf(rows, words.markers);
    return step && { step, rows };
  }, [weights, words]);
  const scene = useMemo(
    (): Scene => ({
      boxes: below ? boxes.map(upsideDown) : boxes,
      ...{ asker, width, weights: row, markers: words.markers, loudness: 1 },
      ...{ size: type.size, room: type.room, stroke: type.one ? (width > 1100 ? 20 : 15) : 12 },
    }),
    [boxes, asker, row, type, width],
  );
  const numbers = useMemo(() => arcsOf(scene).numbers, [scene]); // as the model has it: words stay as they are in a drag
  const firstBox = boxes.findIndex(Boolean);
  const numbered = new Set(numbers.map(({ word }) => word));
  const cloze = clozeOf(view);
  const withoutWords = hiddenWordsOf(view);
  const losses = useMemo(() => lossLines(withoutWords), [withoutWords]);
  const probabilities = useMemo(() => {
    if (losses) return losses;
    const hidden = cloze?.state === "answered" ? cloze.value.words : [];
    return new Map(hidden.map(({ pieces, probability }) => [pieces[0], probability]));
  }, [cloze, losses]);
  const heaviest = words.units.findIndex(({ pieces }) => pieces[0] === heaviestOf(withoutWords));
  const isOfWords = losses !== null && !preview && (pinned === null || isOfProgram(placeIn(synced)));
  const marks = (word: number) => {
    const weight = row[word] ?? 0;
    const state =
      word === asker
        ? "bl-asker"
        : numbered.has(word) && weight >= 0.1 && !words.markers[word]
          ? "bl-hit"
          : weight < 0.1
            ? "bl-far"
            : "";
    const isWashed = type.dense && word !== asker && weight >= 0.02 && !words.markers[word];
    const wash = `color-mix(in srgb, var(--select) ${Math.round(8 + 45 * weight)}%, transparent)`;
    const probability = probabilities.get(words.units[word]?.pieces[0]);
    const differs = front.differs.value.has(word) ? " bl-differs" : "";
    const isSure = probability !== undefined;
    if (isOfWords)
      return {
        class: `${word === heaviest ? "" : "bl-far"} ${isSure ? "bl-guessable" : ""}`,
        style: isSure ? { "--probability": `${(100 * probability).toFixed(1)}%` } : {},
      };
    const style = {
      ...(isWashed ? { backgroundColor: wash } : {}),
      ...(isSure ? { "--probability": `${(100 * probability).toFixed(1)}%` } : {}),
    };
    return { class: `${state}${isSure ? " bl-guessable" : ""}${differs}`, style };
  };
  const hover = (word: number) => {
    const pieces = words.rows[word]?.pieces ?? null;
    if (String(pieces) !== String(front.word.peek())) front.word.value = pieces;
  };
  const pick = (word: number) => {
    const unit = words.rows[word];
    if (!unit) return;
    taps.count++;
    const isBack = word === pinned && !isOfProgram(placeIn(synced)); // a second touch
    synced.put({ query: isBack ? null : unit.pieces[0]!, key: null, ...touchedAt(placeIn(synced)) });
  };
  const pointAt = (event: PointerEvent) => {
    const frame = stage.current!.getBoundingClientRect();
    const scale = frame.width / stage.current!.offsetWidth || 1;
    return wordAt(boxes, (event.clientX - frame.left) / scale, (event.clientY - frame.top) / scale);
  };
  const wordOf = (target: EventTarget | null) => {
    const word = (target as Element).closest<HTMLElement>("[data-n]");
    return word ? Number(word.dataset.n) : -1;
  };
  const go = () => {
    second.value = false;
    if (live) typed.typing.enter();
  };
  const verbs = verbsOf(view, { stage, lines, words, fields, go });
  const { toHide } = front;
  useEffect(() => {
    const word = words.units.findIndex(({ pieces }) => pieces[0] === toHide.value);
    if (toHide.value !== null && word >= 0) verbs.hide?.(word);
    toHide.value = null;
  }, [toHide.value]);
  const isTyped = fields.some(({ value, shown }) => value.value !== shown.value);
  useEffect(() => {
    if (live && isTyped) go(); // what was written while the model was loaded
  }, [live]);
  const mayCut = (synced.truncation.value || texts.join("").length > 300) && live;
  const least = mayCut ? 12 : 0;
  const isVerbs = live && !isTyped && (verbs.hidden !== null || (pinned !== null && verbs.isWord(pinned)));
  return (
    <section
      class={below ? "bl-sentence bl-lower" : "bl-sentence"}
      data-testid={below ? "sentence-below" : "sentence"}
      aria-label={below ? LABEL_BELOW : "Sentence"}
    >
      <form onSubmit={(event) => event.preventDefault()}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the words in it are buttons */}
        <div
          ref={stage}
          class={`bl-stage${type.one ? " bl-one" : ""}${type.dense ? " bl-dense" : ""}${running.value ? " bl-waiting" : ""}${isOfWords ? " bl-no-arcs" : ""}`}
          style={{ "--size": `${type.size}px`, "--room": `${type.room}px`, "--gap": `${type.gap}px` }}
          title={live ? undefined : link.needs.value}
          onPointerMove={(event) => event.pointerType !== "touch" && hover(pointAt(event))}
          onPointerLeave={(event) => event.pointerType !== "touch" && hover(-1)}
          onPointerDown={(event) => {
            touched.current = event.pointerType === "touch";
            const word = wordOf(event.target);
            letGo();
            if (touched.current && mayWrite && word >= 0)
              press.current = setTimeout(() => verbs.change(word), LONG_PRESS);
          }}
          onPointerUp={letGo}
          onPointerCancel={letGo}
          onClick={({ target, detail, timeStamp }) => {
            const word = wordOf(target);
            if (word < 0) return;
            const isTwice =
              detail > 1 || (touched.current && tap.current.word === word && timeStamp - tap.current.at < TWICE);
            tap.current = { word: isTwice ? -1 : word, at: timeStamp };
            if (isTwice && mayWrite) {
              if (detail > 2) return; // a caret among its letters
              synced.put(pins.current); // it was meant to hide or to write
              if (!touched.current) verbs.change(word);
              else if (live && verbs.isWord(word)) verbs.hide?.(word);
              return;
            }
            pins.current = { query: synced.query.peek(), key: synced.key.peek() };
            pick(word);
          }}
          onFocusIn={({ target }) => {
            const isByKeys = (target as Element).matches("[data-n]:focus-visible");
            byKeys.value = isByKeys;
            if (isByKeys) hover(wordOf(target));
          }}
          onFocusOut={() => {
            byKeys.value = false;
            hover(-1);
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape" && leafOf(view) && !event.defaultPrevented) {
              event.preventDefault();
              closeLeaf(view);
              return;
            }
            const word = wordOf(event.target);
            if (word < 0) return;
            const isPinned = (synced.query.peek() ?? synced.key.peek()) !== null;
            const isReaders = isPinned && !isOfProgram(placeIn(synced));
            if (event.key === "Escape" && beside && !isReaders) {
              event.preventDefault();
              beside.close();
            } else if (event.key === "Escape" && verbs.hidden && live && !isReaders) {
              event.preventDefault();
              verbs.showAgain();
            } else if (event.key === "Escape" && isPinned) {
              event.preventDefault();
              synced.put({ query: null, key: null });
            }
            if (event.key === "Enter" && mayWrite && !words.markers[word]) {
              event.preventDefault();
              verbs.change(word);
            } else if (event.key === "Enter" || event.key === " ") {
              event.preventDefault();
              pick(word);
            }
            if (["Backspace", "Delete"].includes(event.key) && live && verbs.isWord(word)) {
              event.preventDefault();
              verbs.hide?.(word);
            }
            const list = [...stage.current!.querySelectorAll<HTMLElement>("[data-n]")];
            const at = list.findIndex((one) => Number(one.dataset.n) === word);
            const isTurned = list[at]!.closest("[dir]")!.matches("[dir=rtl]");
            const step = { ArrowLeft: isTurned ? 1 : -1, ArrowRight: isTurned ? -1 : 1 }[event.key];
            const to = { Home: list[0], End: list.at(-1) }[event.key] ?? (step && list[at + step]);
            if (!to && !step) return;
            event.preventDefault();
            event.stopPropagation(); // with Alt: not back and forward
            if (to) to.focus();
          }}
        >
          {lines.map((line, n) => {
            const shared = {
              n,
              line,
              words,
              marks,
              pinned,
              typed,
              go,
              change: verbs.change,
              part: stretch,
              ...(below ? { label: LABEL_BELOW } : {}),
              stop: boxes[asker] ? asker : firstBox,
              disabled: !mayWrite,
            };
            return <Line key={n} {...shared} field={fields[n]!} focus={n === 1 && second.value && !hasPair} />;
          })}
          {!isOfWords && (
            <HeadArcs
              {...{ scene, preview, below, habit: preview || mean ? null : habit }}
              name={`${overview.subject} ${key || `${shownHead.layer} ${shownHead.head}`}`}
              pick={preview || mean || below ? null : (word) => pinCell(asker, word)}
              nameOf={(word) => `${share(row[word]!, 2)} to ${wordName(words.units[word]!)}: how is it computed?`}
              asked={leafOf(view) ? words.units.findIndex(({ pieces }) => pieces.includes(view.focus.key)) : -1}
            />
          )}
        </div>
        {stretch && (
          <LongLine
            {...{ row, part: stretch, width }}
            line={lines[0]!}
            go={(word) => {
              centre.value = { word, rest: home };
            }}
          />
        )}
        <div class="bl-under">
          {isVerbs && (
            <VerbRow
              {...{ verbs, word: pinned }}
              left={boxes[pinned ?? asker]?.left ?? 0}
              least={least}
              end={end?.width ?? 0}
            />
          )}
          {link.coming.value && <span class="bl-coming bl-muted bl-number">{link.coming.value}</span>}
          {mayCut && (
            <Check
              label="cut if too long"
              title="Cut the text to what the model takes; the view then says how much was dropped"
              value={synced.truncation.value}
              onChange={(value) => synced.put({ truncation: value })}
            />
          )}
          {isTyped && live && !runsAlone() && (
            <button
              type="submit"
              class="bl-button bl-primary"
              aria-label="Run"
              title="Trace this text"
              disabled={running.value && !link.page.value}
              onClick={(event) => {
                event.preventDefault();
                go();
              }}
            >
              {running.value ? "…" : "Run ⏎"}
            </button>
          )}
          <span class="bl-spacer" />
          {isOfWords && <span class="bl-muted">The line under a word: what the answer loses when it is hidden.</span>}
          {end?.children}
          {!isOfWords && ((byKeys.value && live) || taps.count < TAPS) && !beside && (
            <span class="bl-hint bl-muted">
              {byKeys.value && live
                ? `${KEYS}${verbs.hide ? " Backspace: hide." : ""}`
                : `Touch a word.${live ? TO_TYPE : ""}`}
            </span>
          )}
        </div>
      </form>
    </section>
  );
}
