// Reads checks as a page does, for a Python test: `node tests/lesson_run.mjs FOLDER` takes in.json, pairs of a tree and
// what a view shows (`weights` in place of `weight`, `taken` as numbers), and writes [truth, why] of each into out.json beside it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = process.argv[2];
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("../src/lessons/verdict.ts", import.meta.url))],
  bundle: true,
  format: "esm",
  write: false,
});
const source = Buffer.from(outputFiles[0].contents).toString("base64");
const { verdict } = await import(`data:text/javascript;base64,${source}`);
const asked = JSON.parse(readFileSync(join(folder, "in.json"), "utf8"));
const found = asked.map(([tree, { weights, taken, ...facts }]) => {
  const cells = { weight: (i, j) => weights[i][j], taken: taken && ((i, j) => taken[i][j]) };
  const { truth, why } = verdict(tree, { ...facts, ...cells });
  return [truth, why];
});
writeFileSync(join(folder, "out.json"), JSON.stringify(found));
