// The pairs with the largest parts, and the experiment beside each: the number without a's word, without b's, without both.
import { useSignal } from "@preact/signals";
import type { Answer } from "../../kernel/answers";
import { counted, signed } from "../../paint/format";
import { signText } from "../../paint/palette";
import { Button } from "../../parts/controls";
import { Token } from "../../parts/token";
import { useView } from "../../state/view";
import type { ChosenPair } from "./chosenpair";
import type { Largest, Pair, Split, Tried } from "./splits";
import { functionWords, isCheap, type Similar, similarOf, withoutOf } from "./twotexts";

interface PairsProps {
  data: Similar;
  split: Split;
  largest: Largest;
  choice: ChosenPair;
  tried: Answer<unknown> | null; // null: it is to be asked for
  ask: () => void;
  digits: number;
}

export function Pairs(props: PairsProps) {
  const { data, split, largest, choice, tried, ask, digits } = props;
  const { link } = useView();
  const hasParts = split.cells !== null;
  const text = (value: number) => signed(value, digits);
  const total = data.terms?.[0]?.[1];
  const empty = tried?.state === "asking" ? "…" : "–";
  const change = (pair: Pair, key: "a" | "b" | "both") => {
    if (!pair.tried) return empty;
    const size = pair.tried[key] - pair.tried.none;
    return <SignedNumber value={size} digits={digits} />;
  };
  return (
    <section aria-label="Largest pairs">
      <header class="bl-panel-head">
        <h3>{hasParts ? "Largest pairs" : "Pairs that go together"}</h3>
        <span class="bl-muted">
          {hasParts
            ? `parts of ${data.terms!.length > 1 ? `${data.terms![0]![0]} = ` : ""}${text(total!)}`
            : "by what only both together make"}
        </span>
      </header>
      {largest.pairs.length > 0 && (
        <table class="bl-similar-pairs">
          <thead>
            <tr>
              <th scope="col">a – b</th>
              {hasParts ? (
                <th scope="col">part</th>
              ) : (
                <th scope="col" title="s − s without a’s − s without b’s + s without both">
                  only together
                </th>
              )}
              <th scope="col" title={`How the ${functionWords(data)} changes without the word of text a`}>
                without a’s
              </th>
              <th scope="col" title={`How the ${functionWords(data)} changes without the word of text b`}>
                without b’s
              </th>
              <th scope="col" title={`How the ${functionWords(data)} changes without both words`}>
                without both
              </th>
            </tr>
          </thead>
          <tbody>
            {largest.pairs.map((pair) => {
              const isChosen = choice.pair?.a === pair.a && choice.pair.b === pair.b;
              return (
                <tr key={`${pair.a}-${pair.b}`} class={isChosen ? "bl-pinned" : ""}>
                  <th scope="row">
                    <Button aria-pressed={isChosen} onClick={() => choice.choose(pair)}>
                      <Token text={split.a[pair.a]!.label} /> – <Token text={split.b[pair.b]!.label} />
                    </Button>
                  </th>
                  <td class="bl-number">
                    <b>{pair.part === null ? (pair.tried ? text(pair.tried.own) : "–") : text(pair.part)}</b>
                  </td>
                  {(["a", "b", "both"] as const).map((key) => (
                    <td key={key} class="bl-number">
                      {change(pair, key)}
                    </td>
                  ))}
                </tr>
              );
            })}
            {hasParts && largest.others.count > 0 && (
              <tr class="bl-muted bl-whole">
                <th scope="row">
                  {counted(largest.others.count)} other {largest.others.count === 1 ? "pair" : "pairs"}
                </th>
                <td class="bl-number">{text(largest.others.sum)}</td>
              </tr>
            )}
            {hasParts && (
              <tr class="bl-muted bl-whole" data-testid="similar-template">
                <th scope="row">pairs with {choice.template}</th>
                <td class="bl-number">{text(largest.template)}</td>
              </tr>
            )}
          </tbody>
        </table>
      )}
      {data.removable ? (
        <p class="bl-muted">{data.removable}</p>
      ) : tried === null ? (
        <Button class="bl-button" disabled={!link.kernel.value} title={link.needs.value} onClick={ask}>
          Take each word out ({counted(data.runs)} runs)
        </Button>
      ) : (
        tried.state === "refused" && <p class="bl-muted">{tried.reason}</p>
      )}
    </section>
  );
}

/** A change with its sign, in the colour of its sign. */
function SignedNumber({ value, digits }: { value: number; digits: number }) {
  const { dark } = useView();
  const number = signed(value, digits);
  if (Number(value.toFixed(digits)) === 0) return <>{number}</>;
  return <span style={{ color: signText(value, dark) }}>{value > 0 ? `+${number}` : number}</span>;
}

/** The experiment on the chosen pair in a sentence. */
export function TriedWords({
  a,
  b,
  tried,
  data,
  digits,
}: {
  a: string;
  b: string;
  tried: Tried;
  data: Similar;
  digits: number;
}) {
  const text = (value: number) => signed(value, digits);
  return (
    <p data-testid="similar-tried">
      The {functionWords(data)} is {text(tried.none)}: without a’s “<Token text={a} />” {text(tried.a)}, without b’s “
      <Token text={b} />” {text(tried.b)}, without both {text(tried.both)}. Only together they make {text(tried.own)}.
    </p>
  );
}

/** The experiments of the texts shown; null until they are asked for. */
export function useTried(data: Similar | null) {
  const view = useView();
  const request = useSignal<Similar["sides"] | null>(null);
  const isAsked = data !== null && !data.removable && (isCheap(data) || request.value === data.sides);
  const isHere = data !== null && similarOf(view)?.state === "answered";
  return {
    tried: isAsked && isHere ? withoutOf(view) : null,
    ask: () => {
      request.value = data!.sides;
    },
  };
}
