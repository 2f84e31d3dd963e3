// Arcs over the words of a text, from the word that asks to those that it looks at: geometry alone, in pixels.

import type { Box } from "../../state/frontstate";

export interface Scene {
  boxes: (Box | null)[]; // of the words; null: out of sight
  markers: boolean[]; // [CLS], [SEP]: drawn in grey
  asker: number; // the word
  weights: ArrayLike<number>; // its row
  loudness: number; // of the head: 1 as in the model
  size: number; // of the type
  width: number; // of the picture
  room: number; // above the first line
  gap: number; // between two lines
  stroke: number; // of weight 1
}

export interface Arc {
  word: number; // that it leads to
  weight: number;
  path: string;
  width: number;
  start: Point; // at the asker
  tip: Point;
  radius: number; // of the dot at the tip
  opacity: number; // there
  marker: boolean;
  dotted: boolean; // the head is silent
  crossing: boolean; // it runs across lines of text
}

/** The number on an arc. */
export interface Numeral {
  word: number;
  weight: number;
  x: number; // its middle
  y: number;
  width: number;
  height: number;
  size: number; // of its type
  marker: boolean;
  plate: boolean; // it stands on an arc
}

type Point = [x: number, y: number];

const MOST = 6; // arcs
const LEAST = { word: 0.02, marker: 0.05 }; // weights that are drawn
const NUMBERS = 3;
const NUMBERED = { word: 0.04, marker: 0.15, itself: 0.15 }; // weights that a number says, beside the largest word's
const FAINT = 0.02; // loudness that is silence
const GLYPHS = 0.58; // of a digit's height
const ALONG = [0.5, 0.6, 0.4, 0.7, 0.3, 0.78, 0.22]; // where on an arc its number may stand
const CLEARANCE = 3; // between numbers

const middle = ({ left, right }: Box) => (left + right) / 2;
const centre = ({ top, bottom }: Box) => (top + bottom) / 2;

/** The line of every word, from 0 at the top. */
export function linesOf(boxes: (Box | null)[], size: number): number[] {
  const centres: number[] = [];
  const lineAt = (y: number) => centres.findIndex((one) => Math.abs(one - y) < 0.7 * size);
  for (const box of boxes) if (box && lineAt(centre(box)) < 0) centres.push(centre(box));
  const order = centres.slice().sort((a, b) => a - b);
  return boxes.map((box) => (box ? order.indexOf(centres[lineAt(centre(box))]!) : -1));
}

interface Target {
  word: number;
  weight: number;
  marker: boolean;
  box: Box;
  line: number;
  x: number; // where the arc begins
}

/** Words that are looked at, the largest weight first, and where at the asker their arcs begin: none crosses another. */
function targetsOf({ boxes, markers, asker, weights }: Scene, lines: number[]): Target[] {
  const from = boxes[asker]!;
  const [x, half] = [middle(from), Math.min(0.36 * (from.right - from.left), 60)];
  const targets = boxes
    .flatMap((box, word): Target[] => {
      const [weight, marker] = [weights[word]!, markers[word]!];
      const isDrawn = box && word !== asker && weight >= LEAST[marker ? "marker" : "word"];
      return isDrawn ? [{ word, weight, marker, box, line: lines[word]!, x }] : [];
    })
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MOST);
  const along = (group: Target[], from: number, to: number) =>
    group.forEach((target, n) => {
      target.x = x + (group.length > 1 ? from + ((to - from) * n) / (group.length - 1) : (from + to) * 0.12);
    });
  const side = (sign: number, list: Target[]) =>
    list.filter(({ box }) => sign * (middle(box) - x) > 0).sort((a, b) => sign * (middle(a.box) - middle(b.box)));
  const line = lines[asker]!;
  const level = targets.filter((target) => target.line === line);
  along(side(-1, level), -half, 0);
  along(side(1, level), half, 0);
  for (const sign of [-1, 1]) {
    const elsewhere = targets.filter((target) => Math.sign(target.line - line) === sign);
    along(
      elsewhere.sort((a, b) => middle(a.box) - middle(b.box)),
      -0.8 * half,
      0.8 * half,
    );
  }
  return targets;
}

const round = (...numbers: number[]) => numbers.map((number) => number.toFixed(1)).join(" ");

/** A curve that rises from both ends as high as `height`. */
function bow(start: Point, tip: Point, height: number) {
  const lift = (4 / 3) * height;
  const [a, b] = [start[1] - lift, tip[1] - lift];
  return {
    path: `M${round(...start)}C${round(start[0], a)} ${round(tip[0], b)} ${round(...tip)}`,
    at: (u: number): Point => {
      const v = 1 - u;
      const [p, q] = [v * v * (v + 3 * u), u * u * (u + 3 * v)];
      return [start[0] * p + tip[0] * q, v ** 3 * start[1] + 3 * u * v * (v * a + u * b) + u ** 3 * tip[1]];
    },
  };
}

/** A ribbon between two lines. */
function ribbon(start: Point, tip: Point) {
  const way = 0.72 * (tip[1] - start[1]);
  return `M${round(...start)}C${round(start[0], start[1] + way)} ${round(tip[0], tip[1] - way)} ${round(...tip)}`;
}

const numeral = (word: number, weight: number, marker: boolean, large: boolean) => {
  const size = large && !marker ? 17 : 13;
  return { word, weight, marker, size, width: 4 * GLYPHS * size + 8, height: 1.35 * size };
};

const overlap = (a: Numeral, b: Numeral) =>
  Math.abs(a.x - b.x) < (a.width + b.width) / 2 + CLEARANCE &&
  Math.abs(a.y - b.y) < (a.height + b.height) / 2 + CLEARANCE;

const covers = (number: Numeral, { left, top, right, bottom }: Box) =>
  number.x + number.width / 2 > left &&
  number.x - number.width / 2 < right &&
  number.y + number.height / 2 > top + 2 &&
  number.y - number.height / 2 < bottom - 2;

/** The arcs, the smallest first, and their numbers, which neither cover each other nor a word. */
export function arcsOf(scene: Scene): { arcs: Arc[]; numbers: Numeral[] } {
  const { boxes, asker, markers, weights, loudness, size, width, room, gap, stroke } = scene;
  const from = boxes[asker];
  if (!from) return { arcs: [], numbers: [] };
  const lines = linesOf(boxes, size);
  const targets = targetsOf(scene, lines);
  const line = lines[asker]!;
  const isLevel = (target: Target) => target.line === line;
  const reach = (target: Target) => Math.abs(middle(target.box) - target.x);
  const furthest = targets.filter(isLevel).reduce((most, target) => Math.max(most, reach(target)), 1);
  const widest = (target: Target) => (isLevel(target) ? 0.2 * reach(target) + 3 : 0.3 * gap) / target.weight;
  const unit = targets.reduce((least, target) => Math.min(least, widest(target)), stroke) * loudness; // one for all
  const dotted = loudness < FAINT;
  const named = targets.filter((target) => !target.marker).slice(0, NUMBERS);
  const numbered = named.filter(({ weight }, n) => n === 0 || weight >= NUMBERED.word);
  if (targets[0]?.marker && targets[0].weight > NUMBERED.marker) numbered.unshift(targets[0]);
  const places = new Map<number, { plate: boolean; points: Point[] }>();
  const arcs = targets.map((target): Arc => {
    const { word, weight, marker, box } = target;
    const thickness = dotted ? 1.3 : Math.max(1.1, unit * weight);
    const radius = dotted ? 2.2 : Math.max(2, thickness / 2 + (thickness > 4 ? 1.2 : 0.6));
    const arc = { word, weight, marker, dotted, width: thickness, radius };
    const opacity = marker ? 0.9 : weight > 0.3 ? 1 : weight > 0.1 ? 0.8 : 0.6;
    if (isLevel(target)) {
      const [start, tip]: [Point, Point] = [
        [target.x, from.top - 4],
        [middle(box), box.top - radius],
      ];
      const highest = (line === 0 ? room : 0.8 * gap) * (reach(target) / furthest) ** 0.62;
      const { path, at } = bow(start, tip, Math.min(highest, 0.46 * reach(target) + 0.42 * size));
      const [x, y] = at(0.5);
      const above = [0, 1, 2].map((n): Point => [x, y - thickness / 2 - 13 - 22 * n]);
      const isShort = reach(target) < 90;
      places.set(word, { plate: !isShort, points: isShort ? above : [...ALONG.map(at), ...above] });
      return { ...arc, path, start, tip, opacity, crossing: false };
    }
    const isUp = target.line < line;
    const start: Point = [target.x, isUp ? from.top - 4 : from.bottom + 4];
    const tip: Point = [middle(box), isUp ? box.bottom + radius : box.top - radius];
    const aside = thickness / 2 + 24;
    const nearer = tip[0] < start[0] ? -1 : 1;
    const points = [0, 14].flatMap((down) =>
      [nearer, -nearer, 2 * nearer, -2 * nearer].map(
        (way): Point => [tip[0] + way * aside, tip[1] + (isUp ? 1 : -1) * (8 + down)],
      ),
    );
    places.set(word, { plate: false, points });
    const crossing = Math.abs(target.line - line) > 1;
    return { ...arc, path: ribbon(start, tip), start, tip, opacity, crossing };
  });
  const numbers: Numeral[] = [];
  const put = (label: ReturnType<typeof numeral>, points: Point[], plate: boolean) => {
    const free = points
      .map(([x, y]): Numeral => ({ ...label, plate, x: inside(x, label.width / 2, width), y }))
      .find((one) => !numbers.some((other) => overlap(one, other)) && !boxes.some((box) => box && covers(one, box)));
    if (free) numbers.push(free);
  };
  numbered.forEach(({ word, weight, marker }, n) => {
    const { points, plate } = places.get(word)!;
    put(numeral(word, weight, marker, n === 0), points, plate);
  });
  const itself = weights[asker]!;
  const isAlone = markers.filter((marker) => !marker).length === 1 && !markers[asker];
  if (isAlone || (itself > NUMBERED.itself && itself > (targets[0]?.weight ?? 0)))
    put(numeral(asker, itself, markers[asker]!, false), [[middle(from), from.bottom + 14]], false); // no arc to itself
  return { arcs: arcs.reverse(), numbers };
}

const inside = (x: number, half: number, width: number) => Math.max(half, Math.min(width - half, x));

const MOSTLY = 0.5; // of the weight, mean over the words

/** Whether a head looks from most words at the neighbour before (−1) or after (1), by their rows; null: at neither. */
export function habitOf(rows: ArrayLike<number>[], markers: boolean[]): -1 | 1 | null {
  const words = rows.map((_, n) => n).filter((n) => !markers[n]);
  if (words.length < 3) return null;
  const share = (step: number) => words.reduce((sum, n) => sum + (rows[n]![n + step] ?? 0), 0) / words.length;
  return ([-1, 1] as const).find((step) => share(step) >= MOSTLY) ?? null;
}

/** The arcs of all words to their neighbours but the asker's: what stands behind it. */
export function habitArcs(scene: Scene, rows: ArrayLike<number>[], step: -1 | 1): Arc[] {
  const { boxes, markers, asker, loudness, size, stroke } = scene;
  const lines = linesOf(boxes, size);
  return boxes.flatMap((box, word): Arc[] => {
    const neighbour = boxes[word + step];
    const weight = rows[word]?.[word + step] ?? 0;
    const isDrawn = box && neighbour && word !== asker && !markers[word] && !markers[word + step];
    if (!isDrawn || weight < 0.3 || lines[word] !== lines[word + step]) return [];
    const start: Point = [
      middle(box) +
        (0.2 * (box.right - box.left) * (middle(neighbour) - middle(box))) / Math.abs(middle(neighbour) - middle(box)),
      box.top - 4,
    ];
    const tip: Point = [middle(neighbour), neighbour.top - 3];
    const reach = Math.abs(tip[0] - start[0]);
    const dotted = loudness < FAINT;
    const width = dotted ? 1.3 : Math.max(1, Math.min(0.4 * stroke, 0.12 * reach) * weight * loudness);
    const { path } = bow(start, tip, 0.4 * reach + 0.25 * size);
    const arc = { word: word + step, weight, marker: false, dotted, crossing: false };
    return [{ ...arc, path, width, start, tip, radius: 2.4, opacity: 0.4 }];
  });
}
