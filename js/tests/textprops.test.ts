// The language of a text on the screen: by its script where that has one language, or as a view was told.

import { describe, expect, it } from "vitest";
import { languageOf, tell, textProps } from "../src/paint/textprops";
import { decodeOverview } from "../src/state/overview";
import { overviewOf } from "./fake";

describe("the language of a text", () => {
  it.each([
    ["สุนัขนอนบนโซฟา", "th"],
    ["소파에서 개가 잔다.", "ko"],
    ["Ο σκύλος κοιμάται.", "el"],
    ["Շունը քնած է։", "hy"],
    ["ძაღლს სძინავს.", "ka"],
    ["நாய் தூங்குகிறது.", "ta"],
    ["కుక్క నిద్రపోతోంది.", "te"],
    ["ನಾಯಿ ಮಲಗಿದೆ.", "kn"],
    ["നായ ഉറങ്ങുന്നു.", "ml"],
    ["કૂતરો ઊંઘે છે.", "gu"],
    ["ਕੁੱਤਾ ਸੌਂਦਾ ਹੈ।", "pa"],
    ["බල්ලා නිදාගෙන.", "si"],
    ["ឆ្កែកំពុងដេក។", "km"],
    ["ໝານອນຢູ່.", "lo"],
    ["犬はソファーで寝ている。", "ja"],
    ["ฉันใช้ BERT ทุกวัน", "th"], // most of its letters
  ])("%s: its script says it", (text, tag) => expect(languageOf(text)).toBe(tag));

  it.each([
    ["The dog sleeps.", "ltr"],
    ["Der Hund schläft.", "ltr"],
    ["Собака спит.", "ltr"],
    ["القطة تنام.", "rtl"], // also Persian, Urdu
    ["बिल्ली सोती है।", "ltr"], // also Marathi, Nepali
    ["狗在沙发上睡觉。", "ltr"],
    ["The word 개 means dog, α is a weight.", "ltr"],
    ["", "ltr"],
    ["12 %", "ltr"],
    ["constructor", "ltr"],
  ])("%s: nothing says it", (text, dir) => expect(textProps(text)).toEqual({ lang: "", dir }));

  it("is what a view was told, of that text alone", () => {
    decodeOverview(overviewOf(["a"], { languages: { "Der Hund bellt.": "de" } }));
    decodeOverview(overviewOf(["a"]));
    tell({ "نام القط.": "ar" });
    expect(textProps("Der Hund bellt.")).toEqual({ lang: "de", dir: "ltr" });
    expect(textProps("نام القط.")).toEqual({ lang: "ar", dir: "rtl" });
    expect(languageOf("Der Hund bellt")).toBe("");
  });
});
