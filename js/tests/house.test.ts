// The folders of src are its layers: each knows those before it, none those behind it, and no files import in a circle.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { transform } from "esbuild";
import { expect, test } from "vitest";

// Who adds a folder adds it here.
const FOLDERS = ["generated", "paint", "kernel", "compute", "engine", "host", "state", "export", "parts"];
const ROOMS = ["atlas", "head", "whatif", "tabs", "front", "lessons", "frame", "search", "index.tsx"];
const ORDER = [...FOLDERS, ...ROOMS];

const src = join(import.meta.dirname, "../src");
const files = (readdirSync(src, { recursive: true }) as string[]).filter((file) => /(?<!\.d)\.tsx?$/.test(file));
const folder = (file: string) => file.split(/[\\/]/)[0]!;

/** The files that one imports, for types alone too. */
const imports = (file: string) =>
  [...readFileSync(join(src, file), "utf8").matchAll(/\bfrom\s+"(\.[^"]+)"|\bimport\s*\(?"(\.[^"]+)"/g)].flatMap(
    ([, from, plain]) => {
      const path = normalize(join(dirname(file), (from ?? plain)!));
      return files.filter((other) => other.replace(/\.tsx?$/, "") === path);
    },
  );
const arrows = new Map(files.map((file) => [file, imports(file)]));

test("every folder has its place in the order, and files import of their own or of earlier ones", () => {
  expect(arrows.size).toBeGreaterThan(100);
  expect(new Set(files.map(folder))).toEqual(new Set(ORDER));
  const up = [...arrows].flatMap(([file, others]) =>
    others
      .filter((other) => ORDER.indexOf(folder(other)) > ORDER.indexOf(folder(file)))
      .map((to) => `${file} -> ${to}`),
  );
  expect(up).toEqual([]);
});

test("no files import in a circle", () => {
  const done = new Set<string>();
  const circle = (file: string, way: string[]): string[] => {
    if (way.includes(file)) return [...way, file];
    if (done.has(file)) return [];
    for (const other of arrows.get(file)!) {
      const found = circle(other, [...way, file]);
      if (found.length) return found;
    }
    done.add(file);
    return [];
  };
  expect(files.flatMap((file) => circle(file, []))).toEqual([]);
});

test("no folder is too full to be looked through", () => {
  const all = readdirSync(src, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const count = (path: string) => all.filter(({ parentPath }) => parentPath === path).length;
  const folders = [...new Set(all.map(({ parentPath }) => parentPath))];
  expect(folders.filter((path) => count(path) > 24)).toEqual([]);
});

test("the hosts' page names the oldest browsers that read nested style sheets", async () => {
  const said = readFileSync(join(import.meta.dirname, "../../docs/hosts.md"), "utf8").match(
    /nested style sheets of a view are Chrome (\d+), Firefox (\d+) and Safari (\d+)\.(\d+)/,
  )!;
  const css = readFileSync(join(import.meta.dirname, "../../bertlens/export/static/widget.css"), "utf8");
  const nests = async (target: string) => {
    const { code } = await transform(css, { loader: "css", minify: true, charset: "utf8", target });
    return code.split(":is(.bertlens,").length === css.split(":is(.bertlens,").length;
  };
  const [chrome, firefox, safari, minor] = said.slice(1).map(Number) as [number, number, number, number];
  const oldest = [`chrome${chrome}`, `firefox${firefox}`, `safari${safari}.${minor}`];
  const before = [`chrome${chrome - 1}`, `firefox${firefox - 1}`, `safari${safari}.${minor - 1}`];
  expect(await Promise.all(oldest.map(nests))).toEqual([true, true, true]);
  expect(await Promise.all(before.map(nests))).toEqual([false, false, false]);
});
