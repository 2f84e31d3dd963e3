"""The texts of a contrast as a page draws them: as written, each word with its row of the split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...measures.words import grouped
from ...text.display import BLANK, word_of
from ...text.encoding import encode
from ..text_words import TextWords, key_of

NO_ROW = -1  # of what stands between words


@dataclass(frozen=True)
class WordSpan:
    """A word of a text, with where it stands there."""

    name: str
    start: int
    end: int


def pieces_of(tokenizer: Any, text: str, words: TextWords) -> list[tuple[str, int]]:
    """A text in pieces, which together are the text, each with its row of `words`, NO_ROW where it has none.

    What a model has not read has no row either: it stands before or behind all others. Where a tokenizer does not say
    where its words stand, the names of the rows, with blanks between.
    """
    keyed = [row for row, key in enumerate(words.keys) if key]
    spans = _spans(tokenizer, text)
    if not keyed:
        return [(text, NO_ROW)] if text else []
    if spans is None:
        return [piece for row in keyed for piece in ((words.names[row], row), (" ", NO_ROW))]
    pieces, end = [], 0
    for span, row in _aligned(words, keyed, spans):
        pieces += [(text[end : span.start], NO_ROW)] if span.start > end else []
        pieces.append((text[span.start : span.end], row))
        end = span.end
    return pieces + ([(text[end:], NO_ROW)] if end < len(text) else [])


def _spans(tokenizer: Any, text: str) -> list[WordSpan] | None:
    """The words of a whole text, marks among them; None where the tokenizer does not tell."""
    encoding = encode(tokenizer, text, limit=None)
    if encoding.offsets is None:
        return None
    spans = []
    for unit in grouped(encoding.word_ids):
        start, end = encoding.offsets[unit[0]], encoding.offsets[unit[-1]]
        if start is not None and end is not None and not encoding.special[unit[0]]:
            name = word_of((encoding.display_tokens[at] for at in unit), encoding.continuation)
            spans.append(WordSpan(name, start[0], end[1]))
    return spans


def _aligned(words: TextWords, own: list[int], spans: list[WordSpan]) -> list[tuple[WordSpan, int]]:
    """Each word that was read with its row: of a text that was cut at its end, at its beginning, or not at all."""
    keyed = [at for at, span in enumerate(spans) if key_of(span.name)]
    if not keyed:
        return []
    rows = range(own[0], own[-1] + 1)
    for shift in (keyed[0] - own[0], keyed[-1] - own[-1]):
        places = [(row + shift, row) for row in rows]
        if all(0 <= at < len(spans) and _is_same(spans[at].name, words.names[row]) for at, row in places):
            return [(spans[at], row) for at, row in places]
    return [(spans[at], row) for at, row in zip(keyed, own, strict=False)]  # another split of the same words


def _is_same(name: str, read: str) -> bool:
    """Whether a word is what a row has of it: the cut may go through a word."""
    plain, stem = (text.replace(BLANK, "").strip("▁Ġ ").casefold() for text in (name, read))
    return plain.startswith(stem) or plain.endswith(stem)
