// A head by its name, which a click chooses.
import type { HeadName } from "../generated/vocabulary";
import { headLabel } from "../paint/format";
import { Button } from "./controls";

export const HeadLink = ({ at: [l, h], pick }: { at: HeadName; pick: (l: number, h: number) => void }) => (
  <Button class="bl-link" onClick={() => pick(l, h)}>
    {headLabel(l, h)}
  </Button>
);
