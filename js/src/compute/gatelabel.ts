// What gate a head is, of its scores: `label` of bertlens/measures/gates/names.py.

/** The name of the highest score, if that reaches what is needed and leads by the margin. needed: null where nothing gives a label. */
export function gateLabel(
  names: readonly string[],
  scores: ArrayLike<number>,
  needed: number | null,
  margin: number,
): string {
  const all = Array.from(scores);
  if (needed === null || all.some(Number.isNaN)) return "undefined";
  const [first, second] = [...all].sort((a, b) => b - a);
  return first! >= needed && first! - second! >= margin ? names[all.indexOf(first!)]! : "mixed";
}
