// The stream as a picture: the tokens of one station of the stream on a plane, and which lie nearest by cosine.
import { useEffect, useState } from "preact/hooks";
import { type AnswerTo, fieldsAndArrays, type Kind } from "../../kernel/answers";
import { counted, percent, upTo } from "../../paint/format";
import { inks } from "../../paint/palette";
import { ranked } from "../../paint/ranked";
import { textWidth } from "../../paint/textwidth";
import { Chart, MARGIN, Marks, markerPath, scale } from "../../parts/chart";
import { Button, Slider } from "../../parts/controls";
import { Section, Waiting } from "../../parts/section";
import { Table } from "../../parts/table";
import { Place, tokenQuote, tokenText } from "../../parts/token";
import { useAnswer } from "../../state/useanswer";
import { useView } from "../../state/view";

type Plane = AnswerTo<"stream"> & { k: number };

const STREAM: Kind<Plane, "stream"> = {
  op: "stream",
  needs: "geometry",
  read: (reply) => ({ ...fieldsAndArrays(reply), k: reply.arrays.near.shape[1]! }),
};

const [WIDTH, HEIGHT, KEY] = [640, 400, 1]; // KEY: the marker of the key, a square; the query's is a diamond
const QUERY = 3;

const stationName = (n: number) => (n === 0 ? "input of L0" : `after L${n - 1}`);

export function Stream() {
  const { shownHead, overview, focus, synced } = useView();
  const [station, setStation] = useState(shownHead.layer + 1);
  const [word, setWord] = useState("");
  useEffect(() => setStation(shownHead.layer + 1), [shownHead.layer]);
  const answer = useAnswer(STREAM, { station });
  const { tokens } = overview.queries;
  const hits = upTo(tokens.length).filter((n) => word && tokens[n]!.toLowerCase().includes(word.toLowerCase()));
  const units = tokens.map((label) => ({ label }));
  const plane = answer.state === "answered" ? answer.value : null;
  const nearest = plane ? upTo(plane.k).map((n) => focus.query * plane.k + n) : [];
  const cosines = ranked([1, ...nearest.map((n) => plane!.cosines[n]!)]).slice(1); // told apart from 1 too
  return (
    <Section
      class="bl-stream"
      title="The stream as a picture"
      about={plane ? aboutOf(plane, tokens.length) : ""}
      testid="stream"
    >
      <div class="bl-controls">
        <Slider
          label="stream"
          min={0}
          max={overview.n_layers}
          step={1}
          value={station}
          text={stationName(station)}
          onChange={setStation}
        />
        <label class="bl-group bl-find">
          <input
            type="text"
            aria-label="Find a word in the picture"
            placeholder="find a word"
            value={word}
            onInput={(event) => setWord(event.currentTarget.value)}
          />
          {word && <output>{`${hits.length} of ${tokens.length}`}</output>}
        </label>
      </div>
      {plane ? (
        <div class="bl-plane">
          <Scatter plane={plane} hits={hits} />
          <Table<number>
            title={`Nearest to ${tokenQuote(tokens[focus.query]!)} by cosine`}
            about={stationName(plane.station)}
            columns={[
              {
                name: "token",
                value: (n) => tokens[plane.near[n]!]!,
                show: (n) => (
                  <Button class="bl-link" onClick={() => synced.put({ query: plane.near[n]!, key: null })}>
                    <Place units={units} n={plane.near[n]!} />
                  </Button>
                ),
              },
              { name: "cosine", value: (n) => plane.cosines[n]!, show: (n) => cosines[n - nearest[0]!] },
            ]}
            rows={nearest}
          />
        </div>
      ) : (
        <Waiting answer={answer} doing="projecting" />
      )}
    </Section>
  );
}

/** What the plane keeps of the vectors. */
function aboutOf({ station, share }: Plane, n: number): string {
  const variance = share.reduce((sum: number, one) => sum + (one ?? Number.NaN), 0);
  const how = `the first two principal components: ${percent(variance)} of the variance`;
  return `${counted(n)} tokens ${stationName(station)}, ${how}; click a token`;
}

/** Where labels fit: as [x, y, text], those first in line where they overlap. */
function labelled(order: number[], place: (n: number) => [number, number], text: (n: number) => string) {
  const boxes: number[][] = [];
  return new Set(
    order.filter((n) => {
      const [x, y] = place(n);
      const box = [x + 6, y - 6, x + 8 + textWidth(text(n), 11), y + 6];
      const free =
        box[2]! < WIDTH && boxes.every((b) => box[0]! > b[2]! || box[2]! < b[0]! || box[1]! > b[3]! || box[3]! < b[1]!);
      if (free) boxes.push(box);
      return free;
    }),
  );
}

type Extent = { middle: number; half: number };

function Scatter({ plane, hits }: { plane: Plane; hits: number[] }) {
  const { overview, focus, dark, synced } = useView();
  const { ink, muted, "select-text": select } = inks(dark);
  const { tokens } = overview.queries;
  const { points, near: nearest, cosines, k, share } = plane;
  const indices = upTo(tokens.length);
  const [wide, high] = [WIDTH - MARGIN.left - MARGIN.right - 60, HEIGHT - MARGIN.top - MARGIN.bottom - 16];
  const [across, up] = [0, 1].map((axis) => {
    const coordinates = indices.map((n) => points[2 * n + axis]!);
    const [low, high] = [Math.min(...coordinates), Math.max(...coordinates)];
    return { middle: (low + high) / 2, half: (high - low) / 2 };
  }) as [Extent, Extent];
  const unit = Math.max(across.half / wide, up.half / high, 1e-9); // the same along both axes
  const along = ({ middle }: Extent, from: number, to: number) => {
    const reach = unit * Math.abs(to - from);
    return scale(middle - reach, middle + reach, from, to);
  };
  const x = along(across, MARGIN.left + 8, MARGIN.left + 8 + wide);
  const y = along(up, HEIGHT - MARGIN.bottom - 8, MARGIN.top + 8);
  const place = (n: number): [number, number] => [x(points[2 * n]!), y(points[2 * n + 1]!)];
  const text = (n: number) => tokenText(tokens[n]!);
  const key = overview.square ? focus.key : -1;
  const neighbours = Array.from(nearest.subarray(focus.query * k, (focus.query + 1) * k));
  const priority = [focus.query, ...(key < 0 ? [] : [key]), ...hits, ...neighbours];
  const names = labelled([...new Set([...priority, ...indices])], place, text);
  const hit = new Set(hits);
  const axis = (n: number) =>
    share ? `component ${n + 1}, ${percent(share[n] ?? Number.NaN)} of the variance` : "no unit";
  const table = () => ({
    columns: ["token", "x", "y", "nearest", "cosine"],
    rows: indices.map((n) => [
      `${text(n)} (${n})`,
      points[2 * n]!,
      points[2 * n + 1]!,
      k ? `${text(nearest[n * k]!)} (${nearest[n * k]})` : "",
      cosines[n * k] ?? null,
    ]),
  });
  const colour = (n: number) => (n === focus.query || n === key ? select : hit.has(n) ? ink : muted);
  return (
    <div>
      <div class="bl-scroll">
        <Chart
          {...{ x, y, dark, width: WIDTH, height: HEIGHT }}
          xLabel={axis(0)}
          yLabel={axis(1)}
          label={`The stream ${stationName(plane.station)}`}
          table={table}
        >
          <g stroke={muted} stroke-opacity="0.6">
            {neighbours.map((n) => (
              <path key={n} d={`M${place(focus.query)}L${place(n)}`} />
            ))}
          </g>
          <g font-size="11">
            {indices.map((n) => {
              const [px, py] = place(n);
              const marker = n === focus.query ? QUERY : n === key ? KEY : 0;
              const bold = marker > 0 || hit.has(n);
              return (
                // biome-ignore lint/a11y/noStaticElementInteractions: the table beside and the matrix pin by keyboard
                <g key={n} class="bl-band" data-token={n} onClick={() => synced.put({ query: n, key: null })}>
                  <path d={markerPath(marker, px, py, bold ? 5.5 : 3)} fill={colour(n)}>
                    <title>{`${text(n)}, token ${n}`}</title>
                  </path>
                  {names.has(n) && (
                    <text x={px + 8} y={py + 4} fill={bold ? colour(n) : ink} font-weight={bold ? 600 : 400}>
                      {text(n)}
                    </text>
                  )}
                </g>
              );
            })}
          </g>
        </Chart>
      </div>
      <Marks
        marks={[
          { text: "query", kind: QUERY, fill: select },
          ...(key < 0 ? [] : [{ text: "key", kind: KEY, fill: select }]),
          { text: "lines: its nearest by cosine" },
          ...(names.size < indices.length
            ? [{ text: `${indices.length - names.size} without a name, which would overlap` }]
            : []),
        ]}
      />
    </div>
  );
}
