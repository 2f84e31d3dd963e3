// Prints the sample figures as JSON, {name: svg}: `node tests/print_samples.mjs`.
import { build } from "esbuild";

const { outputFiles } = await build({
  entryPoints: [new URL("samples.ts", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  write: false,
});
const source = Buffer.from(outputFiles[0].contents).toString("base64");
const { samples, HOSTILE, EVERYDAY } = await import(`data:text/javascript;base64,${source}`);
process.stdout.write(JSON.stringify({ hostile: samples(HOSTILE), everyday: samples(EVERYDAY) }));
