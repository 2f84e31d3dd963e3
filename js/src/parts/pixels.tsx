// A canvas that holds one pixel per value and is scaled up crisply by the style sheet.
import { useCallback, useLayoutEffect, useRef } from "preact/hooks";
import { paint } from "../paint/colormap";

interface Ends {
  lo: number;
  hi: number;
  colours: Uint8Array;
}

/** Paints values by colour. `blank`: the colour of what is not a number; `version`: the same array may hold other numbers. */
export const usePaint = (values: Float32Array, { lo, hi, colours }: Ends, blank?: string, version?: unknown) =>
  useCallback(
    (out: Uint8ClampedArray) => paint(values, lo, hi, colours, out, blank),
    [values, lo, hi, colours, blank, version],
  );

export function Pixels(props: {
  width: number;
  height: number;
  paint: (out: Uint8ClampedArray) => void;
  label?: string;
  class?: string;
}) {
  const { width, height, paint, label } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || width === 0 || height === 0) return;
    const image = context.createImageData(width, height);
    paint(image.data);
    context.putImageData(image, 0, 0);
  }, [width, height, paint]);
  return (
    <canvas
      ref={canvas}
      width={width}
      height={height}
      class={`bl-pixels ${props.class ?? ""}`}
      {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
    />
  );
}
