// Words that explain themselves on hover and on focus: terms in the vocabulary's one sentence, and "more" for who asks.
import type { ComponentChildren } from "preact";
import { TERMS } from "../generated/vocabulary";

export const More = ({ about, children = "more" }: { about: string; children?: ComponentChildren }) => (
  <abbr class="bl-term bl-muted" tabIndex={0} title={about}>
    {children}
  </abbr>
);

export const Term = ({ name }: { name: string }) => (
  <abbr class="bl-term" tabIndex={0} title={TERMS[name]!.about}>
    {TERMS[name]!.label}
  </abbr>
);
