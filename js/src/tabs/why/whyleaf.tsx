// Why a weight is what it is, in few lines: the parts that count by their names, all others as one, and their sum.
import { SOURCES } from "../../generated/vocabulary";
import { counted, headLabel, signed } from "../../paint/format";
import { tokenQuote } from "../../parts/token";
import { useView, type View } from "../../state/view";
import type { Split } from "../../state/whystate";
import { fromToken } from "./charts";
import { times } from "./scoresplit";
import { scoreWords } from "./splitwords";
import { SplitOf } from "./why";

const BOUND = 0.05; // of the sum of all sizes: smaller parts have no line
const MOST = 5; // lines
const DIGITS = 3;

interface Line {
  name: string;
  value: number; // in thousandths
}

/** Parts above the bound, the largest first, then the rest: as they are printed they add up to the sum. */
export function leafLines(split: Split, tokens: string[]): Line[] {
  const { kinds, heads, layer, total } = split;
  const across = heads ? heads.length / layer : 1;
  const ofKinds = kinds
    .filter(([kind]) => kind !== "head" || !heads)
    .map(([kind, value]) => ({ name: kindName(kind, layer), value }));
  const single = Array.from(heads ?? [], (value, n) => {
    const place = { layer: Math.floor(n / across), head: n % across };
    const source = split.largest.find((one) => one.layer === place.layer && one.head === place.head);
    const name = [headLabel(place.layer, place.head), source && fromToken(source, tokens)].filter(Boolean).join(", ");
    return { name, value };
  });
  const sources = [...ofKinds, ...single].filter(({ value }) => value !== 0);
  const bound = BOUND * sources.reduce((sum, { value }) => sum + Math.abs(value), 0);
  const lines = sources
    .filter(({ value }) => Math.abs(value) >= bound)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    .slice(0, MOST);
  const printed = lines.map(({ name, value }) => ({ name, value: Math.round(1000 * value) }));
  const count = sources.length - lines.length;
  if (count === 0) return printed;
  const remainder = Math.round(1000 * total) - printed.reduce((sum, { value }) => sum + value, 0);
  return [...printed, { name: `${count} smaller part${count > 1 ? "s" : ""}`, value: remainder }];
}

/** A kind of source by its name; of MLPs also which layers have them. */
const kindName = (kind: string, layer: number) =>
  kind === "mlp" && layer > 1 ? `MLPs of layers 0–${layer - 1}` : SOURCES[kind]!.label;

/** What the parts are the sum of. */
export function leadWords(view: View, split: Split): string {
  const { total, against, ratio, seen, key } = split;
  if (against === null) return scoreWords(view, split);
  const { tokens } = view.overview.keyside;
  const mean = seen === 2 ? "the other one" : `the mean of the other ${counted(seen - 1)}`;
  const rival = against === "others" ? mean : tokenQuote(tokens[against]!);
  const factor = ratio === null ? "" : times(ratio);
  const size = signed(Math.abs(total), DIGITS);
  const much = factor && `: ${factor} times the weight that ${against === "others" ? "this" : "it"} would get`;
  return `${tokenQuote(tokens[key]!)} scores ${size} ${total < 0 ? "below" : "above"} ${rival}${much}.`;
}

export function WhyLeaf() {
  const view = useView();
  return (
    <SplitOf>
      {(split, isAsked) => (
        <div class="bl-leaf-pair">
          <div>
            <p data-testid="leaf-says">{leadWords(view, split)}</p>
            <p class="bl-muted">{isAsked ? "Parts that add up, no experiment." : "computing what was asked for …"}</p>
          </div>
          <Lines split={split} />
        </div>
      )}
    </SplitOf>
  );
}

function Lines({ split }: { split: Split }) {
  const { tokens } = useView().overview.keyside;
  const lines = leafLines(split, tokens);
  const peak = Math.max(1, ...lines.map(({ value }) => Math.abs(value)));
  return (
    <ol class="bl-leaf-lines" data-testid="leaf-lines">
      {lines.map(({ name, value }) => (
        <li key={name}>
          <span>{name}</span>
          <i class={value < 0 ? "bl-minus" : ""} style={{ width: `${(100 * Math.abs(value)) / peak}%` }} />
          <span class="bl-number">{signed(value / 1000, DIGITS)}</span>
        </li>
      ))}
      <li class="bl-sum">
        <span>together</span>
        <i />
        <b class="bl-number">{signed(split.total, DIGITS)}</b>
      </li>
    </ol>
  );
}
