// Gate view: what kind of gate the selected head is, by which scores, on the evidence of which cells.
import { useMemo } from "preact/hooks";
import {
  atLength,
  GATE_LABELS,
  GateBadge,
  type Gates as GateData,
  lengthNote,
  relabelled,
  USUAL,
  useGateAnswer,
} from "../../atlas/gatemarks";
import { extremes } from "../../compute/grid";
import { GATES } from "../../generated/vocabulary";
import { type AnswerTo, type Arguments, arrived, fieldsAndArrays, type Kind } from "../../kernel/answers";
import { entry, rgb } from "../../paint/colormap";
import { headLabel, percent, share, upTo } from "../../paint/format";
import { inks, weightColours } from "../../paint/palette";
import { choicesOf, into, Segmented, Slider } from "../../parts/controls";
import { HeatChart } from "../../parts/heatchart";
import { Legend } from "../../parts/legend";
import type { Numbers } from "../../parts/picturetable";
import { Section, Waiting } from "../../parts/section";
import { Table } from "../../parts/table";
import { Token } from "../../parts/token";
import { showTip } from "../../parts/tooltip";
import type { Cell } from "../../state/page";
import { useAnswer } from "../../state/useanswer";
import { useView, type View } from "../../state/view";

const SIDE = 340; // px of the longer side of the map

export function Gates() {
  const answer = useGateAnswer();
  if (answer.state !== "answered" || answer.pending?.length)
    return <Waiting answer={answer} doing="scoring the heads" />; // of all heads: they are counted
  const data = answer.value;
  return (
    <div class="bl-gates" data-testid="gates">
      <section class="bl-stack">
        <Scores data={data} />
        <Thresholds />
        <p class="bl-note">
          A head gets the name of its highest score if that reaches the threshold and leads by the margin, else “mixed”.
          Names after Bonino et al. 2025; the scores are bertlens’ own reading of them, corrected for chance.{" "}
          <span data-testid="gate-length">{lengthNote(data)}</span>
        </p>
      </section>
      <Evidence data={data} />
      <section class="bl-counts">
        <Counts data={data} />
      </section>
    </div>
  );
}

function Thresholds() {
  const { thresholds } = useView().page;
  const [threshold, margin] = thresholds.value;
  const slider = (label: string, min: number, max: number, value: number, set: (value: number) => [number, number]) => (
    <Slider
      {...{ label, min, max, value }}
      step={0.05}
      text={value.toFixed(2)}
      onChange={(to) => into(thresholds)(set(to))}
    />
  );
  return (
    <div class="bl-controls">
      {slider("threshold", 0.05, 0.95, threshold, (value) => [value, margin])}
      {slider("margin", 0, 0.5, margin, (value) => [threshold, value])}
    </div>
  );
}

interface DataProps {
  data: GateData;
}

/** The scores of the head shown, in both views. */
function Scores({ data }: DataProps) {
  const { names, labels, least: bound, full, content, content_tokens } = data;
  const { layer, head, overview } = useView().shownHead;
  const at = (layer * overview.n_heads + head) * names.length;
  const bar = (score: number) => (
    <span class="bl-gate-score">
      <span class="bl-bar-track">
        <span style={{ "--part": `${100 * (score || 0)}%` }} />
        {bound !== null && <i style={{ left: `${100 * Math.min(1, bound)}%` }} />}
      </span>
      <span class="bl-number">{Number.isNaN(score) ? "–" : score.toFixed(2)}</span>
    </span>
  );
  const column = (name: string, title: string, scores: Float32Array) => ({
    name,
    title,
    value: (g: number) => scores[at + g]!,
    show: (g: number) => bar(scores[at + g]!),
  });
  return (
    <Table
      class="bl-gate-scores"
      title={`${headLabel(layer, head)}: ${labels.full[layer]![head]!} ${atLength(overview.queries.tokens.length)}`}
      about={`without special tokens: ${labels.content[layer]![head]!} ${atLength(content_tokens)}`}
      columns={[
        { name: "gate", value: (g) => names[g]!, show: (g) => <GateName name={names[g]!} /> },
        column("full view", "all tokens", full),
        column("content view", "special tokens left out", content),
      ]}
      rows={upTo(names.length)}
    />
  );
}

const GateName = ({ name }: { name: string }) => (
  <span title={GATES[name]?.about}>
    <GateBadge label={name} /> {name}
  </span>
);

/** How many heads of each layer have which gate. */
function Counts({ data }: DataProps) {
  const { page, shownHead } = useView();
  const view = page.gateView.value;
  const labels = data.labels[view];
  const tokens = view === "full" ? shownHead.overview.queries.tokens.length : data.content_tokens;
  const count = (l: number, name: string) => labels[l]!.filter((label) => label === name).length;
  const column = (name: string) => ({
    name,
    label: <GateBadge label={name} />,
    title: name,
    value: (l: number) => count(l, name),
    show: (l: number) => count(l, name) || "",
  });
  const names = Object.keys(GATES).filter((name) => labels.flat().includes(name));
  return (
    <>
      <Table
        title="Gates per layer"
        about={`number of heads, ${view} view, ${atLength(tokens)}`}
        columns={[{ name: "layer", value: (l) => `L${l}` }, ...names.map(column)]}
        rows={upTo(labels.length)}
        pinned={(l) => l === shownHead.layer}
      />
      <ul class="bl-gate-words bl-muted">
        {names.map((name) => (
          <li key={name}>
            <GateName name={name} />: {GATES[name]!.about}
          </li>
        ))}
      </ul>
    </>
  );
}

type Counted = AnswerTo<"evidence"> & { asked: Arguments<"evidence"> };

const EVIDENCE: Kind<Counted, "evidence"> = {
  op: "evidence",
  needs: "gates",
  read: (reply, asked) => ({ ...fieldsAndArrays(reply), asked }),
};

/** The gate with a head's highest score. */
const clearest = (names: string[], scores: Float32Array): string =>
  names[names.reduce((best, _, g) => (scores[g]! > scores[best]! ? g : best), 0)]!;

/** The cells that made the head's score for its clearest gate. */
function Evidence({ data }: DataProps) {
  const { page, shownHead, overview } = useView();
  const { layer, head } = shownHead;
  const view = page.gateView.value;
  const scores = data[view].subarray((layer * overview.n_heads + head) * data.names.length);
  const question = { layer, head, gate: clearest(data.names, scores), view };
  const answer = useAnswer(EVIDENCE, question);
  // not that of the head before, which stays until this one's is here
  const isOf = (counted: Counted) => JSON.stringify(counted.asked) === JSON.stringify(question);
  const evidence = answer.state === "answered" && isOf(answer.value) ? answer.value : null;
  const { pattern, detail, mass = null } = evidence ?? {};
  return (
    <Section
      title={`Evidence for “${question.gate}”`}
      about="click a cell to pin it"
      aside={
        <Segmented
          label="view"
          value={view}
          choices={choicesOf({ full: "Full", content: "Content" })}
          onChange={into(page.gateView)}
        />
      }
    >
      {shownHead.weights.matrix ? (
        <EvidenceMap cells={evidence?.cells ?? null} />
      ) : (
        <p class="bl-muted">Too many cells to draw the evidence of.</p>
      )}
      <p class="bl-muted">
        {answer.state === "refused" && `Which cells count is not known. ${answer.reason}`}
        {evidence && `pattern “${pattern}”${detail ? ` (${detail})` : ""}: `}
        {evidence &&
          (mass === null
            ? "no cells"
            : `${percent(mass)} of the words’ attention lies on the cells in full colour, rows of special tokens left out; the score sets what chance gives aside`)}
      </p>
    </Section>
  );
}

/** The head's weights; where it is known which cells count, the others are pale. */
function EvidenceMap({ cells }: { cells: Uint8Array | null }) {
  const view = useView();
  const { synced, dark } = view;
  const { slice, layer, head, overview } = view.shownHead;
  const weights = view.shownHead.weights.matrix!;
  const { S, K } = slice;
  const { peak, top } = useMemo(() => extremes(weights, S), [weights]);
  const colours = weightColours(dark);
  const palette = useMemo(() => twoLevels(colours, inks(dark).panel), [colours, dark]);
  const counts = (n: number) => !cells || ((cells[n >> 3]! << (n & 7)) & 128) !== 0;
  const entries = useMemo(
    () => Uint8Array.from(weights, (a, n) => (Math.max(0, entry(a, 0, top || 1)) >> 1) + (counts(n) ? 0 : 128)),
    [weights, top, cells],
  );
  const [rows, cols] = [overview.queries.tokens, overview.keyside.tokens];
  const tip = ({ row, col }: Cell) => (
    <>
      <Token text={rows[row]!} /> → <Token text={cols[col]!} />{" "}
      <b class="bl-number">{share(weights[row * K + col]!)}</b>
      {cells && (counts(row * K + col) ? " counts" : " does not count")}
    </>
  );
  return (
    <>
      <HeatChart
        label={`Attention of ${headLabel(layer, head)}, the cells that made the score in full colour`}
        {...{ rows, cols, entries, palette, dark, values: weights }}
        axes={["query", "key"]}
        width={(SIDE * K) / Math.max(S, K)}
        height={(SIDE * S) / Math.max(S, K)}
        onHover={(cell, event) => showTip(view, event, cell && tip(cell))}
        onPick={({ row, col }) => synced.put({ query: row, key: col })}
      />
      <Legend
        low="0"
        high={`${top < peak ? "≥ " : ""}${share(top)}`}
        label={cells ? "α; pale cells do not count" : "α"}
        colours={colours}
      />
    </>
  );
}

/** 128 colours of a table, and the same again mixed with the background. */
function twoLevels(colours: Uint8Array, background: string): Uint8Array {
  const blank = rgb(background);
  return Uint8Array.from({ length: 3 * 256 }, (_, at) => {
    const [n, c] = [Math.floor(at / 3), at % 3];
    const full = colours[3 * Math.round(((n % 128) * 255) / 127) + c]!;
    return n < 128 ? full : Math.round(0.27 * full + 0.73 * blank[c]!);
  });
}

/** Labels and scores of every head, in both views. */
export async function gateNumbers({ answers, overview, page }: View): Promise<Numbers> {
  const [threshold, margin] = page.thresholds.value;
  const gates = relabelled(await arrived(() => answers.get(GATE_LABELS, overview, USUAL)), threshold, margin);
  const { names, labels, content_tokens, least: bound } = gates;
  const views = ["full", "content"] as const;
  const { n_layers, n_heads, queries } = overview;
  const line = (l: number, h: number) => [
    ...[l, h, queries.tokens.length, labels.full[l]![h]!, labels.content[l]![h]!],
    ...views.flatMap((view) => names.map((_, g) => gates[view][(l * n_heads + h) * names.length + g]!)),
  ];
  return {
    columns: [
      ...["layer", "head", "tokens", "label_full", "label_content"],
      ...views.flatMap((view) => names.map((name) => `${view}: ${name}`)),
    ],
    rows: upTo(n_layers).flatMap((l) => upTo(n_heads).map((h) => line(l, h))),
    facts: [
      ["threshold", `${threshold}, margin ${margin}`],
      ["content tokens", `${content_tokens}, where the threshold is ${bound?.toFixed(3) ?? "infinite"}`],
    ],
  };
}
