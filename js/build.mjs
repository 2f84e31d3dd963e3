// Bundles the front end into bertlens/static: one ES module and one style sheet, no network at run time.
import { mkdirSync } from "node:fs";
import { build } from "esbuild";

const out = new URL("../bertlens/static/", import.meta.url).pathname;
mkdirSync(out, { recursive: true });
await build({
  entryPoints: { widget: "src/index.tsx" },
  outdir: out,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
  absWorkingDir: new URL(".", import.meta.url).pathname,
});
