// What the answers of a search are made of: bertlens/search/view/.
import type { CaseArcs, CaseTexts, SheetTable, Strip } from "../generated/answers";

export type Side = keyof CaseTexts;
export type Sides<T> = Record<Side, T>;
export type Pair = Strip["before"]; // of the wrong passage, of the right one
export type Arc = NonNullable<CaseArcs["wrong"]>[number]; // row of the question, row of the passage, what they put in
export type Row = SheetTable["rows"][number];
export type SheetRows<R> = Pick<SheetTable, "said" | "about"> & { rows: R[] };
