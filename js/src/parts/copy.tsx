// A button that puts text on the clipboard, and says whether it could.
import { useState } from "preact/hooks";
import type { CsvCell } from "../export/csv";
import { inert } from "../export/inert";
import { Button } from "./controls";

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

/** What came of the last copy, in words, and what copies. */
export function useCopy(): [said: string, copyText: (text: string) => void] {
  const [message, setMessage] = useState("");
  const copyText = (text: string) => {
    copy(text).then(
      () => setMessage("copied"),
      () => setMessage("the browser does not allow copying here"),
    );
  };
  return [message, copyText];
}

export function CopyButton({ rows }: { rows: () => CsvCell[][] }) {
  const [message, copyText] = useCopy();
  const text = () =>
    rows()
      .map((row) => row.map((cell) => (typeof cell === "string" ? inert(cell) : cell)).join("\t"))
      .join("\n");
  return (
    <>
      <Button class="bl-button" onClick={() => copyText(text())}>
        Copy
      </Button>
      <span role="status" class="bl-muted">
        {message}
      </span>
    </>
  );
}
