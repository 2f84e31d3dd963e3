// Small pictures as PNG files of palette entries, written without a canvas: for SVG, and for thumbnails, of which there are
// so many that the browser would keep a layer for each canvas and look through all of them in every frame.

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return c;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (let n = 0; n < bytes.length; n++) crc = CRC[(crc ^ bytes[n]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (let n = 0; n < bytes.length; n++) {
    a = (a + bytes[n]!) % 65521;
    b = (b + a) % 65521;
  }
  return ((b << 16) | a) >>> 0;
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const chunk of parts) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

const big = (value: number) => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);

function chunk(name: string, body: Uint8Array): Uint8Array {
  const named = join(
    Uint8Array.from(name, (character) => character.charCodeAt(0)),
    body,
  );
  return join(big(body.length), named, big(crc32(named)));
}

/** zlib with stored blocks only: no compression, hence no code for it. */
function stored(bytes: Uint8Array): Uint8Array {
  const chunks: Uint8Array[] = [Uint8Array.of(0x78, 0x01)];
  for (let at = 0; at === 0 || at < bytes.length; at += 65535) {
    const block = bytes.subarray(at, at + 65535);
    const size = block.length;
    const isLast = at + 65535 >= bytes.length ? 1 : 0;
    chunks.push(Uint8Array.of(isLast, size & 255, size >> 8, ~size & 255, (~size >> 8) & 255), block);
  }
  return join(...chunks, big(adler32(bytes)));
}

const palettes = new WeakMap<Uint8Array, Uint8Array>(); // as chunks: all thumbnails have the same
function paletteChunk(palette: Uint8Array): Uint8Array {
  if (!palettes.has(palette)) palettes.set(palette, chunk("PLTE", palette));
  return palettes.get(palette)!;
}

/** A PNG file with one palette entry per pixel: `entries` (height·width), `palette` 256 RGB triples. */
export function png(entries: Uint8Array, width: number, height: number, palette: Uint8Array): Uint8Array<ArrayBuffer> {
  const lines = new Uint8Array(height * (width + 1)); // every line starts with its filter, 0 = none
  for (let y = 0; y < height; y++) lines.set(entries.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const header = join(big(width), big(height), Uint8Array.of(8, 3, 0, 0, 0)); // 8 bits, palette
  return join(
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", header),
    paletteChunk(palette),
    chunk("IDAT", stored(lines)),
    chunk("IEND", new Uint8Array()),
  );
}

export function dataUri(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return `data:image/png;base64,${btoa(binary)}`;
}
