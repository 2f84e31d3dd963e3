// What stands on the screen as shapes of a file: words where they stand, grounds and lines. Nothing is drawn a second time.

type Points = [x: number, y: number][];

/** A word (`text`), else a line or an area through the points. */
export interface Shape {
  points: Points; // of a word one: its left end, on the line that letters stand on
  fill: string; // "#rrggbb", "" for none
  stroke: string;
  opacity: number;
  width: number; // of the stroke, of a word its own
  dashed: boolean;
  text?: string;
  size?: number; // of letters, px
  serif?: boolean;
  bold?: boolean;
  italic?: boolean;
}

export interface Drawn {
  shapes: Shape[];
  width: number;
  height: number;
}

type Colour = [name: string, opacity: number];

const LEFT_OUT =
  "textarea, .bl-hidden, .bl-under, .bl-leaf, .bl-heads-here, .bl-more-answers, .bl-your-head, .bl-loudness-head > button";
const MOST_POINTS = 900; // of a line
const PIECES = 48; // of a line that fades
const NONE: Colour = ["", 0];

const px = (length: string) => Number.parseFloat(length) || 0;

/** A box with round corners. */
function boxOf(left: number, top: number, right: number, bottom: number, radius = 0): Points {
  const r = Math.min(radius, (right - left) / 2, (bottom - top) / 2);
  const corners = [
    [right - r, bottom - r],
    [left + r, bottom - r],
    [left + r, top + r],
    [right - r, top + r],
  ] as const;
  return corners.flatMap(([x, y], n) =>
    [0, 1, 2, 3, 4].map((way): Points[number] => {
      const angle = ((n + way / 4) * Math.PI) / 2;
      return [x + r * Math.cos(angle), y + r * Math.sin(angle)];
    }),
  );
}

/** All that a part of the page shows. */
export function shapesOf(part: Element): Drawn {
  const frame = part.getBoundingClientRect();
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
  const shapes: Shape[] = [];
  const add = (points: Points, [fill, opacity]: Colour, more: Partial<Shape> = {}) => {
    if (opacity > 0) shapes.push({ points, fill, opacity, stroke: "", width: 0, dashed: false, ...more });
  };
  const addLine = (points: Points, [stroke, opacity]: Colour, width: number, dashed = false) => {
    if (width > 0) add(points, ["", opacity], { stroke, width, dashed });
  };

  /** Any colour of a style; over a ground and so opaque, it is opaque. */
  const colourOf = (colour: string, ground = "", opacity = 1): Colour => {
    if (/^(none|transparent)?$/.test(colour)) return NONE;
    canvas.clearRect(0, 0, 1, 1);
    for (const [style, alpha] of [
      [ground || "transparent", 1],
      [colour, opacity],
    ] as const) {
      canvas.globalAlpha = alpha;
      canvas.fillStyle = style;
      canvas.fillRect(0, 0, 1, 1);
    }
    const [r, g, b, a] = [...canvas.getImageData(0, 0, 1, 1).data];
    return [`#${[r!, g!, b!].map((one) => one.toString(16).padStart(2, "0")).join("")}`, a! / 255];
  };
  const setFont = ({ fontStyle, fontWeight, fontSize, fontFamily }: CSSStyleDeclaration) => {
    canvas.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  };

  const addWord = (text: string, { left, top, width, height }: DOMRect, style: CSSStyleDeclaration, colour: string) => {
    if (width === 0 || !/[^\u200b\u2060]/.test(text)) return;
    setFont(style);
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = canvas.measureText(text);
    const { fontFamily, fontSize, fontStyle, fontWeight } = style;
    add([[left - frame.left, top - frame.top + (height + up - down) / 2]], colourOf(colour), {
      ...{ text, width, size: px(fontSize), serif: /(?<!-)serif/.test(fontFamily) },
      ...{ bold: px(fontWeight) > 500, italic: fontStyle !== "normal" },
    });
  };

  const addWords = (node: Text, parent: Element) => {
    const style = getComputedStyle(parent);
    const range = document.createRange();
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      addWord(word, range.getBoundingClientRect(), style, parent instanceof SVGElement ? style.fill : style.color);
    }
  };

  const addGround = (rect: DOMRect, style: CSSStyleDeclaration) => {
    const [x, y] = [rect.left - frame.left, rect.top - frame.top];
    const [right, bottom] = [x + rect.width, y + rect.height];
    const corner = style.borderTopRightRadius;
    const radius = corner.endsWith("%") ? rect.width / 2 : px(corner);
    if (rect.width > 0) add(boxOf(x, y, right, bottom, radius), colourOf(style.backgroundColor));
    const [line, side] = [px(style.borderTopWidth), px(style.borderLeftWidth)];
    if (line > 0) {
      const by = line / 2;
      const box = boxOf(x + by, y + by, right - by, bottom - by, radius);
      addLine([...box, box[0]!], colourOf(style.borderTopColor), line, style.borderTopStyle === "dashed");
    } else if (side > 0) addLine(boxOf(x, y, x, bottom).slice(4, 12), colourOf(style.borderLeftColor), side);
    const colours = style.backgroundImage.match(/(rgba?|color)\([^()]*\)/g) ?? []; // lines under a word, each of two alike
    const sizes = style.backgroundSize.split(", ").map((size) => size.split(" "));
    for (const n of [...sizes.keys()].reverse()) {
      const [wide, high] = sizes[n]!.map(px);
      const width = sizes[n]![0]!.endsWith("%") ? (wide! / 100) * rect.width : wide!;
      if (high && colours[2 * n]) add(boxOf(x, bottom - high, x + width, bottom), colourOf(colours[2 * n]!));
    }
  };

  const addCurve = (line: SVGGeometryElement, style: CSSStyleDeclaration) => {
    const [matrix, length] = [line.getScreenCTM()!, line.getTotalLength()];
    const count = Math.max(1, Math.min(MOST_POINTS, Math.ceil(length)));
    const places = Array.from({ length: count + 1 }, (_, n) => line.getPointAtLength((length * n) / count));
    const points = places.map((place): Points[number] => {
      const { x, y } = new DOMPoint(place.x, place.y).matrixTransform(matrix);
      return [x - frame.left, y - frame.top];
    });
    const width = px(style.strokeWidth);
    const [, id] = style.stroke.match(/^url\("?#([^"]+)"?\)/) ?? [];
    const fade = id && line.ownerDocument.getElementById(id);
    const [fill, clear] = colourOf(style.fill);
    add(points, [fill, clear * px(style.fillOpacity)]);
    const [stroke, ink] = colourOf(style.stroke);
    if (!(fade instanceof SVGLinearGradientElement)) {
      addLine(points, [stroke, ink * px(style.strokeOpacity)], width);
      return;
    }
    const ground = getComputedStyle(line).getPropertyValue("--bg");
    const stops = [...fade.querySelectorAll("stop")];
    const [from, to] = [fade.x1.baseVal.value, fade.x2.baseVal.value];
    for (let n = 0; n < PIECES; n++) {
      const [start, end] = [Math.floor((count * n) / PIECES), Math.ceil((count * (n + 1)) / PIECES)];
      const way = (places[Math.round((start + end) / 2)]!.x - from) / (to - from);
      const next = stops.find((stop) => stop.offset.baseVal >= way) ?? stops.at(-1)!;
      const lower = stops.findLast((stop) => stop.offset.baseVal < way) ?? stops[0]!;
      const [a, b] = [lower, next].map((stop) => stop.offset.baseVal) as [number, number];
      const [faint, full] = [lower, next].map((stop) => px(getComputedStyle(stop).stopOpacity)) as [number, number];
      const opacity = faint + (full - faint) * Math.max(0, Math.min(1, (way - a) / (b - a || 1)));
      addLine(points.slice(start, end + 2), colourOf(getComputedStyle(next).stopColor, ground, opacity), width);
    }
  };

  const visit = (element: Element) => {
    const style = getComputedStyle(element);
    if (element.matches(LEFT_OUT) || style.display === "none" || style.visibility === "hidden") return;
    if (element instanceof SVGGeometryElement) addCurve(element, style);
    else if (element instanceof HTMLElement) {
      const rect = element.getBoundingClientRect();
      addGround(rect, style);
      const pseudo = getComputedStyle(element, "::before");
      const [, content] = pseudo.content.match(/^"(.+)"$/) ?? [];
      if (content) {
        addGround(rect, pseudo);
        setFont(pseudo);
        const { width } = canvas.measureText(content);
        const place = new DOMRect(rect.left + (rect.width - width) / 2, rect.top, width, rect.height);
        addWord(content, place, pseudo, pseudo.color);
      }
    }
    for (const child of element.childNodes)
      if (child instanceof Element) visit(child);
      else if (child instanceof Text) addWords(child, element);
  };
  visit(part);
  const foot = Math.max(0, ...shapes.flatMap(({ points }) => points.map(([, y]) => y)));
  return { shapes, width: frame.width, height: foot + 10 };
}
