// A part of the run taken from another text: which part, at which token, and where in the other text.
import { useSignal } from "@preact/signals";
import { Button, binding, choicesOf, into, Select, Submit } from "../parts/controls";
import { tokenWord } from "../parts/token";
import { useView } from "../state/view";
import { add } from "./doing";

export function PatchForm({ done }: { done: () => void }) {
  const view = useView();
  const { focus, overview, shownHead } = view;
  const text = useSignal(overview.text_pair || overview.text);
  const what = useSignal<"layer" | "attention" | "mlp">("layer");
  const token = useSignal(String(focus.query));
  const place = useSignal("");
  const { tokens } = overview.queries;
  const close = () => {
    view.root.current?.focus({ preventScroll: true }); // what had the focus is not there any more
    done();
  };
  const submit = () => {
    const at = place.value.trim() === "" ? null : Number(place.value);
    add(view, [["patch", shownHead.layer, Number(token.value), what.value, text.value, at]]);
    close();
  };
  return (
    <form
      class="bl-controls bl-patch"
      aria-label="From another text"
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <Select
        label={`in L${shownHead.layer}`}
        choices={choicesOf({ layer: "the layer’s output", attention: "what attention adds", mlp: "what the MLP adds" })}
        {...binding(what)}
      />
      <Select
        label="at"
        choices={tokens.map((one, n) => ({ value: String(n), label: `${tokenWord(one)} (${n})` }))}
        {...binding(token)}
      />
      <label class="bl-group bl-patch-text">
        <span class="bl-caps">as in</span>
        <input
          type="text"
          aria-label="The other text"
          value={text.value}
          dir="auto"
          onInput={(event) => into(text)(event.currentTarget.value)}
        />
      </label>
      <label
        class="bl-group"
        title="Its position in the other text; empty where it is the same token at the same place"
      >
        <span class="bl-caps">from token</span>
        <input
          type="number"
          min="0"
          placeholder={token.value}
          aria-label="Position in the other text"
          value={place.value}
          onInput={(event) => into(place)(event.currentTarget.value)}
        />
      </label>
      <Submit submit={submit}>Patch</Submit>
      <Button class="bl-button" onClick={close}>
        Cancel
      </Button>
    </form>
  );
}
