// Bundles the front end into bertlens/export/static: widget.js and widget.css, which every widget carries or (loader.js) takes
// from a model that all share. No network at run time.
//
// Every model of a notebook imports widget.js again, as a module of its own that the page never lets go of. So all but the
// source is made once for a document, by whoever comes first, and the others take it.
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { minify } from "@swc/core";
import { build } from "esbuild";
import { wat } from "./wat.mjs";

const out = fileURLToPath(new URL("../bertlens/export/static/", import.meta.url));
const common = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  outdir: out,
};

/** Hosts style `div.body h3` and `select`: every rule of ours gets the weight of an id, in the order that they have. Those
 * of a file stand nested in one, which names ours once; what asks from outside stands behind it. */
const firm = {
  name: "firm",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const ours = ":is(.bertlens, #bertlens-)";
      if (text.includes("@import")) return { contents: text, loader: "css" };
      const outside = [];
      const inside = text.replace(
        /^(\.widget-hbox|:host|@keyframes)[^{}]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/gm,
        (rule) => {
          outside.push(rule.replace(/\.bertlens(?![\w-])/g, ours));
          return "";
        },
      );
      const nested = inside
        .replace(/\.bertlens\s+(?=[^\s{,])/g, "") // of what stands in ours
        .replace(/\.bertlens(?![\w-])/g, "&"); // of ours itself
      return { contents: `${ours} {\n${nested}\n}\n${outside.join("\n")}`, loader: "css" };
    });
  },
};

/** A script, a twentieth smaller than esbuild leaves it. */
const smaller = async (script) =>
  (await minify(script, { compress: { ecma: 2020, passes: 2 }, mangle: true, format: { ecma: 2020 } })).code;

rmSync(out, { recursive: true, force: true }); // nothing of an earlier build stays
mkdirSync(out, { recursive: true });

/** Writes the bundle of a widget and its style; what names it in a document. */
async function widget(name, entry) {
  const { outputFiles } = await build({
    ...common,
    entryPoints: { [name]: entry },
    format: "iife",
    globalName: "made",
    plugins: [firm],
    // smaller than the runtime that the types name: children are arguments; the name stands for nothing else in the sources
    inject: ["src/host/jsx.ts"],
    tsconfigRaw: {
      compilerOptions: { strict: true, jsx: "react", jsxFactory: "createElement", jsxFragmentFactory: "Fragment" },
    },
    write: false,
  });
  const hash = createHash("sha256").update(outputFiles.map(({ text }) => text).join(""));
  const key = `bertlens ${hash.digest("hex").slice(0, 16)}`;
  for (const { path, text } of outputFiles) {
    if (path.endsWith(".css")) writeFileSync(path, text);
    else {
      const once = `const widget=globalThis[Symbol.for("${key}")]??=(()=>{${await smaller(text)}return made.default})();`;
      writeFileSync(path, `${once}\nexport{widget as default};\n`); // bertlens/export/html.py knows how it ends
    }
  }
  return key;
}

const key = await widget("widget", "src/index.tsx");
await widget("search", "src/search/index.tsx"); // of a retrieval: other views load nothing of it

await build({
  ...common,
  entryPoints: { loader: "src/host/loader.ts" },
  format: "esm",
  define: { BUNDLE_KEY: JSON.stringify(key) },
});

// What saved pages carry behind it, and live pages beside it, which notebooks do not load; bertlens/export knows the names.
const { outputFiles } = await build({
  ...common,
  entryPoints: {
    savedpage: "src/host/savedpage.ts",
    frameheight: "src/host/frameheight.ts",
    engine: "src/engine/index.ts",
    searchengine: "src/search/live/index.ts",
  },
  format: "iife",
  globalName: "made",
  plugins: [wat],
  write: false,
});
for (const { path, text } of outputFiles) writeFileSync(path, await smaller(text));
