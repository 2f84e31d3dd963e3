"""Pieces a word and characters a piece: counted by hand, and letter by letter in nine languages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bertlens.text import Fertility, fertility, finely_cut
from bertlens.text.encoding import encode
from unit import tiny
from unit.nine_languages import KINDS, OTHERS, SENTENCES, tokenizer_of


def test_counted_by_hand() -> None:
    tokenizer: Any = tiny.wordpiece()
    known = next(word for word in tiny.WORDS if word.isalpha() and len(word) > 2)
    [one, none, marks, unknown] = fertility(tokenizer, [f"{known}, {known}!", "", "?!", "zzqx"])
    assert one == Fertility(2, 2, 2 * len(known))
    assert (one.pieces_a_word, one.characters_a_piece) == (1, len(known))
    assert none == marks == Fertility(0, 0, 0)
    assert math.isnan(none.pieces_a_word) and math.isnan(none.characters_a_piece)
    assert unknown.words == 1 and unknown.characters == 4
    assert one + unknown == Fertility(2 + unknown.pieces, 3, 2 * len(known) + 4)
    assert (one + Fertility(3, None, 5)).words is None


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_it_is_what_a_walk_along_the_letters_counts(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    texts = [text for _, text in SENTENCES.values()]
    for language, text, cut in zip(SENTENCES, texts, fertility(tokenizer, texts), strict=True):
        encoding = encode(tokenizer, text, limit=None)
        marks = ".,;:!?¿¡。،؟।'’\"()-"
        if encoding.offsets is not None:
            spans = [span for span in encoding.offsets if span is not None]
            assert cut.pieces == sum(text[start:end].strip(marks + " ▁") != "" for start, end in spans), language
        assert cut.characters == len("".join(letter for letter in text if letter not in marks + " ")), language
        if language in ("th", "zh"):
            assert cut.words is None and math.isnan(cut.pieces_a_word)
        else:
            assert cut.words == len(text.split()) and cut.pieces_a_word == cut.pieces / len(text.split())


def test_finely_cut_are_texts_above_two_and_below_two() -> None:
    texts = [Fertility(5, 2, 20), Fertility(4, 2, 8), Fertility(5, None, 9), Fertility(0, 0, 0)]
    many, few = finely_cut(texts)
    assert many[0] == "in more than 2 pieces a word" and many[1].tolist() == [True, False, False, False]
    assert few[0] == "in pieces of fewer than 2 characters" and few[1].tolist() == [False, False, True, False]
    assert many[1].dtype == few[1].dtype == np.bool_


def test_the_tokenizer_is_left_as_it_was_set() -> None:
    tokenizer: Any = tiny.wordpiece()
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    before = tokenizer.backend_tokenizer.to_str()
    [cut] = fertility(tokenizer, ["a b c d e f g h"])
    assert (cut.pieces, tokenizer.backend_tokenizer.to_str()) == (8, before)
