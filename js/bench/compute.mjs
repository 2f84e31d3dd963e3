// Prints the time of the page's own arithmetic at the size of a BERT-base head with 512 tokens: `node bench/compute.mjs`.
import { build } from "esbuild";

const { outputFiles } = await build({
  stdin: {
    contents: `export * from "./src/compute/attention"; export * from "./src/compute/neurons";
      export * from "./src/compute/grid"; export * from "./src/compute/windows"; export * from "./src/paint/colormap";`,
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

const causal = { kind: "band", left: Number.POSITIVE_INFINITY, right: 0 };

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
slice.lse = Float64Array.from({ length: S }, (_, i) => code.scores(slice, i).reduce((sum, one) => sum + Math.exp(one), 0)).map(Math.log);
const weights = (one) => code.weightCells(one);
const cells = weights(slice);
const attention = cells.matrix;
const units = Array.from({ length: S }, (_, n) => ({ label: "", pieces: [n], segment: 0, special: false }));
const pixels = new Uint8ClampedArray(4 * S * S);
const table = code.table("weight", "light");
time("weights, all visible", () => weights(slice));
time("weights, causal", () => weights({ ...slice, mask: causal }));
time("scores and attention of one row", () => [code.scores(slice, 3), code.rowWeights(slice, 3)]);
const key = attention.subarray(3 * S, 4 * S).indexOf(Math.max(...attention.subarray(3 * S, 4 * S)));
time("reuse, all visible", () => code.reuse(slice, 3, key, cells));
time("reuse, causal", () => code.reuse({ ...slice, mask: causal }, 3, key, cells));
time("grid of pieces", () => code.grid(cells, units, units));
time("paint", () => code.paint(attention, 0, 1, table, pixels));
