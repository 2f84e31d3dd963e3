// The way from q·k to α for one query and one key, every number in the same digits.

import { type Slice, visible } from "../../compute/attention";
import { largest } from "../../compute/largest";
import { products } from "../../compute/neurons";
import { addedAt, cellFacts } from "../../compute/neuronsheet";
import { addedText, counted, plural, scalingText, signed } from "../../paint/format";
import { quotation } from "../../paint/quotes";
import { nounOf } from "../../parts/nouns";
import { tokenQuote } from "../../parts/token";
import type { View } from "../../state/view";
import { digitsOf } from "../scale";
import { Bars, barText, Vectors } from "./bars";
import { nameOf } from "./rowquestion";
import type { Step } from "./steps";

const BARS = 8; // on a slide
const LARGEST_POWER = 7; // e^7 is about 1,000: of larger scores the largest is taken off first

/** The exponentials of a row's scores; `less` is what is taken off each score, 0 where they are neither huge nor tiny. */
function exponentials(scores: Float64Array): { shift: number; powers: Float64Array; sum: number } {
  const top = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
  const shift = (top >= 0 && top <= LARGEST_POWER) || !Number.isFinite(top) ? 0 : top;
  const powers = scores.map((score) => Math.exp(score - shift));
  return { shift: shift, powers, sum: powers.reduce((total, one) => total + one, 0) };
}

/** "= 0.548", or how small it is where the digits do not say it. */
function equals(value: number, digits: number): string {
  const smallest = 10 ** -digits;
  return value > 0 && value < smallest / 2 ? `< ${smallest.toFixed(digits)}` : `= ${signed(value, digits)}`;
}

const dotOf = ({ d, q, k }: Slice, query: number, key: number): number => {
  let sum = 0;
  for (let n = 0; n < d; n++) sum += q![query * d + n]! * k![key * d + n]!;
  return sum;
};

/** `most`: keys that have a bar. */
export function computedSteps(view: View, query: number, key: number, most = BARS): Step[] {
  const { overview, shownHead } = view;
  const { slice } = shownHead;
  const { q, scores, alpha, keyCount } = cellFacts(slice, query, key);
  const k = slice.k!.subarray(key * slice.d, (key + 1) * slice.d);
  const digits = digitsOf(slice);
  const text = (value: number) => signed(value, digits);
  const nameAt = (tokens: string[], n: number) =>
    nameOf(
      tokens.map((label) => ({ label })),
      n,
    );
  const asks = tokenQuote(overview.queries.tokens[query]!);
  const offers = quotation(nameAt(overview.keyside.tokens, key));
  const words = plural(nounOf(overview));
  const isHidden = !visible(slice, query, key);
  const dot = dotOf(slice, query, key);
  const score = scores[key]!;
  const { shift, powers, sum } = exponentials(scores);

  const top = largest(Float32Array.from(alpha), most).positions;
  const keys = (top.includes(key) ? top : [key, ...top.slice(0, most - 1)]).sort((a, b) => a - b);
  const bars = (values: ArrayLike<number>) => (
    <>
      <Bars
        bars={keys.map((j) => ({
          name: nameAt(overview.keyside.tokens, j),
          value: values[j]!,
          text: barText({ text, digits }, values[j]!),
          ...(j === key ? { kind: "key" as const } : {}),
        }))}
      />
      {keys.length < keyCount && (
        <p class="bl-muted">
          {keys.length} of the {counted(keyCount)} {words} that {asks} sees: {offers} and those with the most attention
        </p>
      )}
    </>
  );
  const power = shift ? `e^(${text(score)} ${shift < 0 ? "+" : "−"} ${text(Math.abs(shift))})` : `e^${text(score)}`;
  const note = shift ? ` (The largest score is taken off each; that changes no weight.)` : "";
  const added = addedText(addedAt(slice, query, key), digits);
  const vectors = [
    { name: "q", values: q },
    { name: "k", values: k },
  ];
  const cannot = `${asks} cannot see ${offers}`;
  const says = [
    `${asks} asks with its query q, ${offers} offers its key k: ${slice.d} numbers each.`,
    `Multiplied number by number, they add up to q·k = ${text(dot)}.`,
    isHidden
      ? `${cannot}: its score is −∞, whatever q·k is.`
      : `${text(dot)} ${scalingText(slice.scaling)}${added} = ${text(score)}: the score of ${offers}.`,
    isHidden
      ? `${cannot}: e^−∞ = 0. The ${counted(keyCount)} ${words} that ${asks} sees have ${text(sum)} together.`
      : `${power} ${equals(powers[key]!, digits)}. All ${counted(keyCount)} ${words} that ${asks} sees have ${text(sum)} together.${note}`,
    isHidden
      ? `0 ÷ ${text(sum)} = 0: nothing of what ${asks} gives goes to ${offers}.`
      : `${powers[key]! < 10 ** -digits ? power : text(powers[key]!)} ÷ ${text(sum)} ${equals(alpha[key]!, digits)}: that part of the attention of ${asks} goes to ${offers}.`,
  ];
  const bodies = [
    <Vectors key="vectors" vectors={vectors} text={text} />,
    <>
      <Vectors vectors={vectors} text={text} />
      <Vectors vectors={[{ name: "q × k", values: products(slice, query, key) }]} text={text} />
    </>,
    bars(scores),
    bars(powers),
    bars(alpha),
  ];
  return ["Query and key", "q · k", "The score", "The exponential", "The softmax"].map((title, n) => ({
    title,
    says: says[n]!,
    body: <div class="bl-computed">{bodies[n]}</div>,
    computes: true,
  }));
}
