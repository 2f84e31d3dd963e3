// Files that a test reads as text, through vite: `import text from "./file.json?raw"`.
declare module "*?raw" {
  const text: string;
  export default text;
}
