// The texts of the corpus in which the head shown does it most, each at a click run in the view where there is a kernel.

import type { NoTexts, SurveyTexts } from "../../generated/answers";
import type { Kind, Read } from "../../kernel/answers";
import { headLabel, number } from "../../paint/format";
import { visibleText } from "../../paint/quotes";
import { isNothing } from "../../paint/ranked";
import { Button, into } from "../../parts/controls";
import { Section, Waiting } from "../../parts/section";
import type { CorpusChoice } from "../../state/page";
import { useAnswer } from "../../state/useanswer";
import { useView } from "../../state/view";
import { StatisticChoice } from "./choice";
import { labelOf, textCount } from "./corpusheads";

const CHARACTERS = 160; // characters of a text

/** Of one layer: arrays of numbers of texts and of values (texts·K·H), of means (K·H). */
type Texts = (SurveyTexts | NoTexts) & Pick<Read<"survey_texts">, "arrays">;

const TEXTS: Kind<Texts, "survey_texts"> = {
  op: "survey_texts",
  read: ({ fields, arrays }) => ({ ...fields, arrays }),
};

export function HeadTexts() {
  const view = useView();
  const { page, link, running, run } = view;
  const { layer, head } = view.shownHead;
  const answer = useAnswer(TEXTS, { layer });
  const title = `Texts in which ${headLabel(layer, head)} does it most`;
  const data = answer.state === "answered" ? answer.value : null;
  if (!data?.held)
    return (
      <Section title={title} about={data && "These statistics hold no texts: run the survey again."}>
        {!data && <Waiting answer={answer} doing="reading the survey" />}
      </Section>
    );
  const { name } = page.corpus.value;
  const put = (change: Partial<CorpusChoice>) => into(page.corpus)({ ...page.corpus.value, ...change });
  const by = data.by.includes(page.corpus.value.by) ? page.corpus.value.by : "weight";
  const [values, texts, means] = ["values", "texts", "means"].map((what) => data.arrays[`${by}.${what}`]!);
  const [perHead, K, H] = values!.shape as [number, number, number];
  const k = data.names.indexOf(name);
  const highest = Array.from({ length: perHead }, (_, n) => (n * K + k) * H + head)
    .map((at) => ({ value: values!.data[at]!, text: data.texts[texts!.data[at]!]! }))
    .filter(({ value, text }) => text && !isNothing(value));
  const count = data.counts[by][k]!;
  const about = `${labelOf(name)}, by ${by}: the highest of ${textCount(count)} of any length, whose mean is ${number(means!.data[k * H + head], 3)}`;
  return (
    <Section
      title={title}
      about={!count ? "No text has such tokens." : highest.length ? about : "No text has any of it."}
      testid="head-texts"
    >
      <div class="bl-controls">
        <StatisticChoice {...{ name, by, put }} names={data.names} among={data.by} />
      </div>
      <ol>
        {highest.map(({ value, text: { parts, tokens, whole } }) => {
          const words = visibleText(parts.join(" / "));
          const isCut = words.length > CHARACTERS || !whole;
          const excerpt = <bdi dir="auto">{isCut ? `${words.slice(0, CHARACTERS)}…` : words}</bdi>;
          const [text = "", pair = ""] = parts;
          return (
            <li>
              <b class="bl-number">{number(value, 3)}</b>{" "}
              {link.kernel.value && view.overview.lens && whole ? (
                <Button
                  class="bl-link"
                  title="Run this text"
                  disabled={running.value}
                  onClick={() => run(text, pair).catch(() => undefined)}
                >
                  {excerpt}
                </Button>
              ) : (
                excerpt
              )}{" "}
              <span class="bl-muted">{tokens} tokens</span>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}
