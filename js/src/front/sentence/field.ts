// The text fields: what they hold, and running it.
import { effect, type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { LIMITS } from "../../generated/vocabulary";
import { useView } from "../../state/view";
import { runApart } from "../../tabs/similarity/run";
import { createTyping, QUICK } from "./typing";

/** A field of the text shown. It is not written while what was typed in it is not run yet. */
function useField(shown: ReadonlySignal<string>) {
  const { running } = useView();
  const value = useSignal(shown.value);
  const [[follow, leave, hands]] = useState(() => {
    let edited = false;
    const follow = () => {
      const now = shown.value;
      if (!edited) value.value = now; // at once: a field that changes as it loses the focus moves what is being clicked
    };
    const leave = () => {
      if (running.value) edited = false; // what was typed is on its way
    };
    const hands = {
      /** What is shown again, in place of what was typed. */
      restore: () => {
        edited = false;
        value.value = shown.peek();
      },
      onInput: ({ currentTarget }: TargetedEvent<HTMLTextAreaElement>) => {
        edited = true;
        value.value = currentTarget.value;
      },
    };
    return [follow, leave, hands] as const;
  });
  useSignalEffect(follow);
  useEffect(() => effect(leave), []); // at once: another text may come before the next frame
  return { value, shown, ...hands };
}

export type Field = ReturnType<typeof useField>;

const isShort = (text: string) => text.length <= 6 * LIMITS.typed && text.split(/\s+/).length <= LIMITS.typed;

/** Both fields, how what they hold is run, and whether it runs as one types. */
export function useTyped(submitted: () => void) {
  const view = useView();
  const { synced, link, run, spent, page } = view;
  const isApart = useComputed(() => view.overview.apart && !page.together.value);
  const secondText = useComputed(() => (isApart.value ? page.similarTo.value.b : synced.text_pair.value));
  const fields: [Field, Field] = [useField(synced.text), useField(secondText)];
  const [[submit, typing, runsAlone]] = useState(() => {
    const submit = async () => {
      const [a, b] = fields.map(({ value }) => value.peek()) as [string, string];
      submitted();
      await (isApart.peek() ? runApart(view, a, b) : run(a, b));
    };
    const runsAlone = () =>
      link.kernel.value &&
      (link.page.value || spent.value <= QUICK) &&
      view.overview.queries.tokens.length <= LIMITS.typed &&
      fields.every(({ value }) => isShort(value.value)) &&
      !(isApart.value && fields[1].value.value !== "");
    const isOther = () => view.running.peek() || fields.some(({ value, shown }) => value.peek() !== shown.peek()); // or will be, of a text under way
    const typing = createTyping({
      run: submit,
      runsAlone: () => runsAlone() && isOther() && fields[0].value.peek().trim() !== "",
      overtakes: () => link.page.peek(),
    });
    return [submit, typing, runsAlone] as const;
  });
  useEffect(() => typing.stop, []);
  return { fields, isApart, secondText, submit, typing, runsAlone };
}
