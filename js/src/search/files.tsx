// What leaves the view of a retrieval: the open case as a figure and as a table, the list of questions.
import { csv, type Facts } from "../export/csv";
import { download, fileName, pngFromSvg } from "../export/download";
import { captionLines } from "../export/provenance";
import type { SearchCase, SearchOverview } from "../generated/answers";
import { counted, signed } from "../paint/format";
import { inks } from "../paint/palette";
import { textWidth } from "../paint/textwidth";
import { Drawing } from "../parts/chart";
import { Button, Menu } from "../parts/controls";
import { svgFile } from "../parts/figure";
import { Beside } from "../parts/paper";
import { shortText } from "../parts/token";
import { useCase } from "./case";
import { sidesOf } from "./claim";
import { groundsOf, peakOf } from "./grounds";
import { unjudged } from "./judgement";
import { isJudged } from "./listfilter";
import { Negatives } from "./negatives";
import { Scores } from "./scores";
import type { Side } from "./shapes";
import { nameOfCase, type Search, useSearch } from "./state";
import { namesOf } from "./triptych";

const [LINE, NUMBER] = [15, 44]; // units
const WORDS = 12; // of a passage in a figure
const WIDTHS = [85, 180]; // mm
const PRINT = 600 / 96; // pixels of a PNG for each CSS pixel: 600 to the inch

/** The words of a text with what they put into the difference: of the question all, of a passage the largest. */
export function barsOf(of: Pick<SearchCase, "texts">, side: Side): [word: string, part: number][] {
  const { keys, names } = of.texts[side];
  const grounds = groundsOf(of, side);
  const rows = keys.flatMap((key, row) => (key && grounds[row] ? [row] : []));
  const bars = (at: number[]) => at.map((row): [string, number] => [names[row]!, grounds[row]!.part]);
  if (side === "query") return bars(rows);
  const firstRows = rows.filter((row) => keys.indexOf(keys[row]!) === row);
  return bars(firstRows.sort((a, b) => Math.abs(grounds[b]!.part) - Math.abs(grounds[a]!.part)).slice(0, WORDS));
}

/** Words with bars of their parts, to the right what speaks for the wrong passage. */
function Bars({ of, side, width, dark }: { of: SearchCase; side: Side; width: number; dark: boolean }) {
  const ink = inks(dark);
  const sums = barsOf(of, side);
  const peak = peakOf(of);
  const gutter = Math.min(110, Math.max(40, ...sums.map(([word]) => textWidth(shortText(word, 18), 12)))) + 8;
  const zero = gutter + (width - gutter - NUMBER) / 2;
  const unit = (width - gutter - NUMBER) / 2 / peak;
  return (
    <Drawing
      width={width}
      height={LINE * sums.length + 4}
      label={`${namesOf(of)[side]}: parts of the difference`}
      table={null}
    >
      <line x1={zero} x2={zero} y1="0" y2={LINE * sums.length} stroke={ink.border} />
      {sums.map(([word, part], n) => (
        <g key={word} transform={`translate(0 ${n * LINE})`} font-size="11">
          <text x={gutter - 8} y="11" text-anchor="end" fill={ink.ink}>
            {shortText(word, 18)}
          </text>
          <rect
            x={part < 0 ? zero + part * unit : zero}
            y="3"
            width={Math.max(0.5, Math.abs(part) * unit)}
            height={LINE - 5}
            fill={part < 0 ? ink.negative : ink.positive}
          />
          <text x={width} y="11" text-anchor="end" fill={ink.muted}>
            {signed(part, 3)}
          </text>
        </g>
      ))}
    </Drawing>
  );
}

const factsOf = (search: Search, of: SearchCase): Facts => [
  ["model", search.overview.model],
  ["question", `${nameOfCase(search)}: ${of.texts.query.pieces.map(([text]) => text).join("")}`],
  ["passages", `${of.wrong}, ${of.right}`],
  [
    "versions",
    Object.entries(search.overview.versions)
      .map((pair) => pair.join(" "))
      .join(", "),
  ],
  ["date", search.overview.date],
];

/** The case as a picture on a sheet of so many millimetres. */
export function figureOf(search: Search, of: SearchCase, mm: number): string {
  const sheet = { mm, points: 8, dark: false, caption: true, selection: false };
  const inner = (11 * mm) / (8 * (25.4 / 72)) - 8;
  const columns = mm > 100 ? 3 : 1;
  const width = (inner - 16 * (columns - 1)) / columns;
  const sentence = of.judged ? of.said : unjudged(of.said);
  const names = sidesOf(of);
  return svgFile(
    {
      title: `Question ${shortText(nameOfCase(search), 24)}: what tells the two passages apart`,
      description: sentence,
      caption: [sentence, ...captionLines(factsOf(search, of))],
    },
    <>
      <Scores names={names} before={of.scores} after={null} width={Math.min(inner, 360)} dark={false} />
      {!of.why_not && (
        <Beside columns={columns} class="">
          {(["wrong", "query", "right"] as Side[]).map((side) => (
            <Bars key={side} {...{ of, side, width, dark: false }} />
          ))}
        </Beside>
      )}
    </>,
    sheet,
  );
}

/** Every word of the three texts with its part. */
export function caseCsv(search: Search, of: SearchCase): string {
  const rows = (["query", "wrong", "right"] as Side[]).flatMap((side) =>
    of.texts[side].names.map((name, row) => [side, row, name, of.texts[side].parts?.[row] ?? null]),
  );
  const facts: Facts = [...factsOf(search, of), ["scores", `${of.scores[0]} and ${of.scores[1]}`]];
  return csv(facts, ["text", "row", "word", "part of the difference"], rows);
}

/** The list, as it is ordered. */
export function questionsCsv({ model, date, questions, rules }: SearchOverview): string {
  const { query, text, rank, gap, kinds } = questions;
  const rows = query.map((id, at) => [
    ...[id, text[at]!, rank[at]!, gap[at]!],
    kinds[at]!.map((kind) => rules[kind]![0]).join(" "),
  ]);
  const facts: Facts = [
    ["model", model],
    ["questions", counted(query.length)],
    ["date", date],
  ];
  return csv(facts, ["query", "text", "rank of the first right", "gap", "kinds"], rows);
}

export function Files() {
  const search = useSearch();
  const { value: of } = useCase();
  const name = (extension: string, ...parts: string[]) =>
    fileName(["bertlens", search.overview.model.split("/").at(-1)!, ...parts], extension);
  return (
    <Menu label="Export">
      {of && (
        <>
          {WIDTHS.map((mm) => (
            <div key={mm} class="bl-menu-line">
              <span>This case, {mm} mm</span>
              <Button
                onClick={() => download(name("svg", "case", nameOfCase(search), `${mm}mm`), figureOf(search, of, mm))}
              >
                SVG
              </Button>
              <Button
                onClick={async () =>
                  download(
                    name("png", "case", nameOfCase(search), `${mm}mm`),
                    await pngFromSvg(figureOf(search, of, mm), PRINT),
                  )
                }
              >
                PNG
              </Button>
            </div>
          ))}
          <div class="bl-menu-line">
            <span>Words of this case</span>
            <Button onClick={() => download(name("csv", "case", nameOfCase(search)), caseCsv(search, of))}>CSV</Button>
          </div>
        </>
      )}
      <div class="bl-menu-line">
        <span>All questions</span>
        <Button onClick={() => download(name("csv", "questions"), questionsCsv(search.overview))}>CSV</Button>
      </div>
      {isJudged(search.overview.questions) && <Negatives name={name} />}
    </Menu>
  );
}
