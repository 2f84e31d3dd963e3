"""The words of a text: which token is of which, in every script.

A tokenizer splits a text before it makes pieces, by rules that were made for blanks and Latin letters. Its words hold
here with three exceptions: a word with white space in it is several, a combining mark is of the word of its letter, and
in a script without blanks between words a token is a word. `js/src/engine/wordnumbers.ts` says the same in a page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from ..base.vocabulary.constants import JOINERS, WITHOUT_BLANKS

_SCRIPTS = {script: re.compile(f"[{letters}]") for script, letters in WITHOUT_BLANKS.items()}
_LETTERS = re.compile(f"[{''.join(WITHOUT_BLANKS.values())}]")


def scripts_without_blanks(texts: Iterable[str]) -> list[str]:
    """Names of the scripts without blanks between words that letters of the texts are of."""
    joined = "\n".join(texts)
    return [script for script, pattern in _SCRIPTS.items() if pattern.search(joined)]


def text_words(text: str, offsets: Sequence[tuple[int, int]], numbers: Sequence[int | None]) -> list[int | None]:
    """The word of each token of a text, ascending from the first of `numbers`, those of the tokenizer.

    A token that is white space alone is of the word behind it, as far as the tokenizer has it so.
    """
    words: list[int | None] = []
    ordinal: int | None = None  # as the tokenizer counts, of the token before
    word = end = 0  # of the token before, white space aside
    was_blank = True  # nothing but white space before
    for (start, stop), number in zip(offsets, numbers, strict=True):
        if number is None:
            words.append(None)
            continue
        source = text[start:stop]
        begin = start + len(source) - len(source.lstrip())
        is_blank = not source.strip()
        if ordinal is None:
            word = number
        else:
            step = number - ordinal
            if not was_blank and (is_blank or (begin > end and re.search(r"\s", text[end:begin]))):
                step = max(step, 1)
            elif not was_blank and begin <= end:
                step = _step(text, begin, end, step)
            word += step
        words.append(word)
        ordinal, was_blank = number, is_blank
        end = end if is_blank else max(end, begin + len(source.strip()))
    return words


def _step(text: str, begin: int, end: int, step: int) -> int:
    """From the word of a token that ends at `end` to that of the one that begins there or in it: `step`, 0 or 1."""
    if begin < end:  # two tokens have a letter between them
        return 0
    base = next((letter for letter in reversed(text[:begin]) if not is_mark(letter)), "")
    if is_mark(text[begin]):
        return 0 if base.isalnum() else step
    if _LETTERS.match(text[begin]) or _LETTERS.match(base):
        return max(step, 1)
    return 0 if is_mark(text[begin - 1]) and base.isalpha() and text[begin].isalpha() else step


def is_mark(letter: str) -> bool:
    """Whether a character stands on the one before it, or joins it with the next."""
    return unicodedata.category(letter)[0] == "M" or letter in JOINERS


def with_marks(text: str, offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Offsets of tokens, in order, that take in the combining marks behind them which the tokenizer dropped."""
    spans: list[tuple[int, int]] = []
    behind = len(text)
    for start, end in reversed(offsets):
        while start < end < behind and unicodedata.category(text[end])[0] == "M":
            end += 1
        spans.append((start, end))
        behind = start
    return spans[::-1]


_CLOSES = re.compile(r"[.,;:!?%)\]}’”]")  # stands at the word before
_BLANKS = tuple("ĠĊĉ▁")  # how tokenizers write white space
_BYTES = re.compile("<0x[0-9A-F]{2}>$")  # of a letter


def stands_apart(tokens: Sequence[str], pieces: Sequence[str], special: Sequence[bool], n: int) -> bool:
    """Whether white space stands before the token that begins a word: as its tokenizer writes it, else by rules of
    writing. tokens: as they are displayed, pieces: as the tokenizer writes them. js/src/compute/scripts.ts is the same.
    """
    if special[n] or special[n - 1]:
        return not _CLOSES.match(tokens[n])
    if any(piece.startswith(_BLANKS) for piece, is_special in zip(pieces, special, strict=True) if not is_special):
        return pieces[n].startswith(_BLANKS)
    is_glued = _LETTERS.match(tokens[n]) or _LETTERS.match(tokens[n - 1][-1]) or _BYTES.search(tokens[n - 1])
    return not is_glued and not _CLOSES.match(tokens[n])
