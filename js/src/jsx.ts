// How the bundles make elements: with preact's `h`, whose calls are shorter than those of the automatic runtime (build.mjs).
// Names that no module has for something of its own: `h` is a head in many.
export { Fragment as jsxFragment, h as jsxElement } from "preact";
