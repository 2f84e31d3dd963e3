// What engine_run.mjs runs.
export { common } from "../src/engine/answers/align";
export { frameOf, patternScores } from "../src/engine/answers/gatepatterns";
export { evidenceOf } from "../src/engine/answers/gatescores";
export { lengthsOf } from "../src/engine/answers/valuenorms";
export { pooled, run } from "../src/engine/forward";
export { pack } from "../src/engine/pack";
export { plainProduct } from "../src/engine/product";
export { QUESTIONS } from "../src/engine/registry";
export { Session } from "../src/engine/session";
export { createReader } from "../src/engine/tokenizer";
export { loadWeights } from "../src/engine/weights";
export { unpack as inflated } from "../src/host/unpack";
export { unpack } from "../src/kernel/wire";
export { SearchSession } from "../src/search/live/session";
