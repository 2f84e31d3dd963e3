// Tables and file names.
import { describe, expect, it } from "vitest";
import { csv, numberText } from "../src/export/csv";
import { fileName } from "../src/export/download";
import { captionLines, facts } from "../src/export/provenance";
import { HOSTILE } from "./samples";

/** A plain RFC 4180 reader: records of fields, and whether each was quoted. */
function parse(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  let at = 0;
  while (at < text.length) {
    let value = "";
    if (text[at] === '"') {
      for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
        if (text[at] === '"') at++;
        value += text[at];
      }
      at++;
    } else {
      while (at < text.length && text[at] !== "," && text[at] !== "\r") value += text[at++];
    }
    record.push(value);
    if (text[at] === ",") at++;
    else {
      expect(text.slice(at, at + 2)).toBe("\r\n");
      at += 2;
      records.push(record);
      record = [];
    }
  }
  return records;
}

describe("csv", () => {
  const tokens = [...HOSTILE, "=1+1", "+1", "-1", "@x", 'say "a, b"', "#hash", " padded ", "'quoted", "a\n=1", 'x,"=1'];
  const exact = (cell: string) => cell.replace(/(^|[,;\t\r\n])("*)'/g, "$1$2"); // what the documentation gives
  it("gives back every token", () => {
    const lines = tokens.map((token, n): [string, number] => [token, n]);
    const text = csv([], ["token", "n"], lines);
    const body = text.slice(text.indexOf("\r\n") + 2); // without the note
    expect(text.startsWith("# note: an apostrophe stands before")).toBe(true);
    const [head, ...read] = parse(body);
    expect(head).toEqual(["token", "n"]);
    expect(read.map(([token, n]) => [exact(token!), n])).toEqual(tokens.map((token, n) => [token, String(n)]));
  });
  it("has no cell that a spreadsheet takes for a formula, whatever separates them", () => {
    const text = csv(
      [["text", "=1"]],
      ["token"],
      tokens.map((token) => [token]),
    );
    for (const separator of [",", ";", "\t", /[\r\n]/])
      for (const cell of text.split(separator)) expect(cell.replace(/^"+/, "")).not.toMatch(/^[=+@-]/);
  });
  it("keeps a fact on one comment line", () => {
    const text = csv([["text", "a\r\nb,c\\n"]], ["x"], [[null]]);
    expect(text.split("\r\n").slice(0, 2)).toEqual(["# text: a\\r\\nb,c\\\\n", expect.stringContaining("# note")]);
    expect(text.endsWith('"x"\r\n\r\n')).toBe(true);
  });
  it("names columns alike, whatever the page calls them", () => {
    const labels = [
      "query_index",
      "b − a",
      "mixing ratio attnresln-n",
      "full: forward contextual",
      "entropy (nats) ‖αf(x)‖",
      "k90 α",
    ];
    const names = [
      "query_index",
      "b_minus_a",
      "mixing_ratio_attnresln_n",
      "full_forward_contextual",
      "entropy_nats_norm",
      "k90_weight",
    ];
    expect(parse(csv([], labels, [])).at(-1)).toEqual(names);
  });
  it("writes float32 shortest and exactly", () => {
    expect(numberText(Math.fround(0.1))).toBe("0.1");
    expect(numberText(0.1)).toBe("0.1");
    expect(numberText(1 / 3)).toBe("0.3333333333333333");
    const small = [6.9766706e-8, 1.0465005e-5, 0].map((value) => numberText(Math.fround(value)));
    expect(small).toEqual(["6.9766706e-8", "0.000010465005", "0"]);
    expect(numberText(16777216)).toBe("16777216");
    expect([Number.NaN, Number.NEGATIVE_INFINITY].map(numberText)).toEqual(["NaN", "-Infinity"]);
    for (let n = 0; n < 2000; n++) {
      const value = Math.fround(Math.exp(40 * Math.sin(n)) * Math.cos(n));
      expect(Math.fround(Number(numberText(value)))).toBe(value);
      expect(numberText(value).replace(/e.*|[-.]|^0\.0*/g, "").length).toBeLessThanOrEqual(17);
    }
  });
});

it("facts name model, texts, what is shown, versions and day", () => {
  const origin = {
    model: "m",
    text: "a",
    text_pair: "",
    changes: [],
    dtype: "float32",
    versions: { bertlens: "0.1.0", torch: "2" },
  };
  expect(captionLines(facts(origin, [["head", "L1·H8"]], new Date("2024-05-06T12:00:00Z")))).toEqual([
    "model: m (float32)",
    "text: a",
    "head: L1·H8",
    "versions: bertlens 0.1.0, torch 2",
    "date: 2024-05-06",
  ]);
});

it("file names hold plain characters whatever the model is called", () => {
  expect(fileName(["bert-base", "L1·H8", "matrix"], "svg")).toBe("bert-base-L1-H8-matrix.svg");
  expect(fileName(["../../etc/<x>", "\u202e"], "csv")).toBe("etc-x.csv");
  expect(fileName(["", "…"], "png")).toBe("bertlens.png");
  expect(fileName(["x".repeat(500)], "png").length).toBe(104);
});
