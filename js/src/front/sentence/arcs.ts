// Arcs over the words of a text, from the word that asks to those that it looks at: geometry alone, in pixels.
import { upTo } from "../../paint/format";
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

/** Where a number may stand. */
interface Place {
  at: Point;
  plate: boolean; // on its own arc
}

const MOST = 6; // arcs
const LEAST = { word: 0.02, marker: 0.05 }; // weights that are drawn
const NUMBERS = 3;
const NUMBERED = { word: 0.04, marker: 0.15, itself: 0.15 }; // weights that a number says, beside the largest word's
const FAINT = 0.02; // loudness that is silence
const GLYPHS = 0.58; // of a digit's height
const ALONG = [0.5, 0.6, 0.4, 0.7, 0.3, 0.78, 0.22]; // where on an arc its number may stand
const CLEARANCE = 3; // between numbers
const SAMPLES = 24; // of a curve
const DENSE = 20; // px of type below which all numbers are small

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
  const line = lines[asker]!;
  const targets = boxes
    .flatMap((box, word): Target[] => {
      const [weight, marker] = [weights[word]!, markers[word]!];
      const isDrawn = box && word !== asker && weight >= LEAST[marker ? "marker" : "word"];
      return isDrawn ? [{ word, weight, marker, box, line: lines[word]!, x }] : [];
    })
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MOST);
  const side = (sign: number) => (target: Target) =>
    target.line === line && sign * (middle(target.box) - x) > 0 ? sign * (middle(target.box) - x) : 0;
  const toSide = (sign: number) => targets.filter(side(sign)).sort((a, b) => side(sign)(a) - side(sign)(b));
  const across = (sign: number) =>
    targets.filter((target) => Math.sign(target.line - line) === sign).sort((a, b) => middle(a.box) - middle(b.box));
  for (const group of [[...toSide(-1), ...across(-1), ...toSide(1).reverse()], across(1)]) {
    const most = half * Math.min(1, 0.3 * (group.length - 1));
    group.forEach((target, n) => {
      if (group.length > 1) target.x = x - most + (2 * most * n) / (group.length - 1);
    });
  }
  return targets;
}

const round = (...numbers: number[]) => numbers.map((number) => number.toFixed(1)).join(" ");

/** A curve that leaves `start` and enters `tip` upright, by so much up (−) or down. */
function curve(start: Point, leave: number, enter: number, tip: Point) {
  const [a, b] = [start[1] + leave, tip[1] - enter];
  return {
    path: `M${round(...start)}C${round(start[0], a)} ${round(tip[0], b)} ${round(...tip)}`,
    at: (u: number): Point => {
      const v = 1 - u;
      const [p, q] = [v * v * (v + 3 * u), u * u * (u + 3 * v)];
      return [start[0] * p + tip[0] * q, v ** 3 * start[1] + 3 * u * v * (v * a + u * b) + u ** 3 * tip[1]];
    },
  };
}

/** A curve that rises from both ends as high as `height`. */
const bow = (start: Point, tip: Point, height: number) => curve(start, (-4 / 3) * height, (4 / 3) * height, tip);

/** A ribbon between two lines: soon near the line that it leads to, above the bows of its own. */
function ribbon(start: Point, tip: Point, crossing: boolean) {
  const way = tip[1] - start[1];
  return crossing ? curve(start, 0.72 * way, 0.72 * way, tip) : curve(start, 0.85 * way, 0.45 * way, tip);
}

type Lettered = Pick<Numeral, "word" | "weight" | "marker" | "size" | "width" | "height">;

function numeral(word: number, weight: number, marker: boolean, size: number): Lettered {
  return { word, weight, marker, size, width: 4 * GLYPHS * size + 8, height: 1.35 * size };
}

const overlap = (a: Numeral, b: Numeral) =>
  Math.abs(a.x - b.x) < (a.width + b.width) / 2 + CLEARANCE &&
  Math.abs(a.y - b.y) < (a.height + b.height) / 2 + CLEARANCE;

const covers = (number: Numeral, { left, top, right, bottom }: Box) =>
  number.x + number.width / 2 > left &&
  number.x - number.width / 2 < right &&
  number.y + number.height / 2 > top + 2 &&
  number.y - number.height / 2 < bottom - 2;

/** Where a curve runs, and how thick it is where the head is as loud as in the model. */
interface Course {
  word: number;
  thickness: number;
  points: Point[];
}

/** Where a curve is looked at, from 0 to 1: one that crosses lines of text is seen at its ends alone. */
const samples = (crossing: boolean) =>
  upTo(SAMPLES + 1)
    .map((n) => n / SAMPLES)
    .filter((u) => !crossing || u < 0.16 || u > 0.8);

/** How much of a curve runs under a number. */
const hidden = ({ x, y, width, height }: Numeral, { points, thickness }: Course) =>
  points.filter(
    ([a, b]) => Math.abs(a - x) < (width + thickness) / 2 && Math.abs(b - y) < (0.8 * height + thickness) / 2,
  ).length;

/** The room above every line, from the words of the line before; above the first line `room`. */
function roomsOf({ boxes, room }: Scene, lines: number[]): number[] {
  const edges = (n: number) => boxes.filter((box, word): box is Box => box !== null && lines[word] === n);
  return Array.from({ length: Math.max(...lines) + 1 }, (_, n) =>
    n === 0
      ? room
      : Math.min(...edges(n).map(({ top }) => top)) - Math.max(...edges(n - 1).map(({ bottom }) => bottom)),
  );
}

/** The arcs, the smallest first, and their numbers, which cover neither each other nor a word nor another's arc. */
export function arcsOf(scene: Scene): { arcs: Arc[]; numbers: Numeral[] } {
  const { boxes, asker, markers, weights, loudness, size, width, stroke } = scene;
  const from = boxes[asker];
  if (!from) return { arcs: [], numbers: [] };
  const lines = linesOf(boxes, size);
  const rooms = roomsOf(scene, lines);
  const targets = targetsOf(scene, lines);
  const line = lines[asker]!;
  const isLevel = (target: Target) => target.line === line;
  const reach = (target: Target) => Math.abs(middle(target.box) - target.x);
  const gapOf = (target: Target) => rooms[target.line < line ? line : Math.min(line + 1, rooms.length - 1)]!;
  const furthest = targets.filter(isLevel).reduce((most, target) => Math.max(most, reach(target)), 1);
  const shares = targets.some((target) => target.line < line) ? 0.42 : 0.6; // of the room, beside ribbons
  const highest = line === 0 ? rooms[0]! : shares * rooms[line]!;
  const widest = (target: Target) => (isLevel(target) ? 0.2 * reach(target) + 3 : 0.17 * gapOf(target)) / target.weight;
  const unit = targets.reduce((least, target) => Math.min(least, widest(target)), stroke); // one for all
  const dotted = loudness < FAINT;
  const named = targets.filter((target) => !target.marker).slice(0, NUMBERS);
  const numbered = named.filter(({ weight }, n) => n === 0 || weight >= NUMBERED.word);
  if (targets[0]?.marker && targets[0].weight > NUMBERED.marker) numbered.unshift(targets[0]);
  const places = new Map<number, Place[]>();
  const courses: Course[] = [];
  const arcs = targets.map((target): Arc => {
    const { word, weight, marker, box } = target;
    const full = Math.max(1.1, unit * weight);
    const thickness = dotted ? 1.3 : Math.max(1.1, unit * weight * loudness);
    const radius = dotted ? 2.2 : Math.max(2, thickness / 2 + (thickness > 4 ? 1.2 : 0.6));
    const isUp = target.line < line;
    const isBelow = target.line > line;
    const crossing = Math.abs(target.line - line) > 1;
    const start: Point = [target.x, isBelow ? from.bottom + 4 : from.top - 4];
    const tip: Point = [middle(box), isUp ? box.bottom + radius : box.top - radius];
    const height = Math.min(highest * (reach(target) / furthest) ** 0.62, 0.46 * reach(target) + 0.42 * size);
    const { path, at } = isLevel(target) ? bow(start, tip, height) : ribbon(start, tip, crossing);
    courses.push({ word, thickness: full, points: samples(crossing).map(at) });
    const along = ALONG.map((u): Place => ({ at: at(u), plate: true }));
    const apex = at(0.5);
    const over: Place = { at: [apex[0], apex[1] - full / 2 - 13], plate: false };
    const above = line === 0 || over.at[1] > from.top - rooms[line]! ? [over] : []; // of a line above it would be another's
    const nearer = tip[0] < start[0] ? -1 : 1;
    const edge = isUp ? box.bottom : box.top;
    const besides = [0, 7, 14].flatMap((down) =>
      [nearer, -nearer].map(
        (way): Place => ({
          at: [tip[0] + way * (full / 2 + 25), edge + (isUp ? 1 : -1) * (10 + down)],
          plate: false,
        }),
      ),
    );
    places.set(
      word,
      isLevel(target) ? (reach(target) < 90 ? above : [...along, ...above]) : [...besides, ...(crossing ? [] : along)],
    );
    const opacity = marker ? 0.9 : weight > 0.3 ? 1 : weight > 0.1 ? 0.8 : 0.6;
    return { word, weight, marker, dotted, width: thickness, radius, path, start, tip, opacity, crossing };
  });
  const numbers: Numeral[] = [];
  const put = (label: Lettered, points: Place[]) => {
    const free = points
      .map(({ at: [x, y], plate }): Numeral => ({ ...label, plate, x: inside(x, label.width / 2, width), y }))
      .filter((one) => !numbers.some((other) => overlap(one, other)) && !boxes.some((box) => box && covers(one, box)));
    const covered = (one: Numeral) =>
      courses.reduce((sum, course) => {
        const count = hidden(one, course);
        const isOn = one.plate && course.word === one.word && count < course.points.length / 2; // of its own enough is seen
        return isOn ? sum : sum + count;
      }, 0);
    const best = free.reduce<Numeral | undefined>(
      (least, one) => (least && covered(least) <= covered(one) ? least : one),
      undefined,
    );
    if (best) numbers.push({ ...best, plate: best.plate || covered(best) > 0 });
  };
  const small = size < DENSE ? 12 : 13.5;
  numbered.forEach(({ word, weight, marker }, n) => {
    put(numeral(word, weight, marker, n === 0 && !marker && size >= DENSE ? 16 : small), places.get(word)!);
  });
  const itself = weights[asker]!;
  const isAlone = markers.filter((marker) => !marker).length === 1 && !markers[asker];
  if (isAlone || (itself > NUMBERED.itself && itself > (targets[0]?.weight ?? 0)))
    put(numeral(asker, itself, markers[asker]!, small), [{ at: [middle(from), from.bottom + 12], plate: false }]); // no arc to itself
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
