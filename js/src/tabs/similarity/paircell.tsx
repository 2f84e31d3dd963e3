// A cell of the matrices: coloured, edged where it is chosen, named on hover.
import type { ComponentChildren } from "preact";
import { inks } from "../../paint/palette";
import { tipped } from "../../parts/tooltip";
import { useView } from "../../state/view";

interface Props {
  name: string; // row and column
  at: [x: number, y: number];
  size: [wide: number, tall: number];
  fill: string;
  isChosen: boolean;
  about: () => string;
  choose: () => void;
  children: ComponentChildren;
}

export function Cell({ name, at: [x, y], size: [wide, tall], fill, isChosen, about, choose, children }: Props) {
  const view = useView();
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys choose the same cells
    <g data-cell={name} {...tipped(view, about)} onClick={choose}>
      <rect
        x={x + 0.5}
        y={y + 0.5}
        width={wide - 1}
        height={tall - 1}
        fill={fill}
        stroke={isChosen ? inks(view.dark).select : "none"}
        stroke-width={isChosen ? 2 : 0}
      />
      {children}
    </g>
  );
}
