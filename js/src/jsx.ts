// How the bundles make elements: with `h`, whose calls are shorter than those of the automatic runtime (build.mjs).
export { Fragment, h } from "preact";
