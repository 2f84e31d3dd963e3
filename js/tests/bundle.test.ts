// What a notebook loads has nothing of the engine; what a live page carries beside it is small.
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { wat } from "../wat.mjs";

const made = async (entry: string, external: string[]) => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(import.meta.dirname, "../src", entry)],
    ...{ external, bundle: true, minify: true, target: "es2022", charset: "utf8", format: "esm" },
    ...{ plugins: [wat], write: false, metafile: true, outdir: "out", legalComments: "none" },
  });
  const js = outputFiles.find(({ path }) => path.endsWith(".js"))!;
  return { size: gzipSync(js.contents, { level: 9 }).length, inputs: Object.keys(metafile.inputs) };
};

test("the engine is 38.6 kB of its own, beside the library that reads texts", async () => {
  const { size, inputs } = await made("engine/index.ts", ["@huggingface/tokenizers"]);
  expect(inputs.filter((path) => path.includes("node_modules"))).toEqual([]);
  expect(size).toBeGreaterThan(10_000);
  expect(size).toBeLessThanOrEqual(38_600); // of which letters as the text has them .1, rows and four bits of a large table .1, the split of a score 2.5, words hidden one by one .7, sets of heads .6, loudness, strongest heads and shares 2
});

test("a notebook loads nothing of it", async () => {
  for (const entry of ["index.tsx", "search/index.tsx", "host/loader.ts"]) {
    const { inputs } = await made(entry, []);
    expect(inputs.filter((path) => /src\/engine\/|tokenizers/.test(path))).toEqual([]);
  }
});
