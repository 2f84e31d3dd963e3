// The embedded model in a page, by our engine (`made`, bertlens/export/static/engine.js) and by onnxruntime-web, both on the
// page's own thread.
import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";

const json = async (name) => (await fetch(name)).json();
const bytes = async (name) => (await fetch(name)).arrayBuffer();

/** Texts, and what answers a question about them. */
async function ours(carried) {
  const { port1, port2 } = new MessageChannel();
  made.serve(port2);
  const waits = new Map();
  const loaded = new Promise((done, fail) => {
    port1.onmessage = async ({ data }) => {
      if (data.kind === "answer") waits.get(data.id)(data);
      if (data.kind === "loaded") done(data.fast);
      if (data.kind === "broken") fail(new Error(data.why));
      if (data.kind === "wanted") {
        const index = await json(`${data.part}.json`);
        port1.postMessage({ kind: "part", index, data: new DataView(await bytes(`${data.part}.bin`)) });
      }
    };
  });
  port1.postMessage({ kind: "start", carried });
  if (!(await loaded)) throw new Error("no WebAssembly");
  let id = 0;
  return (question) =>
    new Promise((done, fail) => {
      waits.set(++id, ({ error, answer }) => (error ? fail(new Error(error)) : done(answer)));
      port1.postMessage({ kind: "ask", id, question });
    });
}

async function theirs() {
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = "/node_modules/onnxruntime-web/dist/";
  const session = await ort.InferenceSession.create("model.onnx", { executionProviders: ["wasm"] });
  return (ids) => {
    const tensor = (of) => new ort.Tensor("int64", BigInt64Array.from(ids, of), [1, ids.length]);
    const [input_ids, attention_mask, token_type_ids] = [tensor(BigInt), tensor(() => 1n), tensor(() => 0n)];
    return session.run({ input_ids, attention_mask, token_type_ids });
  };
}

const timed = async (work) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const LONG = 200; // tokens, of which fewer rounds are run

/**
 * Milliseconds in turn, {tokens: [[whole, bare, theirs, nine], …]}, the first rounds left out. whole: our answer to a typed
 * text; bare: a pass of ours alone, of the twelve that say what each head of a layer does to the answer; nine: the answer
 * over how loud a head of the first layer is.
 */
globalThis.measured = async (rounds, warm) => {
  const { carried, texts } = await json("live.json");
  const [ask, run] = [await ours(carried), await theirs()];
  const { heads } = carried.shape;
  const found = {};
  for (const [tokens, { text, ids }] of Object.entries(texts)) {
    let trace = "";
    const whole = async () => {
      trace = (await ask({ op: "trace", text })).show.header.trace;
    };
    const bare = () => ask({ op: "matters_exact", trace, metric: "similarity", layer: 0 });
    const nine = () => ask({ op: "loudness", trace, layer: 0, head: 0 });
    const works = [whole, bare, () => run(ids), nine];
    const isLong = Number(tokens) > LONG;
    found[tokens] = [];
    for (let n = 0; n < (isLong ? 4 : warm + rounds); n++) {
      const times = [];
      for (const [at, work] of works.entries()) times.push((await timed(work)) / (at === 1 ? heads : 1));
      if (n >= (isLong ? 1 : warm)) found[tokens].push(times);
    }
  }
  return found;
};
