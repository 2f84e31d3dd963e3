// The atlas on paper: as the view shows it, but as a chart.
import { useContext } from "preact/hooks";
import { MEASURES } from "../generated/vocabulary";
import { share } from "../paint/format";
import { coloursOf, inks } from "../paint/palette";
import { Drawing } from "../parts/chart";
import { Embedded } from "../parts/heatchart";
import { Legend } from "../parts/legend";
import { Paper } from "../parts/paper";
import { useView } from "../state/view";
import { included } from "./atlas";
import { commonScale, thumbnail } from "./headbutton";

const [LEFT, TOP, SIDE] = [34, 20, 44]; // px beside the thumbnails, above them, of each

/** Layers down, heads across, one thumbnail each; all are one image. */
export function AtlasFigure() {
  const { overview, shownHead, page, synced, dark } = useView();
  const sheet = useContext(Paper);
  const { thumbs } = shownHead;
  const { layers, heads } = included(overview, synced.include_layers.value, synced.include_heads.value);
  const { symbol, signed } = MEASURES[thumbs.measure];
  const common = page.commonScale.value ? commonScale(thumbs) : 0;
  const [rows, cols] = overview.thumbShape;
  const side = sheet?.inner ? Math.max(6, (sheet.inner - LEFT - 8 * heads.length) / heads.length) : SIDE;
  const zoom = side / Math.max(rows, cols, 1);
  const gap = Math.max(1, Math.round(8 / zoom)); // in cells
  const size = { rows: layers.length * (rows + gap) - gap, cols: heads.length * (cols + gap) - gap };
  const entries = new Uint8Array(size.rows * size.cols).fill(signed ? 127 : 0);
  for (const [l, layer] of layers.entries())
    for (const [h, head] of heads.entries()) {
      const cells = thumbnail(thumbs, layer * overview.n_heads + head, rows * cols, common);
      const at = l * (rows + gap) * size.cols + h * (cols + gap);
      for (let r = 0; r < rows; r++) entries.set(cells.subarray(r * cols, (r + 1) * cols), at + r * size.cols);
    }
  const image = { ...size, entries, width: size.cols * zoom, height: size.rows * zoom, x: LEFT, y: TOP };
  const high = common ? share(common) : "1";
  const colours = coloursOf(signed, dark);
  return (
    <>
      <Drawing width={LEFT + image.width} height={TOP + image.height + 2} label="Atlas of heads" table={null}>
        <Embedded {...image} palette={colours} />
        <Frames layers={layers} heads={heads} step={[(rows + gap) * zoom, (cols + gap) * zoom]} zoom={zoom} />
      </Drawing>
      <Legend
        low={signed ? `−${high}` : "0"}
        high={high}
        label={common ? symbol : `${symbol}, as a part of each head’s largest value`}
        colours={colours}
      />
    </>
  );
}

/** Names of layers and heads, and a frame around each thumbnail, that of the selected head a heavier one. */
function Frames(props: { layers: number[]; heads: number[]; step: [down: number, right: number]; zoom: number }) {
  const { layers, heads, step, zoom } = props;
  const { shownHead, dark } = useView();
  const { layer, head, overview } = shownHead;
  const selection = useContext(Paper)?.selection !== false;
  const { muted, select, border } = inks(dark);
  const [height, width] = overview.thumbShape.map((cells) => cells * zoom) as [number, number];
  const look = (chosen: boolean) => ({ stroke: chosen ? select : border, "stroke-width": chosen ? 2.5 : 1 });
  return (
    <g font-size="11" fill={muted}>
      <text x="0" y="10">
        head
      </text>
      {heads.map((name, h) => (
        <text key={name} x={LEFT + h * step[1] + width / 2} y="10" text-anchor="middle">
          {name}
        </text>
      ))}
      {layers.map((name, l) => (
        <text key={name} x="0" y={TOP + l * step[0] + height / 2 + 4}>
          L{name}
        </text>
      ))}
      <g fill="none">
        {layers.map((one, l) =>
          heads.map((other, h) => (
            <rect
              key={`${one}-${other}`}
              {...{ width, height, x: LEFT + h * step[1], y: TOP + l * step[0] }}
              {...look(selection && one === layer && other === head)}
            />
          )),
        )}
      </g>
    </g>
  );
}
