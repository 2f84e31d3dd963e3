// Bundles the front end into bertlens/export/static: widget.js and widget.css, which every widget carries or (loader.js) takes
// from a model that all share. No network at run time.
//
// Every model of a notebook imports widget.js again, as a module of its own that the page never lets go of. So all but the
// source is made once for a document, by whoever comes first, and the others take it.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

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

const firmly = async (path) =>
  (await readFile(path, "utf8")).replace(/\.bertlens(?![\w-])/g, ":is(.bertlens, #bertlens-)");

/** Hosts style `div.body h3` and `select`: every rule of ours gets the weight of an id, in the order that they have. */
const firm = {
  name: "firm",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => ({
      contents: await firmly(path),
      loader: "css",
    }));
  },
};

/** Style as text, for what carries its own. */
const asText = {
  name: "text",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.css\?text$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace("?text", "")),
      namespace: "text",
    }));
    onLoad({ filter: /.*/, namespace: "text" }, async ({ path }) => {
      const { code } = await transform(await firmly(path), { loader: "css", minify: true, charset: "utf8" });
      return { contents: code, loader: "text" };
    });
  },
};

/** Whatever lies outside of the folder is handed by the bundle: src/tabs/task/shared.ts lists it. */
const handed = {
  name: "handed",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /.*/ }, ({ kind, path }) =>
      kind === "entry-point" || path.startsWith("./") ? undefined : { path: "shared", namespace: "handed" },
    );
    onLoad({ filter: /.*/, namespace: "handed" }, () => ({ contents: "module.exports = SHARED" }));
  },
};

// The view of labelled examples, which only views of a task load: src/tabs/task/apart.tsx.
const apart = await build({
  ...common,
  entryPoints: { task: "src/tabs/task/index.tsx" },
  format: "iife",
  globalName: "made",
  plugins: [asText, handed],
  write: false,
});
const [task] = apart.outputFiles;
const taskKey = `bertlens task ${createHash("sha256").update(task.text).digest("hex").slice(0, 16)}`;

const { outputFiles } = await build({
  ...common,
  entryPoints: { widget: "src/index.tsx" },
  define: { TASK_KEY: JSON.stringify(taskKey) },
  format: "iife",
  globalName: "made",
  plugins: [firm],
  write: false,
});
const hash = createHash("sha256").update(outputFiles.map(({ text }) => text).join(""));
const key = `bertlens ${hash.digest("hex").slice(0, 16)}`;
mkdirSync(out, { recursive: true });
writeFileSync(task.path, `globalThis[Symbol.for("${taskKey}")]=SHARED=>{${task.text}return made.default};\n`);
for (const { path, text } of outputFiles) {
  const once = `const widget=globalThis[Symbol.for("${key}")]??=(()=>{${text}return made.default})();`;
  // bertlens/export/html.py knows how it ends
  writeFileSync(path, path.endsWith(".js") ? `${once}\nexport{widget as default};\n` : text);
}

await build({
  ...common,
  entryPoints: { loader: "src/host/loader.ts" },
  format: "esm",
  define: { BUNDLE_KEY: JSON.stringify(key) },
});

// What saved pages carry behind it, and live pages beside it, which notebooks do not load; bertlens/export knows the names.
await build({
  ...common,
  entryPoints: { savedpage: "src/host/savedpage.ts", engine: "src/engine/index.ts" },
  format: "iife",
  globalName: "made",
});
