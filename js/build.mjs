// Bundles the front end into bertlens/page/static: widget.js and widget.css, which every widget carries or (loader.js) takes
// from a model that all share, and extras.js, which the page asks the kernel for when a view or an export that needs it is
// first opened. No network at run time.
//
// extras.js shares the modules of widget.js instead of carrying them again: it is one function that is given what it takes
// of them. Both are built together, and a widget asks its own kernel for its extras.
//
// Every model of a notebook imports widget.js again, as a module of its own that the page never lets go of. So all but the
// source is made once for a document, by whoever comes first, and the others take it.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = fileURLToPath(new URL("../bertlens/page/static/", import.meta.url));
const common = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "transform",
  jsxFactory: "jsxElement",
  jsxFragment: "jsxFragment",
  inject: ["src/jsx.ts"],
  logLevel: "warning",
  format: "esm",
  absWorkingDir: here,
};

/** Paths and names in the order in which widget.js gives them. */
const listed = (taken) => [...taken].flatMap(([path, names]) => [...names].map((name) => [path, name]));

/** The virtual module "bertlens:shared": what extras.js takes of the modules, one after the other without their names. */
const shared = (taken) => ({
  name: "shared",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^bertlens:shared$/ }, () => ({ path: "shared", namespace: "shared" }));
    onLoad({ filter: /.*/, namespace: "shared" }, () => ({
      contents: [
        ...listed(taken).map(([path, name], n) => `import { ${name} as _${n} } from "./${path}";`),
        `export const shared = [${listed(taken).map((_, n) => `_${n}`)}];`,
      ].join("\n"),
      resolveDir: here,
    }));
  },
});

/** What widget.js has is not carried again: imports of it are left open, or taken from the function that gives it. */
const borrow = (from, taken) => ({
  name: "borrow",
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /.*/ }, async ({ path, pluginData, ...origin }) => {
      if (pluginData === "resolving" || origin.kind === "entry-point") return undefined;
      const resolved = await resolve(path, { ...origin, pluginData: "resolving" });
      const name = relative(here, resolved.path).replaceAll("\\", "/"); // node_modules may be a link to elsewhere
      if (!from.has(name)) return resolved;
      return taken ? { path: name, namespace: "borrowed" } : { path: name, external: true };
    });
    onResolve({ filter: /^bertlens:all$/ }, () => ({ path: "all", namespace: "borrowed" }));
    onLoad({ filter: /.*/, namespace: "borrowed" }, ({ path }) => {
      const all = listed(taken);
      if (path === "all") return { contents: `export const [${all.map((_, n) => `_${n}`)}] = borrowed;` };
      const names = all.flatMap(([from, name], n) => (from === path ? [`_${n} as ${name}`] : []));
      return { contents: `export { ${names} } from "bertlens:all";` };
    });
  },
});

/** Hosts style `div.body h3` and `select`: every rule of ours gets the weight of an id, in the order that they have. */
const firm = {
  name: "firm",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(/\.bertlens(?![\w-])/g, ":is(.bertlens, #bertlens-)"),
      loader: "css",
    }));
  },
};

const widget = (taken, options = {}) =>
  build({
    ...common,
    entryPoints: { widget: "src/index.tsx" },
    outdir: out,
    plugins: [shared(taken), firm],
    metafile: true,
    ...options,
  });

mkdirSync(out, { recursive: true });
const { metafile } = await widget([], { write: false });
const ours = new Set(Object.keys(metafile.inputs));
/** The style of what extras.js draws, which puts it into each view itself. */
const {
  outputFiles: [{ text: extrasStyle }],
} = await build({ ...common, entryPoints: ["src/style/extras.css"], outdir: out, write: false, plugins: [firm] });
const extras = (taken) =>
  build({
    ...common,
    define: { EXTRAS_STYLE: JSON.stringify(extrasStyle.trim()) },
    entryPoints: { extras: "src/extras.ts" },
    outdir: out,
    write: false,
    plugins: [borrow(ours, taken)],
  });

/** Names that extras.js takes, by the module they are from. */
const taken = new Map();
const [{ text: open }] = (await extras()).outputFiles;
for (const [, names, path] of open.matchAll(/import\s*\{([^}]*)\}\s*from\s*"([^"]*)"/g)) {
  if (!taken.has(path)) taken.set(path, new Set());
  for (const name of names.split(",")) taken.get(path).add(name.split(" as ")[0].trim());
}
const [{ text: closed }] = (await extras(taken)).outputFiles;
/** A bundle's code as the body of a function that returns what the bundle exports, shaped by `returned`. */
function functionBody(code, returned) {
  const body = code.replace(/export\s*\{([^}]*)\};?\s*$/, (_, names) => {
    const pairs = names.split(",").map((name) => name.split(" as ").map((one) => one.trim()));
    return `return ${returned(pairs)}`;
  });
  if (body === code || /(^|[;}])import[\s{*"]/.test(body))
    throw new Error("a bundle's imports or exports of another form");
  return body;
}

/** A whole module, smaller than esbuild makes it. */
const small = async (code) => {
  const options = { module: true, ecma: 2022, compress: { passes: 3 } };
  return (await minify(code, options)).code;
};

const extrasBody = functionBody(closed, (pairs) => `{${pairs.map(([local, name = local]) => `${name}:${local}`)}}`);
writeFileSync(`${out}extras.js`, await small(`export default borrowed=>{${extrasBody}};\n`));

const { outputFiles } = await widget(taken, { write: false });
const all = outputFiles.map(({ text }) => text).join("");
const key = `bertlens ${createHash("sha256").update(all).digest("hex").slice(0, 16)}`;
for (const { path, text } of outputFiles) {
  const once = () =>
    `const widget=globalThis[Symbol.for("${key}")]??=make();function make(){${functionBody(text, ([[local]]) => local)}}export{widget as default};\n`;
  writeFileSync(path, path.endsWith(".js") ? await small(once()) : text);
}

await build({
  ...common,
  inject: [], // it draws nothing
  define: { BUNDLE_KEY: JSON.stringify(key) },
  entryPoints: { loader: "src/loader.ts" },
  outdir: out,
});
