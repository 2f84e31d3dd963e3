// Runs what Python tests wrote into folders, a folder for each line of its input, and writes what comes out beside it; its
// own lines say when that is there, or what went wrong: `node tests/engine_run.mjs`.
// in.json {shape, product, passes: [{ids, types, changes}]}, and n.json, n.bin of each part of the weights, as
// bertlens/base/wire.py packs them. {readers: [{tokenizer, texts}]} instead: the ids of texts; {commons}: what lists have in common;
// {maps}: the patterns of attention maps and the evidence for a gate; {questions}: the names of all; {carried, asks}: what the
// model in a page answers, [error, fields, show] and the bytes of each; that of a retrieval where carried has a search.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { wat } from "../wat.mjs";

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("engine_parts.ts", import.meta.url))],
  bundle: true,
  format: "esm",
  plugins: [wat],
  write: false,
});
const source = Buffer.from(outputFiles[0].contents).toString("base64");
const engine = await import(`data:text/javascript;base64,${source}`);

async function work(folder) {
  const json = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
  const { shape, product, passes, readers, commons, maps, questions, carried, asks } = json("in.json");

  if (commons) {
    writeFileSync(join(folder, "out.json"), JSON.stringify(commons.map(([x, y]) => engine.common(x, y))));
  } else if (questions) {
    writeFileSync(join(folder, "out.json"), JSON.stringify(Object.keys(engine.QUESTIONS)));
  } else if (maps) {
    const found = maps.map(({ values, special, segments, gate, isContent }) => {
      const frame = engine.frameOf(special, segments);
      const map = [Float32Array.from(values.flat()), special.length, frame];
      const { scores } = engine.patternScores(...map, isContent);
      const { cells, ...said } = engine.evidenceOf(...map, gate, isContent);
      return { scores, ...said, cells: [...cells] };
    });
    writeFileSync(join(folder, "out.json"), JSON.stringify(found));
  } else if (readers) {
    const found = readers.map(({ tokenizer, texts }) => {
      const { encode } = engine.createReader(tokenizer);
      return texts.map((pair) => encode(...pair));
    });
    writeFileSync(join(folder, "out.json"), JSON.stringify(found));
  } else if (asks) {
    const session = carried.search ? new engine.SearchSession(carried) : new engine.Session(carried);
    const part = async (n) => {
      if (carried.search) {
        const { index, data } = json(`${n}.json`); // as the page has it
        return { index, data: await engine.inflated(data) };
      }
      const { buffer, byteOffset, byteLength } = readFileSync(join(folder, `${n}.bin`)); // small ones share a buffer
      return { index: json(`${n}.json`), data: new DataView(buffer, byteOffset, byteLength) };
    };
    await session.load(part, () => undefined);
    const found = [];
    let [before, last] = ["", carried.header?.trace];
    for (const [n, question] of asks.entries()) {
      const trace = { before, last, own: carried.header?.trace }[question.trace] ?? question.trace;
      const asked = { ...question, trace };
      try {
        let answer = await session.answer(asked);
        while (answer.fields.again) answer = await session.answer(asked);
        const { fields, data, show } = answer;
        const bytes = show?.data ?? data;
        if (bytes) writeFileSync(join(folder, `out${n}.bin`), bytes);
        if (show) [before, last] = [last, show.header?.trace ?? show];
        found.push(["", fields, show?.header ? { ...show, data: undefined } : show]);
      } catch (error) {
        found.push([error.message, null, null]);
      }
    }
    writeFileSync(join(folder, "out.json"), JSON.stringify(found));
  } else {
    const part = async (n) => engine.unpack(json(`${n}.json`), new Uint8Array(readFileSync(join(folder, `${n}.bin`))));
    const { validate } = WebAssembly;
    let tried = 0;
    if (product === "unfused") WebAssembly.validate = (code) => tried++ > 0 && validate(code); // the fused one comes first
    const slow = product === "plain";
    const weights = await engine.loadWeights(shape, part, undefined, slow ? engine.plainProduct : undefined);
    WebAssembly.validate = validate;
    if (weights.product.fast === slow) throw new Error("the other product");
    const times = [];
    for (const [n, { changes, ...input }] of passes.entries()) {
      const start = performance.now();
      const pass = await engine.run(weights, input, changes);
      times.push(performance.now() - start);
      const arrays = { pooled: [engine.pooled(pass), null] };
      for (const [layer, { q, k, v, lse }] of pass.layers.entries())
        for (const [name, values] of Object.entries({ q, k, v, lse })) arrays[`${layer}.${name}`] = [values, null];
      for (const layer of pass.layers.keys()) arrays[`${layer}.norms`] = [engine.lengthsOf(weights, pass, layer), null];
      for (const [layer, values] of pass.stream.entries()) arrays[`stream.${layer}`] = [values, null];
      const { index, data } = engine.pack(arrays);
      writeFileSync(join(folder, `out${n}.json`), JSON.stringify(index));
      writeFileSync(join(folder, `out${n}.bin`), data);
    }
    writeFileSync(join(folder, "out.json"), JSON.stringify({ times }));
  }
}

for await (const folder of createInterface({ input: process.stdin })) {
  const error = await work(folder).then(
    () => "",
    ({ message }) => message || "an error without a word", // a trace would name the bundle by all of its text
  );
  process.stdout.write(`${JSON.stringify(error)}\n`);
}
