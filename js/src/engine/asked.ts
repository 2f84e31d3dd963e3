// Changes as a page asks for them and is told of them, in the words of bertlens/whatif/chips.py.
import type { Change } from "./changes";

export type Fields = Record<string, unknown>;

/** Of what an engine does not do. */
export const NEEDS_PYTHON = "This needs Python, which this page does not hold: open the notebook.";

const index = (n: unknown, size: number): number => {
  if (!Number.isInteger(n) || (n as number) < 0 || (n as number) >= size) throw new Error("no such part of this run");
  return n as number;
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
  if (kind === "hide") return { kind, token: index(numbers[0], tokens) };
  if (kind === "cut") {
    const [query, key] = [indexOrAll(numbers[2], tokens), indexOrAll(numbers[3], tokens)];
    return { kind, layer: layer(), head: indexOrAll(numbers[1], heads), query, key };
  }
  throw new Error(NEEDS_PYTHON);
}

const python = (n: number | null) => (n === null ? "None" : String(n));

/** What a page shows of a change. */
export function chipOf(change: Change, id: number, tokens: readonly string[]) {
  const token = (n: number | null) => {
    if (n === null) return "any";
    const isOnly = tokens.indexOf(tokens[n]!) === tokens.lastIndexOf(tokens[n]!);
    return `“${tokens[n]}”${isOnly ? "" : ` (${n})`}`;
  };
  if (change.kind === "hide")
    return {
      ...{ id, off: null, label: `${token(change.token)} hidden`, about: `token ${change.token} hidden` },
      code: `whatif.hide(${change.token})`,
    };
  const { layer, head } = change;
  const named = head === null ? `L${layer}` : `L${layer}·H${head}`;
  const about = head === null ? `all heads of layer ${layer}` : `head ${layer}.${head}`;
  if (change.kind === "off")
    return {
      ...{ id, off: [layer, head], label: `${head === null ? `all heads of ${named}` : named} off` },
      ...{ about: `${about} off`, code: `whatif.off(${layer}${head === null ? "" : `, ${head}`})` },
    };
  const { query, key } = change;
  const [from, to] = [query === null ? "every token" : `token ${query}`, key === null ? "any token" : `token ${key}`];
  return {
    ...{ id, off: null, label: `${named}: ${token(query)} → ${token(key)} cut` },
    about: `${about}: ${from} looks at ${to} cut`,
    code: `whatif.cut(${layer}, ${[head, query, key].map(python).join(", ")})`,
  };
}
