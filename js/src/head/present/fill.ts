// How a text fills a box: in letters as large as can be; where even the smallest are too large, in parts.
const SIZES = [2.4, 2, 1.7, 1.5, 1.3, 1.15, 1]; // of the slide's own letters
export const LINE = 1.6; // ems from line to line

interface Box {
  width: number; // ems of the slide's own letters
  height: number;
}

interface Filling {
  size: number;
  starts: number[]; // the first word of each part
}

/** The lines in which every word begins and ends: `widths` in ems with their blanks, `breaks` words that begin one. */
function linesOf(widths: number[], breaks: Set<number>, room: number): { start: number; end: number }[] {
  let line = 0;
  let used = 0;
  return widths.map((width, n) => {
    if (used > 0 && (breaks.has(n) || used + width > room)) {
      line++;
      used = 0;
    }
    const start = line;
    line += Math.floor(width / room); // a word longer than a line goes on in the next
    used = width > room ? width % room : used + width;
    return { start, end: line };
  });
}

export function fill(widths: number[], breaks: Set<number>, { width, height }: Box): Filling {
  const fits = (size: number) => {
    const lines = linesOf(widths, breaks, width / size);
    return ((lines.at(-1)?.end ?? 0) + 1) * LINE * size <= height;
  };
  const size = SIZES.find(fits);
  if (size !== undefined) return { size, starts: [0] };
  const smallest = SIZES.at(-1)!;
  const capacity = Math.max(1, Math.floor(height / (LINE * smallest))); // lines of a part
  const starts = [0];
  const lines = linesOf(widths, breaks, width / smallest);
  lines.forEach(({ end }, n) => {
    if (end - lines[starts.at(-1)!]!.start >= capacity && n > starts.at(-1)!) starts.push(n);
  });
  return { size: smallest, starts };
}
