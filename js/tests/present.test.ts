// What Present says of a guess, for every measure and every kind of row; and how a text fills a slide.
import { expect, test } from "vitest";
import { fill, LINE } from "../src/head/present/fill";
import { answerText, numberText, questionText, type Row } from "../src/head/present/rowquestion";
import { share, signed, upTo } from "../src/paint/format";

const WORDS = ["cat", "mat", "the", "it", "the"];

/** A row of these numbers; what it does not see is −∞ here. */
function row(numbers: number[], given: Partial<Row> = {}): Row {
  const isSigned = given.kind === "difference";
  const seen = upTo(numbers.length).filter((n) => numbers[n] !== Number.NEGATIVE_INFINITY);
  const values = numbers.map((value) => (value === Number.NEGATIVE_INFINITY ? 0 : value));
  const size = (n: number) => (isSigned ? Math.abs(values[n]!) : values[n]!);
  const top = Math.max(...seen.map(size).filter((one) => !Number.isNaN(one)));
  return {
    kind: "weight",
    about: "",
    at: 3,
    name: "“it”",
    units: WORDS.slice(0, numbers.length).map((label, n) => ({ label, pieces: [n], segment: 0, special: false })),
    values,
    seen,
    best: seen.filter((n) => size(n) === top),
    scale: { digits: 3, signed: isSigned, text: (value) => (isSigned ? signed(value, 3) : share(value)) },
    noun: "word",
    hides: false,
    scaled: false,
    ...given,
  };
}
const HIDDEN = Number.NEGATIVE_INFINITY;

test.each([
  [row([0.1, 0.6, 0.2, 0.1]), 0, "You guessed “cat”: it gets 0.100; the most goes to “mat”: 0.600."],
  [row([0.1, 0.6, 0.2, 0.1]), 1, "You guessed “mat”, and the most goes there: 0.600."],
  [row([0.1, 0.6, 0.2, 0.1]), null, "The most goes to “mat”: 0.600."],
  [row([0.1, 0.1, 0.7, 0, 0.1]), 4, "You guessed “the (4)”: it gets 0.100; the most goes to “the (2)”: 0.700."],
  [row([0.4, 0.4, 0.2]), 2, "You guessed “the”: it gets 0.200; the most goes to “cat” and 1 more: 0.400 each."],
  [row([0.4, 0.4, 0.2]), 1, "You guessed “mat”, and the most goes there: 0.400. 1 more has the same."],
  [row([0.25, 0.25, 0.25, 0.25]), 1, "You guessed “mat”, but the same goes to all 4 words that “it” sees: 0.250 each."],
  [row([0.25, 0.25, 0.25, 0.25]), null, "The same goes to all 4 words that “it” sees: 0.250 each."],
  [row([0.4152, 0.4148, 0.17]), 1, "You guessed “mat”: it gets 0.415; the most goes to “cat”, a little more."],
  [row([0.0002, 0.9, 0.0998]), 0, "You guessed “cat”: it gets less than 0.001; the most goes to “mat”: 0.900."],
  [row([0.3, 0.7, HIDDEN]), 2, "You guessed “the”, which “it” cannot see; the most goes to “mat”: 0.700."],
  [row([1, HIDDEN, HIDDEN]), null, "Of the 3 words shown, “it” sees one, “cat”: 1.000."],
  [row([1]), null, "One word is shown, “cat”: 1.000."],
  [row([0, 0, 0]), 1, "You guessed “mat”, but nothing goes to any of the 3 words here."],
  [row([Number.NaN, Number.NaN], { best: [] }), null, "The row of “it” holds no numbers (NaN)."],
  [row([HIDDEN, HIDDEN]), null, "“it” sees none of the 2 words shown."],
  [
    row([0.1, 0.3, 0.2], { hides: true }),
    1,
    "You guessed “mat”, and the most goes there: 0.300. The words that are hidden do not count.",
  ],
  [
    row([0.2, 0.5, 0.3], { hides: true, scaled: true }),
    null,
    "The most goes to “mat”: 0.500. These are parts of what goes to the words shown.",
  ],
  [
    row([0.1, 2.6, 0.2], { kind: "norm" }),
    0,
    "You guessed “cat”: 0.100 comes from it; the most comes from “mat”: 2.600.",
  ],
  [row([0.1, 2.6, 0.2], { kind: "norm" }), 1, "You guessed “mat”, and the most comes from there: 2.600."],
  [
    row([0.1, -0.3, 0.2], { kind: "difference" }),
    0,
    "You guessed “cat”: the two differ by 0.100 there; the two differ most at “mat”: 0.300, where it takes more than it looks.",
  ],
  [
    row([0.5, -0.3, -0.2], { kind: "difference" }),
    0,
    "You guessed “cat”, and the two differ most there: 0.500, where it looks more than it takes.",
  ],
  [
    row([0.5, -0.5], { kind: "difference" }),
    null,
    "The two differ by the same at both words that “it” sees: 0.500 each.",
  ],
  [
    row([0.5, 1.5, 0.2], { kind: "map", about: "Share of each token." }),
    0,
    "You guessed “cat”: its number is 0.500; the largest is that of “mat”: 1.500.",
  ],
])("what is said of the row, guess %#", (given, guess, says) => {
  expect(answerText(given, guess)).toBe(says);
});

test.each([
  [row([0.1, 0.6, 0.3]), "“it” looks for something. Which word will it find?"],
  [row([0.4, 0.6, HIDDEN]), "“it” looks for something. Which word will it find? It sees 2 of the 3 words shown."],
  [row([1, HIDDEN]), "Of the 2 words shown, “it” sees one: there is nothing to guess."],
  [row([1]), "One word is shown: there is nothing to guess."],
  [
    row([1, 2], { kind: "norm", noun: "patch" }),
    "“it” takes something from the patches it looks at. From which one most of all?",
  ],
  [
    row([1, 2], { kind: "map", about: "Share of each token." }),
    "Share of each token. Which word has the largest number in the row of “it”?",
  ],
])("what is asked, %#", (given, says) => {
  expect(questionText(given)).toBe(says);
});

test("no number that is not 0 reads 0", () => {
  expect(numberText(row([0.1]), 0)).toBe("0.000");
  expect(numberText(row([0.1]), 4e-4)).toBe("less than 0.001");
  expect(numberText(row([0.1]), 6e-4)).toBe("0.001");
});

test("a short text is large, a long one small, and one that is too long comes in parts that leave nothing out", () => {
  const box = { width: 30, height: 10 };
  const short = fill(Array(10).fill(3), new Set(), box);
  const longer = fill(Array(40).fill(3), new Set(), box);
  expect(short.starts).toEqual([0]);
  expect(short.size).toBeGreaterThan(longer.size);
  const long = fill(Array(600).fill(3), new Set([300]), box);
  expect(long.size).toBe(1);
  expect(long.starts[0]).toBe(0);
  const perPart = Math.floor(30 / 3) * Math.floor(10 / LINE);
  long.starts.forEach((start, n) => {
    const end = long.starts[n + 1] ?? 600;
    expect(end).toBeGreaterThan(start);
    expect(end - start).toBeLessThanOrEqual(perPart);
  });
  expect(long.starts.length).toBeLessThanOrEqual(Math.ceil(600 / perPart) + 1);
});

test("a word that is longer than a line takes several, and is a part of its own where it must", () => {
  const { size, starts } = fill([2, 200, 2], new Set(), { width: 30, height: 10 });
  expect(size).toBe(1);
  expect(starts).toEqual([0, 1, 2]);
});
