"""How finely a tokenizer cuts a text: pieces a word, characters a piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .plain_words import words_of
from .tokenizer import resting_state
from .word_numbers import is_mark, scripts_without_blanks

MANY = 2  # pieces a word: a text in more is in small pieces
FEW = 2  # characters a piece: a text in fewer is
_BATCH = 1000


@dataclass(frozen=True)
class Fertility:
    """Of one text, or of several together (`+`)."""

    pieces: int  # tokens with a letter or a digit of the text; marks and blanks by themselves are none
    words: int | None  # see `words_of`; None with letters of a script without blanks: nothing says what a word is there
    characters: int  # letters, the marks on them, and digits

    def __add__(self, other: Fertility) -> Fertility:
        words = None if self.words is None or other.words is None else self.words + other.words
        return Fertility(self.pieces + other.pieces, words, self.characters + other.characters)

    @property
    def pieces_a_word(self) -> float:
        """1 where every word is whole; NaN where no word is known (Ács 2019, "subword fertility")."""
        return self.pieces / self.words if self.words else float("nan")

    @property
    def characters_a_piece(self) -> float:
        """Known in every script; NaN where there is no piece."""
        return self.characters / self.pieces if self.pieces else float("nan")


def fertility(tokenizer: Any, texts: Sequence[str]) -> list[Fertility]:
    """In how many pieces a tokenizer cuts each text: special tokens, prompts and the model's limit left out.

    Words and characters are those of the text as it is written: a word that the tokenizer does not know is one piece.
    """
    counts: list[Fertility] = []
    with resting_state(tokenizer):
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            for text, pieces in zip(batch, _pieces(tokenizer, batch), strict=True):
                words = None if scripts_without_blanks([text]) else len(words_of(text))
                counts.append(Fertility(sum(map(_has_letter, pieces)), words, sum(map(_is_written, text))))
    return counts


def finely_cut(texts: Sequence[Fertility]) -> list[tuple[str, np.ndarray]]:
    """(name, (n,) bool) of texts in many pieces a word, and of those in pieces of few characters."""
    return [
        (f"in more than {MANY} pieces a word", np.array([text.pieces_a_word > MANY for text in texts])),
        (f"in pieces of fewer than {FEW} characters", np.array([text.characters_a_piece < FEW for text in texts])),
    ]


def _pieces(tokenizer: Any, texts: list[str]) -> list[list[str]]:
    """Of each text, as it has them; of a tokenizer in Python, which does not tell, as the tokenizer writes them."""
    if not getattr(tokenizer, "is_fast", False):
        return [tokenizer.tokenize(text) for text in texts]
    batch = tokenizer(texts, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
    spans = zip(texts, batch["offset_mapping"], strict=True)
    return [[text[start:end] for start, end in of_text] for text, of_text in spans]


def _has_letter(piece: str) -> bool:
    return piece.isalnum() or any(map(_is_written, piece))


def _is_written(character: str) -> bool:
    """Whether it is of a word: a letter, a digit, or a mark on one."""
    return character.isalnum() or is_mark(character)
