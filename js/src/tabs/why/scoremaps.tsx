// A head's scores as a sum of small maps by source of the query · source of the key, all on one scale.

import { useEffect, useMemo, useState } from "preact/hooks";
import { largestSize } from "../../compute/largest";
import type { HeadName } from "../../generated/vocabulary";
import { type AnswerTo, fieldsAndArrays, type Kind } from "../../kernel/answers";
import { indexed } from "../../paint/colormap";
import { headLabel, percent, upTo } from "../../paint/format";
import { inks, signedColours } from "../../paint/palette";
import { Drawing } from "../../parts/chart";
import { Button } from "../../parts/controls";
import { Cells, HeatChart } from "../../parts/heatchart";
import { Legend, signedEnds } from "../../parts/legend";
import { Section } from "../../parts/section";
import { More } from "../../parts/term";
import { tokenWord } from "../../parts/token";
import { showTip } from "../../parts/tooltip";
import { useAnswer } from "../../state/useanswer";
import { useView } from "../../state/view";
import { difference, isTerm, nats } from "./scoresplit";

const [SIDE, LARGE] = [112, 420]; // px of a small picture, of the one shown large
const REST = 250; // ms

/** The answer to "score_maps": see bertlens/widgets/answers/score_maps.py. */
type ScoreMapsAnswer = AnswerTo<"score_maps"> & { size: number };

const SCORE_MAPS: Kind<ScoreMapsAnswer, "score_maps"> = {
  op: "score_maps",
  ofOriginal: true,
  read: (reply) => ({ ...fieldsAndArrays(reply), size: reply.arrays.values.shape[2]! }),
};

const groupName = (group: string) => (group === "mlps" ? "MLPs" : group);

/** What is beside q·k is of both sides at once. */
const pairName = ([query, key]: ScoreMapsAnswer["pairs"][number]) =>
  isTerm(query) ? query : `${groupName(query)}·${groupName(key)}`;

interface Picture {
  name: string;
  share: string;
  values: Float32Array;
  entries: Uint8Array;
  palette: Uint8Array;
}

/** The pictures in colours that all of them share. */
function usePictures(data: ScoreMapsAnswer | null): { pictures: Picture[]; peak: number } {
  const { dark } = useView();
  const colours = signedColours(dark);
  return useMemo(() => {
    if (!data) return { pictures: [], peak: 1 };
    const { values, size, pairs, share, rest: remainder } = data;
    const peak = largestSize(values) || 1;
    const names = ["score, row mean 0", ...pairs.map(pairName), "rest"];
    const shares = [1, ...share, remainder];
    const pictureOf = (name: string, n: number): Picture => {
      const cells = values.subarray(n * size * size, (n + 1) * size * size);
      const portion = shares[n];
      return {
        name,
        share: portion == null ? "–" : percent(portion).replace("-", "−"),
        values: cells,
        ...indexed(cells, -peak, peak, colours),
      };
    };
    return { pictures: names.map(pictureOf), peak };
  }, [data, colours]);
}

/** The head shown once it has been for a while: who goes from head to head waits for none of their pictures. */
function useRested(): HeadName | null {
  const { layer, head } = useView().shownHead;
  const [rested, setRested] = useState<HeadName | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setRested([layer, head]), REST);
    return () => clearTimeout(timer);
  }, [layer, head]);
  return rested;
}

/** Of the head shown; a click shows one of them large. */
export function ScoreMaps() {
  const rested = useRested();
  return rested && <OfHead name={rested} />;
}

function OfHead({ name }: { name: HeadName }) {
  const view = useView();
  const { page, shownHead } = view;
  const { layer, head } = shownHead;
  const answer = useAnswer(SCORE_MAPS, { layer: name[0], head: name[1] });
  const data = answer.state === "answered" ? answer.value : null;
  const { pictures, peak } = usePictures(data);
  const picture = page.why.picture.value === null ? undefined : pictures[page.why.picture.value];
  const late = data && (data.layer !== layer || data.head !== head) ? ", computing what was asked for …" : "";
  return (
    <Section
      title="The score as a sum of pictures"
      about={
        <>
          {data ? headLabel(data.layer, data.head) : headLabel(layer, head)}
          {late}: what is in the query · what is in the key, and its share{" "}
          <More about="The share of what tells keys apart: variance over a row’s keys. Shares add up to 100 % and can be negative." />
        </>
      }
      testid="why-pictures"
    >
      {!data && <p class="bl-muted">{answer.state === "refused" ? answer.reason : "computing …"}</p>}
      {data && (
        <>
          <div class="bl-why-pictures">
            {pictures.map(({ name, share, entries, palette }, n) => (
              <Button
                key={n}
                aria-pressed={page.why.picture.value === n}
                title="show it large"
                onClick={() => {
                  page.why.picture.value = page.why.picture.value === n ? null : n;
                }}
              >
                <Drawing width={SIDE} height={SIDE} table={null}>
                  <Cells {...{ entries, palette, rows: data.size, cols: data.size, width: SIDE, height: SIDE }} />
                  <Frame />
                </Drawing>
                <span>{n === 0 ? name : `${n === 1 ? "=" : "+"} ${name}`}</span>
                <br />
                <b class="bl-number">{share}</b>
              </Button>
            ))}
          </div>
          {picture && <Large picture={picture} data={data} />}
          <Legend
            {...signedEnds(peak)}
            label={`nats, all pictures; ${gapWords(data)}`}
            colours={signedColours(view.dark)}
          />
        </>
      )}
    </Section>
  );
}

/** How far the pictures are from the scores, and what a cell is where tokens are many. */
const gapWords = ({ gap, block }: ScoreMapsAnswer): string =>
  `their sum is the model’s scores up to ${difference(gap)}${block > 1 ? `; a cell is ${block} by ${block} tokens, the largest of them` : ""}`;

function Frame({ x = 0 }: { x?: number }) {
  const { border } = inks(useView().dark);
  return <rect x={x + 0.5} y="0.5" width={SIDE - 1} height={SIDE - 1} fill="none" stroke={border} />;
}

/** One picture with its tokens. */
function Large({
  picture: { name, share, values, entries, palette },
  data: { size, block },
}: {
  picture: Picture;
  data: ScoreMapsAnswer;
}) {
  const view = useView();
  const { tokens } = view.overview.queries;
  const names = upTo(size).map((n) => (block === 1 ? tokens[n]! : `${n * block} …`));
  const cell = Math.min(18, LARGE / size);
  return (
    <div class="bl-scroll" data-testid="why-large">
      <HeatChart
        label={`${name} ${share}`}
        rows={names}
        cols={names}
        {...{ values, entries, palette, dark: view.dark }}
        width={cell * size}
        height={cell * size}
        onHover={(at, event) =>
          showTip(
            view,
            event,
            at &&
              `${tokenWord(names[at.row]!)} → ${tokenWord(names[at.col]!)}: ${nats(values[at.row * size + at.col]!)}`,
          )
        }
      />
    </div>
  );
}

/** All of them side by side, for a file; nothing while they are not here. */
export function ScoreMapsChart() {
  const { layer, head } = useView().shownHead;
  const answer = useAnswer(SCORE_MAPS, { layer, head });
  const data = answer.state === "answered" ? answer.value : null;
  const { pictures, peak } = usePictures(data);
  if (!data) return null;
  const step = SIDE + 14;
  return (
    <>
      <Drawing
        width={step * pictures.length}
        height={SIDE + 34}
        label="The score as a sum of pictures, and their shares"
        table={null}
      >
        <g font-size="11">
          {pictures.map(({ name, share, entries, palette }, n) => (
            <g key={n}>
              <Cells
                {...{ entries, palette, rows: data.size, cols: data.size, width: SIDE, height: SIDE, x: n * step }}
              />
              <Frame x={n * step} />
              <text x={n * step} y={SIDE + 14}>
                {name}
              </text>
              <text x={n * step} y={SIDE + 29} font-weight="700">
                {share}
              </text>
            </g>
          ))}
        </g>
      </Drawing>
      <Legend {...signedEnds(peak)} label={`nats, all pictures; ${gapWords(data)}`} colours={signedColours(false)} />
    </>
  );
}
