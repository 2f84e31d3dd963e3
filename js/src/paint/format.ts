// Numbers as text, one place for all views.

/** Attention in [0, 1]: three decimals, more where a text is so long that a key's part rounds to nothing. */
export const share = (value: number, digits = 3) => (Number.isNaN(value) ? "NaN" : value.toFixed(digits));

export const percent = (value: number) => (Number.isNaN(value) ? "–" : `${Math.round(100 * value)} %`);

/** Signed quantities: two decimals and a true minus sign. */
export function signed(value: number, digits = 2): string {
  if (value === Number.NEGATIVE_INFINITY) return "−∞";
  if (!Number.isFinite(value)) return String(value);
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** Where a scale ends: no lower than the least number that its digits can say, so that nothing is drawn beside 0.000. */
export const scaleEnd = (most: number, digits = 3) => Math.max(most, 10 ** -digits);

/** The factor between q·k and the score, as the field writes it. */
export function scalingText(scaling: number): string {
  const square = 1 / (scaling * scaling);
  if (scaling === 1) return "× 1";
  if (Math.abs(square - Math.round(square)) < 1e-3 * square) return `÷ √${Math.round(square)}`;
  return `× ${scaling.toPrecision(3)}`;
}

/** What is added to a product, by name: “ + 0.80 (relative position)”. */
export const addedText = (added: readonly { name: string; value: number }[], digits = 2): string =>
  added.map(({ name, value }) => ` ${value < 0 ? "−" : "+"} ${signed(Math.abs(value), digits)} (${name})`).join("");

/** A length in a style: Preact adds no unit of its own. */
export const px = (length: number) => `${length}px`;

/** How many, with marks for the thousands. */
export function counted(count: number, digits = 0): string {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const format = formats.get(digits) ?? new Intl.NumberFormat("en", options);
  formats.set(digits, format);
  return format.format(count);
}

/** One of them, or several: "word", "patches". */
export const plural = (noun: string, count = 2): string =>
  count === 1 ? noun : noun.endsWith("ch") ? `${noun}es` : `${noun}s`;

/** So many of something: "1 passage", "1,398 passages". */
export const amount = (count: number, noun: string): string => `${counted(count)} ${plural(noun, count)}`;
const formats = new Map<number, Intl.NumberFormat>(); // each takes longer to make than a hundred numbers

/** A number for a table; a dash for none. */
export const number = (value: number | null | undefined, digits = 2) =>
  value == null || Number.isNaN(value) ? "–" : signed(value, digits);

/** 0, 1, … n − 1. */
export const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** The beginning of a sentence. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export const headLabel = (layer: number, head: number) => `L${layer}·H${head}`;

/** The name of a head as the papers have it, which count from 1. */
export const paperName = (layer: number, head: number) => `paper: ${layer + 1}-${head + 1}`;

/** The mean of those that are numbers; NaN where none is. */
export const meanOf = (values: number[]): number => {
  const numbers = values.filter((value) => !Number.isNaN(value));
  return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
};

/** 1st, 2nd, 3rd, 4th, 11th, 21st. */
export const ordinal = (n: number): string =>
  `${n}${(n % 100 > 10 && n % 100 < 14 ? "" : { 1: "st", 2: "nd", 3: "rd" }[n % 10]) || "th"}`;
