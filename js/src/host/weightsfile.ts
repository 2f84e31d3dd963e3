// The weights of a page that does not hold them itself: a file beside it, read part by part as it comes.
import { type Packed, unpack } from "./unpack";

export interface FilePart {
  index: unknown;
  size: number; // bytes
  data: Packed;
}

type Weights = { index: unknown; data: DataView<ArrayBuffer> };

/** Reads the parts in their order; `tell` hears the share of the file that has come. */
export function weightsFile(file: string, parts: FilePart[]) {
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  let stream: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  let piece = new Uint8Array(0);
  let come = 0;
  const open = async () => {
    const answer = await fetch(file);
    if (!answer.ok) throw new Error();
    return answer.body!.getReader();
  };
  const next = async () => {
    stream ??= await open();
    const { done, value } = await stream.read();
    if (done) throw new Error();
    return value;
  };
  return async (n: number, tell: (share: number) => void): Promise<Weights> => {
    const { index, size: length, data } = parts[n]!;
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      if (piece.length === 0) {
        piece = await next().catch(() => {
          throw new Error("its weights did not come from the server. Load the page again.");
        });
        come += piece.length;
        tell(come / size);
      }
      const head = piece.subarray(0, length - at);
      bytes.set(head, at);
      at += head.length;
      piece = piece.subarray(head.length);
    }
    return { index, data: await unpack({ ...data, bytes: new DataView(bytes.buffer) }) };
  };
}
