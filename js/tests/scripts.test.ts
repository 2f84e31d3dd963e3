// Words, blanks and places of tokens in several scripts, against the text that they were made of.
import { describe, expect, it } from "vitest";
import { standsApart } from "../src/compute/scripts";
import { scriptsWithoutBlanks, textWords } from "../src/engine/wordnumbers";
import { matches } from "../src/head/find";

const unit = (label: string, n: number) => ({ label, pieces: [n], segment: 0, special: false });

describe("words of a text", () => {
  const always = () => true;
  it("has marks with their letter, and what goes on behind them", () => {
    expect(textWords([0, 1, 2, 3, 4], ["ब", "ि", "ल", "्", "ली"], always)).toEqual([0, 0, 0, 0, 0]);
    expect(textWords([0, 1], [".", "a"], always)).toEqual([0, 1]);
    expect(textWords([0, 1], ["ब", "ि"], () => false)).toEqual([0, 1]);
  });
  it("has tokens as words in a script without blanks, those that share a letter as one", () => {
    expect(textWords([0, 0, 0, 0], ["น", "ั่", "ง", "บน"], always)).toEqual([0, 0, 1, 2]);
    const bytes = ["猫", "<0xE5>", "<0x9D><0x90>", "<0xE5><0x9C>", "<0xA8>", "abc", "d"];
    expect(textWords([0, 0, 0, 0, 0, 0, 0], bytes, always)).toEqual([0, 1, 1, 2, 2, 3, 3]);
  });
  it("names the scripts", () => {
    expect(scriptsWithoutBlanks("แมว 猫")).toEqual(["Chinese characters", "Thai"]);
    expect(scriptsWithoutBlanks("the cat, किताब 고양이 قطة")).toEqual([]);
  });
});

describe("blanks between tokens", () => {
  const line = (tokens: string[], pieces = tokens) =>
    tokens
      .map((token, n) => (n > 0 && standsApart({ tokens, pieces, special: tokens.map(() => 0) }, n) ? " " : "") + token)
      .join("");
  it("stand where the tokenizer writes them, else by rules of writing", () => {
    expect(line(["the", "cat", "'s", "mat"], ["the", "Ġcat", "'s", "Ġmat"])).toBe("the cat's mat");
    expect(line(["the", "cat", "."])).toBe("the cat.");
    expect(line([..."猫坐在上。", "the", "cat"])).toBe("猫坐在上。 the cat");
    expect(line(["猫", "<0xE5><0x9D><0x90>", "<0xE5><0x9C><0xA8>"])).toBe("猫<0xE5><0x9D><0x90><0xE5><0x9C><0xA8>");
  });
});

it("finds a word as the text has it where the tokenizer drops capitals and marks", () => {
  const units = ["nino", "istanbul", "isık", "बिलली", "the"].map(unit);
  expect(matches(units, "niño")).toEqual([0]);
  expect(matches(units, "İstanbul")).toEqual([1]);
  expect(matches(units, "ışık")).toEqual([2]);
  expect(matches(units, "बिल्ली")).toEqual([3]);
  expect(matches(["résumé", "resume"].map(unit), "résumé")).toEqual([0]);
  expect(matches(units, "zebra")).toEqual([]);
});
