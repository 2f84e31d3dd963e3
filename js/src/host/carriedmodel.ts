// The model that a page carries, in its elements or in a file beside it.
import type { Source } from "../engine/line";
import { readJson } from "./pagemodel";
import { type Packed, unpack } from "./unpack";
import { type FilePart, weightsFile } from "./weightsfile";

const NO_STREAM = "This browser has no DecompressionStream to unpack the model:";
const NO_SERVER = "The model of this page needs a web server: here, opened from a file,";

/** The model, as html.py writes it; `file`: its weights are beside the page. */
interface Live extends Record<string, unknown> {
  tokenizer: Packed;
  file?: string;
  parts?: FilePart[];
}

/** What stands in an element, which is taken out of the page: it is large. */
function take<T>(name: string): T {
  const content = readJson<T>(name)!;
  document.getElementById(name)!.remove();
  return content;
}

/** Beside the picture. */
export const say = (text: string) => {
  document.getElementById("bertlens-says")!.textContent = text;
};

/** What a page has of its model, or why it cannot be had: the beginning of a sentence. Rejects where it is damaged. */
export async function carriedModel<T>(
  code: string,
): Promise<(Pick<Source, "code" | "size" | "part"> & { carried: T }) | string> {
  const { tokenizer, file, parts = [], ...about } = take<Live>("bertlens-live");
  if (!globalThis.DecompressionStream) return NO_STREAM;
  if (file && document.location.protocol === "file:") return NO_SERVER;
  const files = JSON.parse(new TextDecoder().decode(await unpack(tokenizer)));
  const inPage: Source["part"] = async (n) => {
    const { index, data } = take<{ index: unknown; data: Packed }>(`bertlens-weights-${n}`);
    return { index, data: await unpack(data) };
  };
  return {
    code,
    carried: { ...about, tokenizer: files } as T,
    size: file ? parts.reduce((sum, { size }) => sum + size, 0) : undefined,
    part: file ? weightsFile(file, parts) : inPage,
  };
}
