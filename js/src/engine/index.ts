// A bundle of its own, which live pages carry and notebooks do not load: see js/build.mjs, bertlens/export/live.py.
export { connect, serve } from "./connect";
