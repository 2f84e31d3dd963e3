// WebAssembly from its text: what esbuild and vite make of `import modules from "./file.wat"`. Two modules in base64, the
// second one for browsers without relaxed SIMD.
import { readFile } from "node:fs/promises";
import wabt from "wabt";

const FUSED = /\(f32x4\.relaxed_madd (\(.*?\)) (\(.*?\)) (\(.*?\))\)/g;

export async function assembled(path) {
  const text = await readFile(path, "utf8");
  const { parseWat } = await wabt();
  const modules = [text, text.replace(FUSED, "(f32x4.add $3 (f32x4.mul $1 $2))")].map((source) => {
    const { buffer } = parseWat(path, source, { relaxed_simd: true }).toBinary({});
    return Buffer.from(buffer).toString("base64");
  });
  return `export default ${JSON.stringify(modules)}`;
}

/** For esbuild. */
export const wat = {
  name: "wat",
  setup({ onLoad }) {
    onLoad({ filter: /\.wat$/ }, async ({ path }) => ({ contents: await assembled(path) }));
  },
};
