// The texts that were run in this view: the one before at one click, the others in a list.
import { Menu } from "../parts/controls";
import { visibleText } from "../parts/token";
import { useView } from "../state/view";

const CHARACTERS = 60; // characters of a text

export function Texts() {
  const { page, link, running, run } = useView();
  const others = page.texts.value.slice(1);
  if (others.length === 0 || !link.kernel.value) return null;
  const words = ([text, pair]: [string, string]) => {
    const whole = visibleText(pair ? `${text} / ${pair}` : text);
    return whole.length > CHARACTERS ? `${whole.slice(0, CHARACTERS)}…` : whole;
  };
  const again = ([text, pair]: [string, string]) => run(text, pair).catch(() => undefined); // the link says why
  return (
    <>
      <button
        type="button"
        class="bl-button"
        disabled={running.value}
        title={`Run again: ${words(others[0]!)}`}
        onClick={() => again(others[0]!)}
      >
        Text before
      </button>
      {others.length > 1 && (
        <Menu label="Texts">
          {others.map((one) => (
            <button type="button" key={one.join("\0")} disabled={running.value} onClick={() => again(one)}>
              <bdi dir="auto">{words(one)}</bdi>
            </button>
          ))}
        </Menu>
      )}
    </>
  );
}
