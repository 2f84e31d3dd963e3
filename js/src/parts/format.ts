// Numbers as text, one place for all views.

/** Attention in [0, 1]: three decimals. */
export const share = (value: number) => (Number.isNaN(value) ? "NaN" : value.toFixed(3));

export const percent = (value: number) => (Number.isNaN(value) ? "–" : `${Math.round(100 * value)} %`);

/** Signed quantities: two decimals and a true minus sign. */
export function signed(value: number, digits = 2): string {
  if (value === Number.NEGATIVE_INFINITY) return "−∞";
  if (!Number.isFinite(value)) return String(value);
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** The factor between q·k and the score, as the field writes it. */
export function scalingText(scaling: number): string {
  const square = 1 / (scaling * scaling);
  if (scaling === 1) return "× 1";
  if (Math.abs(square - Math.round(square)) < 1e-3 * square) return `÷ √${Math.round(square)}`;
  return `× ${scaling.toPrecision(3)}`;
}

/** A length in a style: Preact adds no unit of its own. */
export const px = (length: number) => `${length}px`;
