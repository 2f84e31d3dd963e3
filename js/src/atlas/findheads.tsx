// "Find heads that …": one menu of questions to the heads, with a field to search it; what is asked stands in a chip.

import { batch, type Signal, useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { quotation } from "../paint/quotes";
import { Button, binding, Check, Close, into, Menu, Select, Slider } from "../parts/controls";
import { sentenceText, statisticLabel, statistics } from "../parts/phrasing";
import { shortText, tokenText } from "../parts/token";
import type { HeadValue } from "../state/headvalue";
import { useView, type View } from "../state/view";
import { headsThatDo, useSentences } from "./headvalues";
import { useKeepInView } from "./keepinview";
import { askedNow, askHeads, type HeadQuestion, headQuestions } from "./questions";

const MOST_HEADS = 6; // that are listed
const GROUPS = ["Pinned", "Pattern", "Kind of head", "What if"] as const;

/** What the chip says: the question, and from which value on heads are shown. */
function chipWords(view: View, questions: HeadQuestion[], value: HeadValue | null): string {
  const questionName = askedNow(view);
  const minimum = view.page.atlasMinimum.value;
  const question = questions.find(({ name }) => name === questionName);
  const bound = minimum > 0 && value ? `at least ${value.text(minimum * value.peak)} (${value.label})` : "";
  return [question?.label ?? (questionName && value ? value.label : ""), bound].filter(Boolean).join(", ");
}

/** `counts`: heads of each gate. `value`: the number that colours, bars and the least value are of. */
export function FindHeads({ counts, value }: { counts: Record<string, number>; value: HeadValue | null }) {
  const view = useView();
  useKeepInView();
  const questions = headQuestions(view, counts);
  const filter = useSignal("");
  const chip = chipWords(view, questions, value);
  return (
    <>
      {chip && (
        <span class="bl-chip bl-found" data-testid="asked-heads">
          <span title={questions.find(({ name }) => name === askedNow(view))?.about}>{chip}</span>
          <Close label="Back to layers and heads" onClick={() => askHeads(view, "")} />
        </span>
      )}
      {!chip && <AskCell view={view} />}
      <Menu label="Find heads that …" name="bl-finder">
        <Questions questions={questions} filter={filter} />
        {!filter.value.trim() && <Picture value={value} />}
      </Menu>
    </>
  );
}

/** Once a cell was pinned, its question at one click. */
function AskCell({ view }: { view: View }) {
  const { row, col, grid, history } = view;
  if (row === null || col === null || !history.canUndo.value) return null;
  const [query, key] = [grid.rows[row]!.label, grid.cols[col]!.label].map((label) => shortText(label, 12));
  return (
    <Button
      class="bl-chip bl-found"
      title="Largest first: this cell in every head"
      onClick={() => askHeads(view, "cell")}
    >
      <span>
        {quotation(query!)} → {quotation(key!)} in all heads
      </span>
    </Button>
  );
}

/** `filter`: what is searched for. */
function Questions({ questions, filter }: { questions: HeadQuestion[]; filter: Signal<string> }) {
  const view = useView();
  const list = useRef<HTMLDivElement>(null);
  const questionName = askedNow(view);
  const words = filter.value.trim().toLowerCase();
  const fits = ({ label, term, about }: HeadQuestion) => `${label} ${term} ${about}`.toLowerCase().includes(words);
  const matching = useMemo(() => questions.filter(fits), [questions, words]);
  const isWord = view.overview.keyside.tokens.some((token) => tokenText(token).toLowerCase() === words);
  const heads = words && <Heads words={words} isAlone={matching.length === 0} />;
  return (
    <div ref={list}>
      <div class="bl-menu-search" data-stays>
        <input
          type="search"
          aria-label="Search what heads do"
          placeholder="search: next, entropy, a word …"
          value={filter.value}
          onInput={(event) => into(filter)(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            list.current?.querySelector<HTMLElement>(".bl-question:not(:disabled)")?.click();
          }}
        />
      </div>
      {isWord && heads}
      {GROUPS.map((group) => {
        const members = matching.filter((question) => question.group === group);
        if (members.length === 0) return null;
        return (
          <div key={group} role="group" aria-label={group}>
            <span class="bl-caps">{group}</span>
            {members.map(({ name, label, term, about, needs, count }) => (
              <Button
                key={name}
                class="bl-question"
                data-question={name}
                aria-pressed={name === questionName}
                disabled={needs !== "" && name !== questionName}
                title={about}
                onClick={() => askHeads(view, name === questionName ? "" : name)}
              >
                <span>{label}</span> <span class="bl-muted bl-number">{needs || (count ?? term)}</span>
              </Button>
            ))}
          </div>
        );
      })}
      {!isWord && heads}
    </div>
  );
}

/** The heads that do what is searched for, in their own sentences. */
function Heads({ words, isAlone }: { words: string; isAlone: boolean }) {
  const view = useView();
  const says = useSentences();
  const heads = headsThatDo(view, says, words);
  if (heads.length === 0) return isAlone ? <p>Nothing of that name: try “next”, “entropy” or a word.</p> : null;
  return (
    <div role="group" aria-label="Heads">
      <span class="bl-caps">Heads</span>
      {heads.slice(0, MOST_HEADS).map(({ layer, head, sentence }) => (
        <Button
          key={`${layer}-${head}`}
          class="bl-question"
          onClick={() => view.synced.put({ layer, head, layer_map: "" })}
        >
          <span>{sentenceText(sentence)}</span>
        </Button>
      ))}
      {heads.length > MOST_HEADS && <p>and {heads.length - MOST_HEADS} more</p>}
    </div>
  );
}

/** How the heads are drawn: as colours, on one scale, with bars, and from which value on. */
function Picture({ value }: { value: HeadValue | null }) {
  const { page, overview } = useView();
  const { atlasOrder, atlasStat, atlasMinimum, atlasFill, atlasBars, commonScale } = page;
  const isPlain = ["position", "gate"].includes(atlasOrder.value);
  return (
    <div class="bl-menu-part bl-controls" data-stays>
      <Check
        label="colour"
        title={`Fill each head with the colour of its value${value ? `: ${value.label}` : ""}`}
        {...binding(atlasFill)}
      />
      <Check label="bars" title="Bars beside the layers and below the heads: their means" {...binding(atlasBars)} />
      <Check
        label="one scale"
        title="One scale for all small pictures: a weak head looks weak"
        {...binding(commonScale)}
      />
      {isPlain && value && (
        <Select
          label="of"
          value={atlasStat.value}
          choices={statistics(overview).map((name) => ({ value: name, label: statisticLabel(name) }))}
          onChange={(name) =>
            batch(() => {
              atlasStat.value = name;
              if (!atlasFill.value && atlasMinimum.value === 0) atlasBars.value = true; // else nothing would show it
            })
          }
        />
      )}
      {value && (
        <Slider
          label="at least"
          title="Heads below leave their place empty"
          min={0}
          max={1}
          step={0.01}
          text={value.text(atlasMinimum.value * value.peak)}
          {...binding(atlasMinimum)}
        />
      )}
    </div>
  );
}
