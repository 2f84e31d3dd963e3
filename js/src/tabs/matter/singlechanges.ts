// "Does it matter?" in a page without a kernel: of the head and the token it holds what was tried when it was saved.
import { headLabel } from "../../paint/format";
import type { Each, Target } from "../../state/effects";
import type { Overview } from "../../state/overview";
import type { Matter, MatterRow } from "../../state/whatif";
import type { WhyPlace } from "../../state/whystate";
import { tokenName } from "./cellverdict";

const NEEDS_PYTHON = "needs Python: open the notebook";

/** The answer for one cell, at the place where it changes most. The cell itself is of too many to be tried. */
export function matterOf(each: Each, overview: Overview, place: WhyPlace & Target): Matter {
  const { layer, head, query, key } = place;
  const { places, first: leaders, kind, unit } = each;
  const rows = [layer * overview.n_heads + head, overview.n_layers * overview.n_heads + key] as const;
  const changes = (at: number) => rows.map((row) => each.change[row * places.length + at]!);
  const firstOf = (row: number, at: number) => leaders.find(([n, there]) => n === row && there === at);
  const moved = (at: number) =>
    (rows.some((row) => firstOf(row, at)) ? 1e9 : 0) +
    Math.max(...changes(at).map((change) => (Number.isNaN(change) ? 0 : Math.abs(change))));
  const sizes = places.map((_, at) => moved(at));
  const at = sizes.indexOf(Math.max(...sizes));
  const [position, name, before] = places[at]!;
  const nothing = { cover: [], name, before, after: null, first: "", first_value: null };
  const effectOf = (row: number): Omit<MatterRow, "asked" | "label" | "code"> => {
    const why_not = each.refused.find(([n]) => n === row)?.[1] ?? "";
    if (why_not) return { ...nothing, why_not };
    const [, cover, bases] = each.cover.find(([n]) => n === row) ?? [row, [], null];
    const base = bases ? { name: bases[at]![0], before: bases[at]![1] } : { name, before };
    const after = base.before + each.change[row * places.length + at]!;
    const then = firstOf(row, at);
    return { ...base, cover, why_not, after, first: then?.[2] ?? "", first_value: then?.[3] ?? after };
  };
  const none = { ...nothing, why_not: NEEDS_PYTHON };
  const cell = `${tokenName(overview, query)} → ${tokenName(overview, key)}`;
  return {
    ...{ target: "", target_at: -1, ...place, kind, unit, position, name, before },
    rows: [
      {
        ...{ asked: ["off", layer, head], label: `${headLabel(layer, head)} off` },
        ...{ code: `whatif.off(${layer}, ${head})`, ...effectOf(rows[0]) },
      },
      {
        ...{ asked: ["cut", layer, head, query, key], label: `${headLabel(layer, head)}: ${cell} cut` },
        ...{ code: `whatif.cut(${layer}, ${head}, ${query}, ${key})`, ...none },
      },
      {
        ...{ asked: ["hide", key], label: `${tokenName(overview, key)} hidden` },
        ...{ code: `whatif.hide(${key})`, ...effectOf(rows[1]) },
      },
    ],
  };
}
