// Hands a file to the browser's own download; an SVG figure also as PNG, drawn by the browser itself.

const TYPES: Record<string, string> = {
  svg: "image/svg+xml",
  csv: "text/csv;charset=utf-8",
  html: "text/html;charset=utf-8",
  png: "image/png",
  pdf: "application/pdf",
};
const MOST_PIXELS = 16000; // pixels a side that browsers still give a canvas

/** A file name of plain letters, digits, dots, dashes: whatever the parts hold. */
export function fileName(parts: (string | number)[], extension: string): string {
  const plain = parts
    .join("-")
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9._]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 100);
  return `${plain || "bertlens"}.${extension}`;
}

export function download(name: string, content: string | Blob): void {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  const href = URL.createObjectURL(new Blob([content], { type }));
  const anchor = Object.assign(document.createElement("a"), { href, download: name });
  document.body.append(anchor); // Firefox needs it in the page
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(href), 60_000); // the download may still be reading it
}

/** `scale` pixels for each of the figure's own, fewer if the image would be too large for a canvas. */
export async function pngFromSvg(svg: string, scale = 2): Promise<Blob> {
  const image = Object.assign(new Image(), { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` });
  await image.decode();
  const { naturalWidth, naturalHeight } = image;
  const factor = Math.min(scale, MOST_PIXELS / naturalWidth, MOST_PIXELS / naturalHeight);
  const [width, height] = [Math.round(naturalWidth * factor), Math.round(naturalHeight * factor)];
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d")!.drawImage(image, 0, 0, width, height);
  // not toBlob: Chromium keeps that for idle moments, and waits for them up to 6.7 s
  const [, base64] = canvas.toDataURL("image/png").split("base64,");
  if (!base64) throw new Error("the browser could not draw the PNG");
  return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]);
}
