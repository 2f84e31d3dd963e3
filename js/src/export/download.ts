// Hands a file to the browser's own download.

const TYPES: Record<string, string> = {
  svg: "image/svg+xml",
  csv: "text/csv;charset=utf-8",
  html: "text/html;charset=utf-8",
  png: "image/png",
};

/** A file name of plain letters, digits, dots, dashes: whatever the parts hold. */
export function fileName(parts: (string | number)[], extension: string): string {
  const stem = parts
    .map((part) =>
      String(part)
        .normalize("NFKD")
        .replace(/[^A-Za-z0-9._]+/g, "-"),
    )
    .join("-");
  const plain = stem
    .replace(/-+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 100);
  return `${plain || "bertlens"}.${extension}`;
}

export function download(name: string, content: string | Blob): void {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  document.body.append(anchor); // Firefox needs it in the page
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the download may still be reading it
}
