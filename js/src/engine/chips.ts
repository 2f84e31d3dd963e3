// Changes as a page asks for them and is told of them, in the words of bertlens/whatif/chips.py.

import * as phrases from "../generated/phrases";
import { NEEDS_PYTHON } from "../kernel/needs";
import { headLabel } from "../paint/format";
import { quotation } from "../paint/quotes";
import type { Change } from "./changes";

export type Fields = Record<string, unknown>;

const index = (n: unknown, size: number): number => {
  if (!Number.isInteger(n) || (n as number) < 0 || (n as number) >= size) throw new Error("no such part of this run");
  return n as number;
};
const factor = (n: unknown): number => {
  if (typeof n !== "number" || !Number.isFinite(Math.fround(n)) || n < 0)
    throw new Error(phrases.NO_FACTOR({ factor: String(n) }));
  return n;
};
const indexOrAll = (n: unknown, size: number) => (n === null || n === undefined ? null : index(n, size));

/** A change that a page names by its number among those known, or as a list such as ["off", 3, 5]. */
export function readChange(
  one: unknown,
  known: readonly Change[],
  { layers, heads, tokens }: { layers: number; heads: number; tokens: number },
): Change {
  if (typeof one === "number" && known[one]) return known[one];
  const [kind, ...numbers] = Array.isArray(one) ? one : [];
  const layer = () => index(numbers[0], layers);
  if (kind === "off") return { kind, layer: layer(), head: indexOrAll(numbers[1], heads) };
  if (kind === "scale")
    return { kind, layer: layer(), head: indexOrAll(numbers[1], heads), factor: factor(numbers[2]) };
  if (kind === "dim") return { kind, token: index(numbers[0], tokens), factor: factor(numbers[1]) };
  if (kind === "hide") return { kind, token: index(numbers[0], tokens) };
  if (kind === "cut") {
    const [query, key] = [indexOrAll(numbers[2], tokens), indexOrAll(numbers[3], tokens)];
    return { kind, layer: layer(), head: indexOrAll(numbers[1], heads), query, key };
  }
  throw new Error(NEEDS_PYTHON);
}

/** A factor to three digits. */
const short = (n: number) => String(Number(n.toPrecision(3)));

const python = (n: number | null) => (n === null ? "None" : String(n));

/** What a page shows of a change. */
export function chipOf(change: Change, id: number, tokens: readonly string[]) {
  const token = (n: number | null) => {
    if (n === null) return "any";
    const isOnly = tokens.indexOf(tokens[n]!) === tokens.lastIndexOf(tokens[n]!);
    return `${quotation(tokens[n]!)}${isOnly ? "" : ` (${n})`}`;
  };
  const bare = { id, off: null, scale: null };
  if (change.kind === "hide") {
    const label = `${token(change.token)} hidden`;
    return { ...bare, label, about: phrases.TOKEN_HIDDEN(change), code: `whatif.hide(${change.token})` };
  }
  if (change.kind === "dim") {
    const times = short(change.factor);
    const about = phrases.TOKEN_DIMMED({ token: change.token, factor: times });
    const code = `whatif.dim(${change.token}, ${change.factor})`;
    return { ...bare, label: `${token(change.token)} at ${times}`, about, code };
  }
  const { layer, head, kind } = change;
  const name = head === null ? `L${layer}` : headLabel(layer, head);
  if (kind === "off") {
    const [label, about, code] =
      head === null
        ? [phrases.LAYER_OFF_CHIP({ layer }), phrases.LAYER_OFF({ layer }), `whatif.off(${layer})`]
        : [`${name} off`, phrases.HEAD_OFF({ layer, head }), `whatif.off(${layer}, ${head})`];
    return { ...bare, off: [layer, head], label, about, code };
  }
  if (kind === "scale") {
    const times = short(change.factor);
    const [label, about] =
      head === null
        ? [phrases.LAYER_SCALED_CHIP({ layer, factor: times }), phrases.LAYER_SCALED({ layer, factor: times })]
        : [`${name} at ${times}`, phrases.HEAD_SCALED({ layer, head, factor: times })];
    const code = `whatif.scale(${layer}, ${python(head)}, ${change.factor})`;
    return { ...bare, scale: [layer, head, change.factor], label, about, code };
  }
  const { query, key } = change;
  const heads = head === null ? phrases.LAYER_HEADS({ layer }) : phrases.ONE_HEAD({ layer, head });
  const [from, to] = [
    query === null ? phrases.EVERY_TOKEN : `token ${query}`,
    key === null ? phrases.ANY_TOKEN : `token ${key}`,
  ];
  return {
    ...bare,
    label: phrases.CUT_CHIP({ heads: name, query: token(query), key: token(key) }),
    about: phrases.CUT({ heads, query: from, key: to }),
    code: `whatif.cut(${layer}, ${[head, query, key].map(python).join(", ")})`,
  };
}
