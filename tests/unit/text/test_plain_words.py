"""Words as they are counted: the same in every way of writing a letter, in every script."""

from __future__ import annotations

import unicodedata

import pytest

from bertlens.text.plain_words import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat’s 3 hats, 1,400 of them.", ["the", "cat’s", "3", "hats", "1", "400", "of", "them"]),
        ("किसी हिन्दी में", ["किसी", "हिन्दी", "में"]),  # vowel signs and virama are marks, no letters
        ("İstanbul’da ISPARTA", ["istanbul’da", "isparta"]),  # a small İ is two characters
        ("مَدْرَسَة في", ["مَدْرَسَة", "في"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),  # one word of two halves that do not join
        ("בְּרֵאשִׁית צה״ל צ׳יפס", ["בְּרֵאשִׁית", "צה״ל", "צ׳יפס"]),
        ("서울은 수도", ["서울은", "수도"]),
        ("東京都は首都。", ["東京", "京都", "都は", "は首", "首都"]),
        ("大，小", ["大", "小"]),
        ("在BERT里看2层", ["在", "bert", "里看", "2", "层"]),
        ("ｶﾞｯｺｳ", ["ガッ", "ッコ", "コウ"]),  # half-width kana are kana
        ("ไปที่บ้าน", ["ไป", "ปที่", "ที่บ้", "บ้า", "าน"]),  # marks are of their letter
        ("👍🏽 👩‍🚀 !?", []),
        ("\u0301a", ["a"]),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    normal = [unicodedata.normalize("NFC", word) for word in words]
    assert words_of(text) == normal
    for form in ("NFD", "NFC"):
        assert words_of(unicodedata.normalize(form, text)) == normal


def test_full_width_and_ligatures_are_the_same_letters() -> None:
    assert words_of("ＢＥＲＴ ﬁne") == words_of("bert fine") == ["bert", "fine"]
