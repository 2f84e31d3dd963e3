// This screen as a file: the sentence with its arcs, claim, curve and bars, laid out for the width that it is to have.
import { type Drawn, shapesOf } from "../export/screen";
import { SERIF } from "../generated/vocabulary";
import { inks, themeVariables } from "../paint/palette";
import { Drawing } from "../parts/chart";
import type { Sheet } from "../parts/paper";
import type { View } from "../state/view";

const LETTERS = 13.5; // px, which come out as large as was asked for
const UNITS = 11; // of the same letters in a chart
const POINT = 25.4 / 72; // mm
const SETTLES = 450; // ms until widths are measured and colours have changed

/** The front as a sheet wants it: so wide, in its theme; a moment later the view is as it was. */
export async function screenOf({ root, dark }: View, sheet: Sheet): Promise<Drawn> {
  const { style } = root.current!;
  const original = style.cssText;
  const { mm, points } = sheet;
  if (mm) Object.assign(style, { width: `${Math.round((LETTERS * mm) / (points * POINT))}px`, maxWidth: "none" });
  if (sheet.dark !== dark)
    for (const [name, colour] of Object.entries(themeVariables(sheet.dark))) style.setProperty(name, String(colour));
  try {
    if (style.cssText !== original) await new Promise((done) => setTimeout(done, SETTLES));
    return shapesOf(root.current!.querySelector(".bl-front")!);
  } finally {
    style.cssText = original;
  }
}

export function ScreenFigure({ shapes, width, height, dark }: Drawn & { dark: boolean }) {
  const scale = UNITS / LETTERS;
  const round = (value: number) => Number(value.toFixed(1));
  return (
    <Drawing width={width * scale} height={height * scale} label="" table={null}>
      <g transform={`scale(${scale})`} fill={inks(dark).ink}>
        {shapes.map(({ points, fill, stroke, opacity, dashed, text, size, serif, bold, italic, width }, n) =>
          text === undefined ? (
            <path
              key={n}
              d={`M${points.map((point) => point.map(round).join(" ")).join("L")}`}
              fill={fill || "none"}
              stroke={stroke || undefined}
              stroke-width={stroke ? width : undefined}
              stroke-dasharray={dashed ? "3 2" : undefined}
              opacity={opacity < 1 ? opacity.toFixed(3) : undefined}
            />
          ) : (
            <text
              key={n}
              x={round(points[0]![0])}
              y={round(points[0]![1])}
              fill={fill}
              opacity={opacity < 1 ? opacity.toFixed(3) : undefined}
              font-size={size}
              font-family={serif ? SERIF : undefined}
              font-weight={bold ? 600 : undefined}
              font-style={italic ? "italic" : undefined}
              textLength={round(width)}
              lengthAdjust="spacingAndGlyphs"
            >
              {text}
            </text>
          ),
        )}
      </g>
    </Drawing>
  );
}
