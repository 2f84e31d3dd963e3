// Passages in their order for a query; a click on one shows below why it has its score.
import { SETTINGS } from "../../generated/vocabulary";
import { signed } from "../../paint/format";
import { visibleText } from "../../paint/quotes";
import { textProps } from "../../paint/textprops";
import { Button } from "../../parts/controls";
import { Table } from "../../parts/table";
import type { Ranking } from "../../state/overview";
import { useView, type View } from "../../state/view";
import { compareTexts } from "./run";

type Row = { rank: number; passage: string; score: number; words: string };
const DIGITS = 3;

/** The passage that is shown below; "" where texts were typed that are none of the list. */
export function shownPassage({ overview, page }: View, { crosses, query, rows }: Ranking): string {
  if (crosses) return overview.text === query ? overview.text_pair : "";
  const { a, b } = page.similarTo.value;
  return b === SETTINGS.similar_to.b ? rows[0]![0] : a === query ? b : "";
}

export function Ranked({ ranking }: { ranking: Ranking }) {
  const view = useView();
  const { query, crosses } = ranking;
  const selection = shownPassage(view, ranking);
  const live = view.link.kernel.value;
  const rows = ranking.rows.map(([passage, score, words], n): Row => ({ rank: n + 1, passage, score, words }));
  const open = (passage: string) => {
    if (crosses)
      view.run(query, passage).catch(() => undefined); // the link says why
    else compareTexts(view, query, passage, ["query", "document"]);
  };
  const hasWords = rows.some(({ words }) => words);
  return (
    <section class="bl-panel bl-ranked" aria-label="Passages" data-testid="ranked">
      <Table
        title="Passages"
        about={
          <>
            for “<bdi {...textProps(query)}>{visibleText(query)}</bdi>”, the best first; click one: why its score?
          </>
        }
        rows={rows}
        pinned={({ passage }) => passage === selection}
        columns={[
          { name: "rank", value: ({ rank }) => rank },
          {
            name: "passage",
            value: ({ passage }) => passage,
            show: ({ passage }) => (
              <Button
                class="bl-link"
                aria-pressed={passage === selection}
                disabled={(!live && passage !== selection) || !passage.trim()}
                title={live ? "Why does it have this score?" : view.link.needs.value}
                onClick={() => open(passage)}
              >
                <bdi {...textProps(passage)}>{passage.trim() ? visibleText(passage) : "(empty)"}</bdi>
              </Button>
            ),
          },
          { name: "score", value: ({ score }) => score, show: ({ score }) => signed(score, DIGITS) },
          ...(hasWords
            ? [
                {
                  name: "words",
                  title: "Words of the passage that put most into its score, of the first passages",
                  value: ({ words }: Row) => words,
                },
              ]
            : []),
        ]}
      />
    </section>
  );
}
