// One token as text: isolated from its neighbours' direction, invisible characters drawn as their codes.

import { isolate, quotation, visibleText } from "../paint/quotes";

const MOST_CHARACTERS = 64; // characters that are written out: a token can be a whole page

/** Its ends, where it is longer than that. */
function shortened(token: string, most: number): string {
  const characters = token.length > most ? Array.from(token) : [];
  if (characters.length <= most) return token;
  return `${characters.slice(0, most / 2).join("")}…${characters.slice(-most / 4).join("")}`;
}

/** A token of the template, such as [MASK] or </s>: no word of the text. */
const MARKER = /^(\[[A-Z]+\]|<\/?[a-z]+>)$/;
export const tokenClass = (token: string): string => (MARKER.test(token) ? "bl-token bl-marker" : "bl-token");

/** A token as a person can read it, a long one by its ends. */
export const tokenText = (token: string): string => visibleText(shortened(token, MOST_CHARACTERS));

/** A token in a sentence, and there between quotation marks. */
export const tokenWord = (token: string): string => isolate(tokenText(token));
export const tokenQuote = (token: string): string => quotation(tokenText(token));

const ENDS = /^(?!\[)[\p{Ps}\p{Pi}»"¿¡]+|(?:(?![\]’])[\p{Term}\p{Pe}\p{Pi}\p{Pf}"…])+$/gu;

const ABBREVIATION = /^((\p{L}\p{M}*){1,2}\.){2,}$/u;

/** A word in a sentence, without marks at its ends where the split by blanks left them there; U.S.A. keeps its last stop. */
export function wordName({ label, special }: { label: string; special: boolean }): string {
  const bare = special ? label : label.replace(ENDS, "");
  const stopped = `${bare}.`;
  return tokenWord((label.includes(stopped) && ABBREVIATION.test(stopped) ? stopped : bare) || label);
}

export const Token = ({ text, title }: { text: string; title?: string }) => (
  <bdi
    dir="auto"
    class={tokenClass(text)}
    title={title ?? (text.length > MOST_CHARACTERS ? visibleText(shortened(text, 16 * MOST_CHARACTERS)) : undefined)}
  >
    {tokenText(text)}
  </bdi>
);

/** A token of a list; where its text stands there more than once, with its place. */
export const Place = ({ units, n }: { units: { label: string }[]; n: number }) => {
  const { label } = units[n]!;
  const isRepeated = units.some((unit, at) => at !== n && unit.label === label);
  return (
    <span class="bl-place">
      <Token text={label} />
      {isRepeated && <sub data-n={n} />}
    </span>
  );
};

/** A token's text, of at most some characters. */
export const shortText = (token: string, most: number): string => {
  const text = tokenText(token);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
};
