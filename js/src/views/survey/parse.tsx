// A treebank's sentence: its gold arcs above the words, below the arcs that the selected head predicts.
import { Drawing, inks } from "../../parts/chart";
import { Segmented } from "../../parts/controls";
import { headLabel } from "../../state/store";
import { useView } from "../context";
import type { Choice, Sentence } from "./data";

const DIRECTIONS = ["dep->head", "head->dep"];
const NO_GUESS = -2;

interface Arc {
  word: number;
  other: number;
  color: string;
  dash?: string;
  label: string;
}

export function Parse(props: Choice & { sentence: Sentence; guesses: Int32Array }) {
  const { data, sentence, guesses, direction, put } = props;
  const view = useView();
  const { layer, head } = view.store.shown.value;
  const { ink, muted, select, accent } = inks(view.dark.value);
  const W = sentence.words.length;
  const at = ((DIRECTIONS.indexOf(direction) * data.n_layers + layer) * data.n_heads + head) * W;
  const guess = guesses.subarray(at, at + W);
  const widths = sentence.words.map((word) => Math.max(34, 7.4 * Array.from(word).length + 16));
  const ends = [8];
  for (const width of widths) ends.push(ends.at(-1)! + width);
  const x = (word: number) => (ends[word]! + ends[word + 1]!) / 2;
  const tall = (a: number, b: number) => 12 + 11 * Math.abs(a - b) ** 0.75;
  const gold: Arc[] = [];
  const found: Arc[] = [];
  let right = 0;
  for (let w = 0; w < W; w++) {
    const [truth, said] = [sentence.heads[w]!, guess[w]!];
    const words = (other: number) => `${sentence.words[w]} ← ${sentence.words[other]}`;
    if (truth >= 0)
      gold.push({ word: w, other: truth, color: muted, label: `${words(truth)}: ${sentence.relations[w]}` });
    if (said === NO_GUESS) continue;
    const hit = said === truth;
    right += Number(hit);
    found.push({
      word: w,
      other: said,
      color: hit ? accent : select,
      ...(hit ? {} : { dash: "4 3" }),
      label: `${words(said)}: ${hit ? "right" : "not in the treebank"}`,
    });
  }
  const highest = (arcs: Arc[]) => Math.max(20, ...arcs.map((arc) => tall(arc.word, arc.other)));
  const middle = highest(gold) + 30;
  const [width, height] = [ends.at(-1)! + 8, middle + highest(found) + 34];
  const draw = (arcs: Arc[], side: 1 | -1) =>
    arcs.map(({ word, other, color, dash, label }) => {
      const base = middle + (side < 0 ? -26 : 12);
      const top = base + side * tall(word, other) * 1.3;
      const from = x(word) + (other > word ? 4 : -4);
      const to = x(other) + (other > word ? -4 : 4);
      return (
        <g key={`${word}${side}`} stroke={color} fill={color}>
          <path
            d={`M${from} ${base}C${from} ${top} ${to} ${top} ${to} ${base}`}
            fill="none"
            stroke-width="1.6"
            stroke-dasharray={dash}
          >
            <title>{label}</title>
          </path>
          <path d={`M${to - 3} ${base + side * 6}h6l-3 ${-side * 6}z`} stroke="none" />
        </g>
      );
    });
  return (
    <section data-testid="parse" class="bl-parse">
      <header class="bl-panel-head">
        <h3>Parse</h3>
        <span class="bl-muted">
          above: the treebank; below: {headLabel(layer, head)}, {right} of {W} words right (full lines); arrows point to
          the head
        </span>
        <Segmented
          label="direction"
          value={direction}
          choices={[
            { value: "dep->head", label: "word → its head", title: "the word attends most to its predicted head" },
            { value: "head->dep", label: "head → the word", title: "the predicted head attends most to the word" },
          ]}
          onChange={(value) => put({ direction: value })}
        />
      </header>
      <div class="bl-scroll">
        <Drawing
          wide
          width={width}
          height={height}
          label={`Gold arcs, and those of ${headLabel(layer, head)}: ${right} of ${W} right`}
        >
          {draw(gold, -1)}
          {draw(found, 1)}
          {sentence.words.map((word, w) => (
            <g key={w} text-anchor="middle">
              <text x={x(w)} y={middle} font-size="13" fill={ink}>
                {word}
              </text>
              <text x={x(w)} y={middle - 16} font-size="9.5" fill={muted}>
                {sentence.relations[w]}
              </text>
            </g>
          ))}
        </Drawing>
      </div>
    </section>
  );
}
