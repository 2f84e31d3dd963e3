// What gate a head is, of its scores: `label` of bertlens/measures/gates/names.py.

/** The name of the highest score, if that reaches what is needed and leads by the margin. needed: null where nothing gives a label. */
export function gateLabel(
  names: readonly string[],
  scores: ArrayLike<number>,
  needed: number | null,
  margin: number,
): string {
  const list = Array.from(scores);
  if (needed === null || list.some(Number.isNaN)) return "undefined";
  const [best, second] = [...list].sort((a, b) => b - a);
  return best! >= needed && best! - second! >= margin ? names[list.indexOf(best!)]! : "mixed";
}
