// What else is to be known, for who asks: in the tooltip of a word, which the keyboard reaches too.
import type { ComponentChildren } from "preact";

export const More = ({ about, children = "more" }: { about: string; children?: ComponentChildren }) => (
  <abbr class="bl-term bl-muted" tabIndex={0} title={about}>
    {children}
  </abbr>
);
