// Bytes that a saved page carries as text, deflated where that is worth it: the page's half of bertlens/export/deflate.py.

/** Where the bytes of an array's numbers stand apart; where integers stand for them, number = (integer + least) · step. */
type Plane = [from: number, to: number, size: number, step?: number, least?: number];

export interface Packed {
  $bytes?: string;
  bytes?: DataView<ArrayBuffer>; // of a file, in place of the text
  length?: number; // of the bytes unpacked; none where they were not deflated
  planes?: Plane[];
}

const BASE = 85;
const MOVED: Record<number, number> = { 120: 25, 121: 57 }; // letters in place of those that JSON or HTML escapes
const DIGITS = Uint8Array.from({ length: 128 }, (_, letter) => MOVED[letter] ?? Math.max(0, letter - 35));

/** Five letters are four bytes, the lowest digit first. */
function fromText(text: string): DataView<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(text.length / 5));
  for (let n = words.length - 1; n >= 0; n--) {
    let word = 0;
    for (let at = 5 * n + 4; at >= 5 * n; at--) word = word * BASE + (DIGITS[text.charCodeAt(at)] ?? 0);
    words[n] = word;
  }
  return new DataView(words.buffer, 0, Math.floor((text.length * 4) / 5));
}

function join(bytes: Uint8Array<ArrayBuffer>, [from, to, size, step, least = 0]: Plane): void {
  const planes = bytes.slice(from, to);
  const count = (to - from) / size;
  for (let plane = 0; plane < size; plane++)
    for (let n = 0; n < count; n++) bytes[from + n * size + plane] = planes[plane * count + n]!;
  if (!step) return;
  const integers = new Uint32Array(bytes.buffer, from, count);
  const floats = new Float32Array(bytes.buffer, from, count);
  for (let n = 0; n < count; n++) floats[n] = (integers[n]! + least) * step;
}

/** The bytes; `tell` hears the share of them that is there. Rejects where they are damaged. */
export async function unpack(packed: Packed, tell?: (share: number) => void): Promise<DataView<ArrayBuffer>> {
  const { $bytes = "", bytes: stored = fromText($bytes), length, planes = [] } = packed;
  if (length === undefined) return stored;
  const bytes = new Uint8Array(length);
  const pieces = new Blob([stored]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  let at = 0;
  for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
    bytes.set(piece.value, at);
    at += piece.value.length;
    tell?.(at / length);
  }
  for (const plane of planes) join(bytes, plane);
  return new DataView(bytes.buffer);
}
