// How the displayed measure looks: its symbol, its colours, its scale, its numbers. One answer for picture and legend.

import type { Grid } from "../compute/grid";
import { MEASURES } from "../compute/measure";
import { signedTable, weightTable } from "../paint/palette";
import { share, signed } from "../parts/format";
import { headLabel, type Shown } from "../state/store";

/** Maps of a whole layer, by the names that bertlens.measures gives them. */
const LAYER_MAPS: Record<string, [label: string, meaning: string]> = {
  "attn-w": ["Attn-W", "mean α over heads"],
  "attn-n": ["Attn-N", "‖Σ αf(x)‖, heads summed"],
  "attnres-n": ["AttnRes-N", "heads summed, with the residual"],
  "attnresln-n": ["AttnResLn-N", "heads summed, with residual and LayerNorm"],
  rollout: ["Rollout", "AttnResLn-N multiplied through the layers so far"],
  globenc: ["GlobEnc", "whole encoder layers, multiplied through the layers so far"],
  alti: ["ALTI", "share of each token in the layer’s output, by L1 distance"],
  "value-zeroing": ["Value Zeroing", "change of the output when a token’s value is zeroed"],
};

export const layerMapLabel = (kind: string) => LAYER_MAPS[kind]?.[0] ?? kind;

export interface Look {
  name: string; // "L1·H8", "L1 AttnRes-N"
  symbol: string; // of the measure, for the legend
  label: string; // in words
  signed: boolean;
  lo: number;
  hi: number;
  beyond: string; // what the legend says where values lie beyond hi
  table: Uint8Array;
  text(value: number): string;
}

export function lookOf(shown: Shown, grid: Grid, dark: boolean): Look {
  const hi = grid.top || 1;
  const beyond = grid.top < grid.most ? `, larger ones alike (up to ${share(grid.most)})` : "";
  const { layer, head, layerMap } = shown;
  if (layerMap) {
    const [label, meaning] = LAYER_MAPS[layerMap.kind] ?? [layerMap.kind, ""];
    const look = { name: `L${layer} ${label}`, symbol: "‖·‖", label: meaning, signed: false, lo: 0, hi, beyond };
    return { ...look, table: weightTable(dark), text: share };
  }
  const measure = MEASURES[shown.measure];
  return {
    ...measure,
    name: headLabel(layer, head),
    lo: measure.signed ? -hi : 0,
    hi,
    beyond,
    table: measure.signed ? signedTable(dark) : weightTable(dark),
    text: measure.signed ? (value) => (value >= 0.0005 ? `+${signed(value, 3)}` : signed(value, 3)) : share,
  };
}
