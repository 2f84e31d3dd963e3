// What to train on: triplets with passages that stand high and answer nothing, as Python writes them.
import { useSignal } from "@preact/signals";
import { download } from "../export/download";
import type { Triplets } from "../generated/answers";
import { Button, useElementId } from "../parts/controls";
import { NEGATIVES_NEED } from "./page";
import { useSearch } from "./state";

const ENDINGS = { CSV: ".csv", Parquet: ".parquet" };

/** Lines of the menu of files; they stay, with what the file holds. */
export function Negatives({ name }: { name: (extension: string, ...parts: string[]) => string }) {
  const { ask, kernel, announcement } = useSearch();
  const count = useSignal(5);
  const sentence = useSignal("");
  const id = useElementId();
  if (!kernel.value) return <p>{NEGATIVES_NEED}</p>;
  const save = async (ending: string) => {
    sentence.value = "…";
    try {
      const { fields, buffers } = await ask("search_negatives", { n: count.value, ending });
      download(name(ending.slice(1), "hard-negatives"), new Blob(buffers as DataView<ArrayBuffer>[]));
      sentence.value = (fields as Triplets).said;
    } catch (error) {
      sentence.value = (error as Error).message;
    }
    announcement.value = sentence.value;
  };
  return (
    <div data-stays data-testid="negatives">
      <div class="bl-menu-line">
        <span>
          <label for={id}>Hard negatives, of a question</label>{" "}
          <input
            id={id}
            type="number"
            min="1"
            value={count.value}
            onInput={({ currentTarget }) => {
              count.value = currentTarget.valueAsNumber;
            }}
          />
        </span>
        {Object.entries(ENDINGS).map(([label, ending]) => (
          <Button key={label} onClick={() => save(ending)}>
            {label}
          </Button>
        ))}
      </div>
      {sentence.value && <p>{sentence.value}</p>}
    </div>
  );
}
