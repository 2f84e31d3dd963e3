// Bundles the front end into bertlens/static: widget.js and widget.css, which every widget carries, and extras.js, which
// the page asks the kernel for when a view or an export that needs it is first opened. No network at run time.
//
// extras.js shares the modules of widget.js instead of carrying them again: it is one function that takes them.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = fileURLToPath(new URL("../bertlens/static/", import.meta.url));
const common = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
  absWorkingDir: here,
};

/** The virtual module "bertlens:shared": modules by name, for extras.js. */
const shared = (modules) => ({
  name: "shared",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^bertlens:shared$/ }, () => ({ path: "shared", namespace: "shared" }));
    onLoad({ filter: /.*/, namespace: "shared" }, () => ({
      contents: [
        ...modules.map((path, n) => `import * as m${n} from "./${path}";`),
        `export const shared = { ${modules.map((path, n) => `"${path}": m${n}`).join(", ")} };`,
      ].join("\n"),
      resolveDir: here,
    }));
  },
});

/** Leaves out what widget.js has, and notes what of it is used. */
const borrow = (from, used) => ({
  name: "borrow",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /.*/ }, async ({ path, pluginData, ...origin }) => {
      if (pluginData === "resolving" || origin.kind === "entry-point") return undefined;
      const found = await resolve(path, { ...origin, pluginData: "resolving" });
      const name = found.path.slice(here.length).replaceAll("\\", "/");
      if (!from.has(name)) return found;
      used.add(name);
      return { path: name, external: true };
    });
  },
});

const widget = (modules, options = {}) =>
  build({
    ...common,
    entryPoints: { widget: "src/index.tsx" },
    outdir: out,
    format: "esm",
    plugins: [shared(modules)],
    metafile: true,
    ...options,
  });

mkdirSync(out, { recursive: true });
const { metafile } = await widget([], { write: false });
const used = new Set();
await build({
  ...common,
  entryPoints: { extras: "src/extras.ts" },
  outdir: out,
  format: "cjs",
  banner: { js: "export default (require) => { const module = { exports: {} };" },
  footer: { js: "return module.exports; };" },
  plugins: [borrow(new Set(Object.keys(metafile.inputs)), used)],
});
await widget([...used].sort());
