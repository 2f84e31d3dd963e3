// Texts to choose from: those that were run in this view, the one before at one click, and examples.
import { EXAMPLES } from "../generated/phrases";
import { Menu } from "../parts/controls";
import { visibleText } from "../parts/token";
import { useView } from "../state/view";

type Pair = readonly [text: string, pair: string];

const CHARACTERS = 60; // characters of a text

export function Texts() {
  const { page, link, running, run, synced, overview } = useView();
  const isEncoder = overview.tabs.some(({ name, why_not }) => name === "similarity" && why_not === "");
  const before = link.kernel.value ? page.texts.value.slice(1) : [];
  const given = link.texts.value;
  const isGiven = ([text, pair]: Pair) => given.some((one) => one[0] === text && one[1] === pair);
  const others = before.filter((one) => !isGiven(one));
  if (!link.kernel.value && given.length === 0) return null;
  const words = ([text, pair]: Pair) => {
    const whole = visibleText(pair ? `${text} / ${pair}` : text);
    return whole.length > CHARACTERS ? `${whole.slice(0, CHARACTERS)}…` : whole;
  };
  const again = ([text, pair]: Pair) => run(text, pair).catch(() => undefined); // the link says why
  const list = (texts: readonly Pair[]) =>
    texts.map((text) => (
      <button type="button" key={text.join("\0")} disabled={running.value} onClick={() => again(text)}>
        <bdi dir="auto">{words(text)}</bdi>
      </button>
    ));
  return (
    <>
      {before[0] && (
        <button
          type="button"
          class="bl-link"
          disabled={running.value}
          title={`Run again: ${words(before[0])}`}
          onClick={() => again(before[0]!)}
        >
          Text before
        </button>
      )}
      <Menu label="" title="Texts" name="bl-texts">
        {given.length > 0 && <p>Texts of this page</p>}
        {list(given)}
        {others.length > 0 && <p>Run before</p>}
        {list(others)}
        {given.length === 0 && <p>Examples</p>}
        {given.length === 0 && list(EXAMPLES)}
        <button
          type="button"
          title="Another text, or this one without its changes, beside it: word by word and head by head"
          onClick={() => {
            page.tabChosen.value = true;
            synced.put({ view: "compare" });
          }}
        >
          Compare this text with …
        </button>
        {isEncoder && (
          <button
            type="button"
            title="The vectors of this text and of another: which pairs of words make them similar"
            onClick={() => {
              page.tabChosen.value = true;
              synced.put({ view: "similarity" });
            }}
          >
            Why is this text similar to …
          </button>
        )}
      </Menu>
    </>
  );
}
