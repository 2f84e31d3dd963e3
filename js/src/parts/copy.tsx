// A button that puts text on the clipboard, and says whether it could.
import { useState } from "preact/hooks";
import { inert } from "../export/inert";

/** Rejects where the browser does not allow it. */
export function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // pages that are not served over https have no clipboard object
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return Promise.resolve();
}

export function CopyButton({ rows }: { rows: () => (string | number | null)[][] }) {
  const [said, setSaid] = useState("");
  const text = () =>
    rows()
      .map((row) => row.map((cell) => (typeof cell === "string" ? inert(cell) : cell)).join("\t"))
      .join("\n");
  return (
    <>
      <button
        type="button"
        class="bl-button"
        onClick={() =>
          copy(text()).then(
            () => setSaid("copied"),
            () => setSaid("the browser does not allow copying here"),
          )
        }
      >
        Copy
      </button>
      <span role="status" class="bl-muted">
        {said}
      </span>
    </>
  );
}
