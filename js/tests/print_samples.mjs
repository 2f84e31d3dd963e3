// Prints the sample figures as JSON, {name: svg}: `node tests/print_samples.mjs`. happy-dom stands for the browser.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Window } from "happy-dom";
import "./quiet.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const { outputFiles } = await build({
  entryPoints: [here("samples.tsx")],
  bundle: true,
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  alias: { "bertlens:shared": here("shared.ts") },
  write: false,
});
const { document, XMLSerializer } = new Window();
Object.assign(globalThis, { document, XMLSerializer });
const source = Buffer.from(outputFiles[0].contents).toString("base64");
const { samples, HOSTILE, EVERYDAY } = await import(`data:text/javascript;base64,${source}`);
process.stdout.write(JSON.stringify({ hostile: samples(HOSTILE), everyday: samples(EVERYDAY) }));
