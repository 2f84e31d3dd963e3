// One token as text: isolated from its neighbours' direction, invisible characters drawn as their codes.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u00a0\u2800\u3164]|\ufe0f/gu;

/** The token as a person can read it: control and format characters as U+XXXX, a blank as ␣. */
export function visibleText(token: string): string {
  const text = token.replace(HIDDEN, (c) => `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);
  return text.trim() === "" ? "␣".repeat(Math.max(1, text.length)) : text;
}

export const Token = ({ text, title }: { text: string; title?: string }) => (
  <bdi dir="auto" class="bl-token" title={title}>
    {visibleText(text)}
  </bdi>
);
