// Words of a run in the text as it was typed.
import { expect, it } from "vitest";
import { units } from "../src/compute/grid";
import { movedPlaces, placesOf } from "../src/front/sentence/wordplaces";

const unitsOf = (tokens: string[]) => {
  const special = tokens.map((token) => Number(/^\[(CLS|SEP|MASK|UNK)\]$/.test(token)));
  let word = -1;
  const words = tokens.map((token, n) => (special[n] ? -1 : token.startsWith("##") ? word : ++word));
  return units({ tokens, words, segments: tokens.map(() => 0), special, continuation: "##" }, true);
};
const wordsIn = (text: string, tokens: string[]) =>
  placesOf(text, unitsOf(tokens)).map((place) => place && text.slice(place.start, place.end));

it("words have the text's own letters, whatever the tokenizer made of them", () => {
  expect(
    wordsIn("The  Café wasn't [MASK].", ["[CLS]", "the", "cafe", "wasn", "'", "t", "[MASK]", ".", "[SEP]"]),
  ).toEqual([null, "The", "Café", "wasn", "'", "t", "[MASK]", ".", null]);
  expect(
    wordsIn("unbelievable 猫が好き", ["[CLS]", "un", "##believ", "##able", "猫", "か", "好", "き", "[SEP]"]),
  ).toEqual([null, "unbelievable", "猫", "が", "好", "き", null]);
  expect(wordsIn("القطة نامت", ["[CLS]", "القطة", "نامت", "[SEP]"])).toEqual([null, "القطة", "نامت", null]);
});

it("an unknown word has what stands between its neighbours, a text that was cut leaves its rest", () => {
  expect(wordsIn("the 🜚 sat ⌘ ", ["[CLS]", "the", "[UNK]", "sat", "[UNK]", "[SEP]"])).toEqual([
    ...[null, "the", "🜚", "sat", "⌘", null],
  ]);
  expect(wordsIn("the cat sat down", ["[CLS]", "the", "cat", "[SEP]"])).toEqual([null, "the", "cat", null]);
});

it("what comes after many unknown letters has its place", () => {
  const thai = "แมวไม่ดื่มนมเพราะว่ามันเหนื่อยมากแล้ว";
  expect(wordsIn(`The ${thai} cat sat.`, ["[CLS]", "the", "[UNK]", "cat", "sat", ".", "[SEP]"])).toEqual([
    ...[null, "The", thai, "cat", "sat", ".", null],
  ]);
  const kanji = [..."猫牛乳飲疲寝起犬魚鳥虫木林森川山海空雲雨雪風火水土金"];
  expect(wordsIn(`${kanji.join("")} cat`, [...kanji.map(() => "[UNK]"), "cat"])).toEqual([...kanji, "cat"]);
});

it("unknown words and marks have theirs, one by one", () => {
  expect(wordsIn("the ก, ข; ⌘! sat", ["the", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "sat"])).toEqual([
    ...["the", "ก", ",", "ข", ";", "⌘", "!", "sat"],
  ]);
  expect(wordsIn("the 🜚-⌘ sat", ["the", "[UNK]", "sat"])).toEqual(["the", "🜚-⌘", "sat"]); // one of all
  const count = 8192;
  const places = placesOf("ก ".repeat(count), unitsOf(Array.from({ length: count }, () => "[UNK]")));
  expect(places.map((place) => place?.start)).toEqual(Array.from({ length: count }, (_, n) => 2 * n));
});

it("words stay where the text is changed beside them, and grow with letters typed in them", () => {
  const text = "the cat was tired.";
  const tokens = ["the", "cat", "was", "tired", "."];
  const after = (to: string) =>
    movedPlaces(placesOf(text, unitsOf(tokens)), text, to).map((place) => place && to.slice(place.start, place.end));
  expect(after(text)).toEqual(tokens);
  expect(after("the old cat was tired.")).toEqual(tokens);
  expect(after("the cats was tired.")).toEqual(["the", "cats", "was", "tired", "."]);
  expect(after("the cat was sour.")).toEqual(["the", "cat", "was", "sour", "."]);
  expect(after("the cat was")).toEqual(["the", "cat", "was", null, null]);
  expect(after("")).toEqual([null, null, null, null, null]);
});
