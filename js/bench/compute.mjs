// Prints the time of the page's own arithmetic at the size of a BERT-base head with 512 tokens: `node bench/compute.mjs`.
import { build } from "esbuild";

const { outputFiles } = await build({
  stdin: {
    contents: `export * from "./src/compute/attention"; export * from "./src/compute/neurons";
      export * from "./src/compute/grid"; export * from "./src/paint/colormap";`,
    resolveDir: new URL("..", import.meta.url).pathname,
  },
  bundle: true,
  format: "esm",
  minify: true,
  write: false,
});
const code = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);

const S = 512;
const d = 64;
const random = () => Float32Array.from({ length: S * d }, () => 2 * Math.random() - 1);
const slice = { S, K: S, d, scaling: 1 / 8, mask: { kind: "full" }, q: random(), k: random() };

function time(name, work) {
  const first = performance.now();
  work();
  const cold = performance.now() - first;
  const times = Array.from({ length: 15 }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  console.log(`${name.padEnd(34)} first ${cold.toFixed(1).padStart(6)} ms   median ${times[7].toFixed(1).padStart(6)} ms`);
}

console.log(`S = ${S}, d = ${d}`);
const attention = code.weights(slice);
const units = Array.from({ length: S }, (_, n) => ({ label: "", pieces: [n], segment: 0, special: false }));
const pixels = new Uint8ClampedArray(4 * S * S);
const table = code.table("weight", "light");
time("weights, all visible", () => code.weights(slice));
time("weights, causal", () => code.weights({ ...slice, mask: { kind: "causal" } }));
time("scores and attention of one row", () => [code.scores(slice, 3), code.rowWeights(slice, 3)]);
const key = attention.subarray(3 * S, 4 * S).indexOf(Math.max(...attention.subarray(3 * S, 4 * S)));
time("reuse, all visible", () => code.reuse(slice, 3, key, attention));
time("reuse, causal", () => code.reuse({ ...slice, mask: { kind: "causal" } }, 3, key, attention));
time("grid of pieces", () => code.grid(attention, S, S, units, units));
time("paint", () => code.paint(attention, 0, 1, table, pixels));
