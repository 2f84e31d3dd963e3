// Which of two passages is first, before and after a change: as `order_after` of bertlens/search/word_runs.py.
import * as phrases from "../generated/phrases";
import { isNothing } from "../paint/ranked";
import type { Pair } from "./shapes";

/** What becomes of the order, by more than rounding: one of the phrases. */
export function orderAfter(before: Pair, after: Pair): string {
  const scale = Math.max(...before.map(Math.abs));
  const [was, is] = [before, after].map(([w, r]) => (isNothing(w - r, scale) ? 0 : Math.sign(w - r)));
  if (!was || !is) return is ? phrases.BEGINS : phrases.TIES;
  return was === is ? phrases.STAYS : phrases.TURNS;
}
