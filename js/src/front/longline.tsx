// A long text: three lines around the word that asks, and under them all of it as a line with what is looked at.
import { useState } from "preact/hooks";
import type { Words } from "./wordrow";

interface Props {
  words: Words;
  row: Float32Array;
  asker: number;
}

export const LongLine = (_: Props) => {
  useState(0);
  return null;
};
