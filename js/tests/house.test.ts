// The folders of src are its layers: each knows those before it, none those behind it, and no files import in a circle.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
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
