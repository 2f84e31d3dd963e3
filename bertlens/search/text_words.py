"""The words of a text as a model read it: their tokens, and which of them are one word that stands several times."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.ranking import ranked
from ..base.vocabulary import phrases
from ..errors import InputError, SelectionError, excerpt
from ..text.display import BLANK
from ..text.encoding import check_text
from ..text.tokenizer import normalised

TEXTS = ("query", "wrong", "right")


def key_of(name: str) -> str:
    """What two occurrences of a word have in common: its letters and digits, case folded as Unicode does; "" of a mark.
    `keyOf` of js/src/search/live/reading.ts is the same, tests/wire/word_keys.json the cases of both."""
    return name.casefold().strip(f"▁Ġ{BLANK} ") if any(letter.isalnum() for letter in name) else ""


@dataclass(frozen=True)
class TextWords:
    """Rows of a list: each word of a text, each token of a template or a prompt, and last biases, if there are some."""

    names: tuple[str, ...]  # as written; "bias" of biases
    units: tuple[tuple[int, ...], ...]  # the tokens of each; none of biases
    keys: tuple[str, ...]  # see `key_of`; "" too of what is no word of the text

    @classmethod
    def of(
        cls, names: Sequence[str], units: Sequence[Sequence[int]], is_of_text: Sequence[bool], biased: bool
    ) -> TextWords:
        """names, units, is_of_text: of each word; biased: whether a row of biases stands behind them."""
        names = [name.removeprefix(BLANK) or name for name in names]  # a token of its own before many a word
        keys = [key_of(name) if own else "" for name, own in zip(names, is_of_text, strict=True)]
        last: tuple[tuple[str, ...], ...] = (("bias",), (), ("",)) if biased else ((), (), ())
        spans = tuple(map(tuple, units))
        return cls((*names, *last[0]), (*spans, ()) if biased else spans, (*keys, *last[2]))

    @property
    def places(self) -> list[int]:
        """The first token of each, −1 of biases."""
        return [unit[0] if unit else -1 for unit in self.units]

    @property
    def by_key(self) -> dict[str, list[int]]:
        """The rows of each word of the text, in the order in which the words come."""
        rows: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            if key:
                rows.setdefault(key, []).append(row)
        return rows

    def key(self, word: str, tokenizer: Any) -> str:
        """The key of a word as somebody writes it: as it stands, as the tokenizer's normaliser has it (which may strip
        accents), or with its accents put together otherwise; "" of a word that the text has not."""
        by_key, writings = self.by_key, [word, normalised(tokenizer, word)]
        if key := next((key for key in map(key_of, writings) if key in by_key), ""):
            return key
        composed = unicodedata.normalize("NFC", key_of(word))
        return next((key for key in by_key if unicodedata.normalize("NFC", key) == composed), "")

    def tokens(self, key: str) -> list[int]:
        """The tokens of a word, wherever it stands."""
        return [at for row in self.by_key[key] for at in self.units[row]]

    def sums(self, parts: np.ndarray) -> dict[str, float]:
        """What each word puts in wherever it stands, of parts (rows,)."""
        return {key: float(parts[rows].sum()) for key, rows in self.by_key.items()}


def signed(numbers: Sequence[float]) -> list[str]:
    """Numbers with their signs, and with the decimals that tell them from 0."""
    texts = [ranked([number])[0] for number in numbers]
    return [
        f"+{text}" if number > 0 and text[0].isdigit() else text for number, text in zip(numbers, texts, strict=True)
    ]


def subject(text: str) -> str:
    """What a sentence calls a text."""
    return {"query": "The question", "wrong": "The wrong passage", "right": "The right passage"}[text]


def unknown_notes(count: int, text: str) -> list[str]:
    """A sentence on tokens of a text that have no entry in the vocabulary, where there are some."""
    if not count:
        return []
    tokens = "1 token is" if count == 1 else f"{count} tokens are"
    return [phrases.UNKNOWN_IN.format(subject=subject(text), tokens=tokens)]


def check_three(texts: Sequence[str]) -> None:
    """Raises InputError for anything else than texts as a question, a wrong and a right passage."""
    for text, name in zip(texts, TEXTS, strict=True):
        if not isinstance(text, str):
            raise InputError(f"{name} is a string, not {type(text).__name__}: a contrast is of three texts")
        check_text(text, name)


def check_text_name(text: str) -> str:
    if text not in TEXTS:
        raise SelectionError(f"no text {excerpt(text)}: there are {', '.join(map(repr, TEXTS))}")
    return text
