// Numbers to pixels, against the tables that Python wrote.
import { describe, expect, it } from "vitest";
import vectors from "../../tests/wire/tables.json";
import { NAN } from "../src/generated/vocabulary";
import { cssColor, entry, indexed, inkOn, paint, table } from "../src/paint/colormap";

const pixel = (out: Uint8ClampedArray, n: number) => [...out.slice(4 * n, 4 * n + 4)];
const rgba = (colors: Uint8Array, n: number) => [...colors.slice(3 * n, 3 * n + 3), 255];

describe("ink on a colour", () => {
  const light = (color: string) =>
    [1, 3, 5]
      .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, n) => sum + [0.2126, 0.7152, 0.0722][n]! * v, 0.05);
  it("has a contrast of at least 4.5 : 1 on every colour of every table", () => {
    for (const scale of ["weight", "signed"] as const)
      for (const theme of ["light", "dark"] as const) {
        const colors = table(scale, theme);
        for (let n = 0; n < 256; n++) {
          const color = `#${[...colors.slice(3 * n, 3 * n + 3)].map((v) => v.toString(16).padStart(2, "0")).join("")}`;
          const on = inkOn(color) === "#fff" ? 1.05 : 0.05;
          expect(Math.max(on, light(color)) / Math.min(on, light(color))).toBeGreaterThanOrEqual(4.5);
        }
      }
  });
});

describe("tables", () => {
  it.each(["light", "dark"] as const)("%s: 256 colours, zero has the panel's", (theme) => {
    const panel = theme === "light" ? "#ffffff" : "#14181e";
    for (const scale of ["weight", "signed"] as const) {
      const colors = table(scale, theme);
      expect(colors.length).toBe(768);
      expect(cssColor(0, scale === "weight" ? 0 : -2, 2, colors)).toBe(panel);
      expect(table(scale, theme)).toBe(colors); // decoded once
    }
  });
});

describe("tables against Python's", () => {
  it.each(Object.entries(vectors))("%s", (name, every15th) => {
    const [scale, theme] = name.split("-") as ["weight" | "signed", "light" | "dark"];
    const colors = table(scale, theme);
    expect(every15th.map((_, n) => [...colors.slice(45 * n, 45 * n + 3)])).toEqual(every15th);
  });
});

describe("paint", () => {
  const weight = table("weight", "light");

  it("gives ends, middle and what lies beyond", () => {
    const values = Float32Array.of(0, 1, 0.5, -3, 7, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
    const out = new Uint8ClampedArray(4 * values.length);
    paint(values, 0, 1, weight, out);
    expect([0, 1, 2, 3, 4, 5, 6].map((n) => pixel(out, n))).toEqual(
      [0, 255, 128, 0, 255, 255, 0].map((n) => rgba(weight, n)),
    );
  });

  it("draws NaN in a colour that no value has", () => {
    const out = new Uint8ClampedArray(8);
    paint(Float32Array.of(Number.NaN, 0), 0, 1, weight, out);
    expect(pixel(out, 0)).toEqual([0x8d, 0x76, 0x6d, 255]);
    expect(NAN).toBe("#8d766d");
    paint(Float32Array.of(Number.NaN, 0), 0, 1, weight, out, "#010203");
    expect(pixel(out, 0)).toEqual([1, 2, 3, 255]);
    expect(pixel(out, 1)).toEqual(rgba(weight, 0));
  });

  it("puts a signed zero in the neutral middle and the same size at the same distance from it", () => {
    const colors = table("signed", "dark");
    expect([-1, -0.5, 0, 0.5, 1].map((v) => entry(v, -1, 1))).toEqual([0, 64, 128, 191, 255]);
    expect(rgba(colors, 127)).toEqual(rgba(colors, 128));
  });

  it("paints where nothing varies, an ImageData, and a view in the middle of a buffer", () => {
    const image = { data: new Uint8ClampedArray(8) };
    paint(Float32Array.of(0, 0), 0, 0, weight, image);
    expect(pixel(image.data, 1)).toEqual(rgba(weight, 0));
    const buffer = new ArrayBuffer(24);
    paint(Float32Array.of(1), 0, 1, weight, new Uint8ClampedArray(buffer, 8, 4));
    expect([...new Uint8Array(buffer, 0, 8)]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(pixel(new Uint8ClampedArray(buffer), 2)).toEqual(rgba(weight, 255));
  });

  it("agrees with cssColor and with the table, value by value", () => {
    const values = Float32Array.from({ length: 256 }, (_, n) => n / 255);
    const out = new Uint8ClampedArray(1024);
    paint(values, 0, 1, weight, out);
    for (let n = 0; n < 256; n++) {
      expect(pixel(out, n)).toEqual(rgba(weight, n));
      const hex = pixel(out, n)
        .slice(0, 3)
        .map((c) => c.toString(16).padStart(2, "0"))
        .join("");
      expect(cssColor(values[n]!, 0, 1, weight)).toBe(`#${hex}`);
    }
  });
});

describe("entries of a palette", () => {
  const weight = table("weight", "light");
  const colours = (values: number[]) => {
    const { entries, palette } = indexed(values, 0, 1, weight);
    return Array.from(entries, (n) => `#${Buffer.from(palette.subarray(3 * n, 3 * n + 3)).toString("hex")}`);
  };
  const wanted = (values: number[]) => values.map((value) => cssColor(value, 0, 1, weight));

  it("have the colours of their values, what is not a number its own", () => {
    for (const values of [[0, 0.3, 1], [0, Number.NaN, 1, 0.3], [Number.NaN]])
      expect(colours(values)).toEqual(wanted(values));
    expect(indexed([0, 1], 0, 1, weight).palette).toBe(weight);
  });
  it("make the last two one only where no entry is left for what is not a number", () => {
    const all = Array.from({ length: 256 }, (_, n) => n / 255);
    expect(colours([...all, Number.NaN])).toEqual([...wanted(all.slice(0, 255)), wanted(all)[254], NAN]);
    const some = all.filter((_, n) => n !== 100);
    expect(colours([...some, Number.NaN])).toEqual([...wanted(some), NAN]);
  });
});
