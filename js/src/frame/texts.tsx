// Texts to choose from: those that were run in this view, the one before at one click, and examples.
import { EXAMPLES, MASKED_EXAMPLES } from "../generated/phrases";
import { SETTINGS } from "../generated/vocabulary";
import { visibleText } from "../paint/quotes";
import { textProps } from "../paint/textprops";
import { Button, into, Menu } from "../parts/controls";
import { afterFrame } from "../state/nextframe";
import { visit } from "../state/page";
import { useView } from "../state/view";

type Pair = readonly [text: string, pair: string];

const CHARACTERS = 60; // characters of a text

export function Texts() {
  const view = useView();
  const { page, link, running, run, overview } = view;
  const isEncoder = overview.tabs.some(({ name, why_not }) => name === "similarity" && why_not === "");
  const history = link.kernel.value ? page.texts.value.slice(1) : [];
  const pageTexts = link.texts.value;
  const isGiven = ([text, pair]: Pair) => pageTexts.some((one) => one[0] === text && one[1] === pair);
  const recent = history.filter((one) => !isGiven(one));
  if (!link.kernel.value && pageTexts.length === 0) return null;
  const { mask } = overview;
  const hasPair = overview.pair || overview.text_pair !== "" || page.similarTo.value.b !== "";
  const mayAdd = link.kernel.value && overview.lens && overview.square && !hasPair;
  const examples = mask ? MASKED_EXAMPLES.map(([text, pair]): Pair => [text.replace("[MASK]", mask), pair]) : EXAMPLES;
  const words = ([text, pair]: Pair) => {
    const line = visibleText(pair ? `${text} / ${pair}` : text);
    return line.length > CHARACTERS ? `${line.slice(0, CHARACTERS)}…` : line;
  };
  const rerun = ([text, pair]: Pair) => run(text, pair).catch(() => undefined); // the link says why
  const list = (texts: readonly Pair[]) =>
    texts.map((text) => (
      <Button key={text.join("\0")} disabled={running.value} onClick={() => rerun(text)}>
        <bdi {...textProps(text[0])}>{words(text)}</bdi>
      </Button>
    ));
  return (
    <Menu label="Examples" name="bl-texts">
      {history[0] && (
        <Button disabled={running.value} title={`Run again: ${words(history[0])}`} onClick={() => rerun(history[0]!)}>
          Text before
        </Button>
      )}
      {pageTexts.length > 0 && <p>Texts of this page</p>}
      {list(pageTexts)}
      {recent.length > 0 && <p>Run before</p>}
      {list(recent)}
      {pageTexts.length === 0 && <p>Examples</p>}
      {pageTexts.length === 0 && list(examples)}
      <Button
        title="Another text, or this one without its changes, beside it: word by word and head by head"
        onClick={() => visit(view, "compare")}
      >
        Compare this text with …
      </Button>
      {mayAdd && (
        <Button
          title={
            overview.apart && !page.together.value
              ? "Read a second text on its own: why are the two similar?"
              : "Run two sentences as a pair"
          }
          onClick={() => {
            page.compareWith.value = SETTINGS.compare_with;
            afterFrame(() => into(page.front.secondText)(true)); // the menu closes first, with the focus
          }}
        >
          Add a second sentence
        </Button>
      )}
      {isEncoder && (
        <Button
          title="The vectors of this text and of another: which pairs of words make them similar"
          onClick={() => visit(view, "similarity")}
        >
          Why is this text similar to …
        </Button>
      )}
    </Menu>
  );
}
