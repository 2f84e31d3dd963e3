// A term that explains itself on hover and on focus, in the vocabulary's one sentence.
import { TERMS } from "../generated/vocabulary";

export const Term = ({ name }: { name: string }) => (
  <abbr class="bl-term" tabIndex={0} title={TERMS[name]!.about}>
    {TERMS[name]!.label}
  </abbr>
);
