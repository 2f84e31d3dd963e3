// Files that tests import as text, through vite (`import text from "./file.json?raw"`), and what is no TypeScript.
declare module "*?raw" {
  const text: string;
  export default text;
}
declare module "*/wat.mjs" {
  export const wat: import("esbuild").Plugin;
}
