/** What the bundler writes JSX with (build.mjs). */
export { createElement, Fragment } from "preact";
