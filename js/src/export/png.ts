// An SVG figure as a PNG file, drawn by the browser itself.

const MOST = 16000; // pixels a side that browsers still give a canvas

/** `scale` pixels for each unit of the figure, fewer if the picture would be too large for a canvas. */
export async function pngFromSvg(svg: string, scale = 2): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const factor = Math.min(scale, MOST / width, MOST / height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * factor);
  canvas.height = Math.round(height * factor);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the browser could not draw the PNG"))),
      "image/png",
    );
  });
}
