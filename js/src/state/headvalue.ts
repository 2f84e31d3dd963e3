// A number of every head, and how it is said.

/** A number of every head, for one measure and one pin. */
export interface HeadValue {
  name: string;
  label: string;
  signed: boolean;
  whole: boolean; // every head has one: else more may be on its way
  absent: boolean; // none has one yet, or can: the atlas keeps its pictures
  peak: number; // the largest size of any head
  mark?: (layer: number, head: number) => string; // beside its number
  of(layer: number, head: number): number; // NaN where there is none
  text(value: number): string;
}

export type OfHead = (layer: number, head: number) => number;

/** A number of each head. What a change does brings its own label. */
export type HeadNumbers = { of: OfHead; unit: string } & Partial<
  Pick<HeadValue, "label" | "mark" | "signed" | "absent" | "text">
>;
