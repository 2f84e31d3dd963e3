// Would a smaller part of the model rank as well? Layers and dimensions: a curve, its table, the sentences of Python.
import { sizeColumns } from "../../parts/sizes/sizecolumns";
import { SizeCurve } from "../../parts/sizes/sizecurve";
import { type Search, useSearch } from "../state";
import { SheetOf } from "../tables";
import { Work } from "./searchwork";

const PARTS = {
  layers: {
    question: "Which layer ranks best?",
    label: "Rank by each layer",
    about: "One pass over all texts gives every layer, pooled as the encoder pools.",
  },
  dimensions: {
    question: "Would half the dimensions do?",
    label: "Rank by fewer dimensions",
    about: "The vectors are there: the first numbers of each rank all anew, beside as many drawn ones.",
  },
};
const NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[];

/** The parts that can be told of: in a saved page those that were before it was saved. */
export const sizesIn = ({ address, overview: { held } }: Search) =>
  NAMES.filter((part) => !address || held.includes(part));

export function Sizes() {
  const search = useSearch();
  return (
    <>
      {sizesIn(search).map((part) => (
        <Work key={part} work={part} {...PARTS[part]}>
          {(sizes) => (
            <SheetOf name={part} title={PARTS[part].question} sheet={sizes} columns={sizeColumns(sizes)}>
              <SizeCurve sizes={sizes} dark={search.dark} />
            </SheetOf>
          )}
        </Work>
      ))}
    </>
  );
}
