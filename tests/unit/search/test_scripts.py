"""Collections in scripts without blanks between words, and with marks: words are shared as far as they are."""

from __future__ import annotations

import numpy as np
import pytest

from bertlens.search.bm25 import SAID, bm25
from bertlens.search.collection import Collection
from bertlens.search.failure_rules import RarerWords
from bertlens.search.near_duplicates import near_duplicates

PASSAGES = {
    "zh": ("東京是日本的首都，人口很多。", "貓坐在墊子上睡覺。", "火車從北京開往上海。", "她喜歡在河邊散步。"),
    "ja": ("東京は日本の首都です。", "猫はマットの上で寝ている。", "列車は京都へ行く。", "彼女は川辺を歩く。"),
    "th": ("กรุงเทพเป็นเมืองหลวงของไทย", "แมวนอนอยู่บนเสื่อ", "รถไฟวิ่งไปเชียงใหม่", "เธอชอบเดินริมน้ำ"),
    "hi": ("दिल्ली भारत की राजधानी है", "बिल्ली चटाई पर सोती है", "रेलगाड़ी मुंबई जाती है", "वह नदी के किनारे चलती है"),
    "tr": ("İstanbul büyük bir şehirdir", "Kedi minderde uyur", "Tren Ankara’ya gider", "Nehir kıyısında yürür"),
}
QUERIES = {"zh": "墊子上的貓", "ja": "マットの猫", "th": "แมวบนเสื่อ", "hi": "चटाई पर बिल्ली", "tr": "minderde kedi"}


def collection(language: str) -> Collection:
    ids = ("0", "1", "2", "3")
    return Collection(("q",), (QUERIES[language],), ids, PASSAGES[language], ids, {"q": {"1": 1}})


@pytest.mark.parametrize("language", [*PASSAGES])
def test_a_question_has_its_words_in_the_passage_that_answers_it(language: str) -> None:
    lists = bm25(collection(language))
    assert lists.passages(0)[0] == 1
    words = RarerWords(collection(language), np.array([0]), None)
    assert not words.rules(np.array([0]), np.array([[1]]))["no_word"].any()


@pytest.mark.parametrize("language", ["zh", "th"])
def test_a_sentence_that_is_repeated_in_longer_ones_is_a_near_duplicate(language: str) -> None:
    first, other, *more = PASSAGES[language]
    assert near_duplicates([first], [more[0] + first + more[1]]).toarray().all()
    assert not near_duplicates([first], [more[0] + other + more[1]]).toarray().any()


def test_what_a_word_is_there_is_said() -> None:
    assert "of a script without blanks between words, each two characters side by side" in SAID
