"""What can be hidden of an example: each word, two words side by side, a piece in its place in words, a word in one
place of the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from ...text.encoding import Encoding

WORD, PAIR, PIECE, PLACE, ORDER = "word", "pair", "piece", "place", "order"
SIDES = ("", "first text", "second text")
_BYTES = re.compile("<0x[0-9A-Fa-f]{2}>")
Tokens: TypeAlias = tuple[int, ...]


class Feature(NamedTuple):
    """What is hidden, wherever an example holds it."""

    kind: str
    words: tuple[str, ...]  # as they are read: in one way of writing, without case; of a piece, it
    side: int = 0  # of pairs 1 or 2: which text
    place: str = ""

    @property
    def name(self) -> str:
        """As tables and sentences call it."""
        if self.kind == ORDER:
            return f"{self.words[0]} before {self.words[1]}"
        return " ".join([*self.words, *filter(None, [self.place and f"({self.place})"])])


class TextWord(NamedTuple):
    """One word of an example: its letters, its tokens, which text it is of, and the how manieth of how many."""

    name: str
    tokens: Tokens
    side: int
    at: int
    of: int


def words_in(encoding: Encoding, is_pair: bool) -> list[TextWord]:
    """The words of an example in order; template tokens are none."""
    groups: dict[int, list[int]] = {}
    for token, word in enumerate(encoding.word_ids):
        if word is not None:
            groups.setdefault(word, []).append(token)
    matches = [(_letters(encoding, word, tokens), tuple(tokens), encoding.segments[tokens[0]] + 1 if is_pair else 0)
             for word, tokens in groups.items()]  # fmt: skip
    words: list[TextWord] = []
    for side in sorted({side for _, _, side in matches}):
        sample = [(name, tokens) for name, tokens, word_side in matches if word_side == side]
        words += [TextWord(name, tokens, side, at, len(sample)) for at, (name, tokens) in enumerate(sample)]
    return words


def _letters(encoding: Encoding, word: int, tokens: list[int]) -> str:
    side = encoding.segments[tokens[0]]
    text = (encoding.text, encoding.text_pair)[side] or ""
    spans = [encoding.offsets[token] for token in tokens] if encoding.offsets else []
    if encoding.words is not None and side == 0 and word < len(encoding.words[0]):
        letters = encoding.words[0][word]
    elif spans and None not in spans:
        letters = text[min(span[0] for span in spans if span) : max(span[1] for span in spans if span)]
    else:
        mark = encoding.continuation
        letters = "".join(encoding.display_tokens[token].removeprefix(mark) for token in tokens)
    return written(letters) or "".join(encoding.display_tokens[token] for token in tokens)


def written(word: str) -> str:
    """A word in one way of writing, without case."""
    return unicodedata.normalize("NFKC", word).casefold().strip()


def places(word: TextWord) -> Iterator[str]:
    """Where in its text a word stands: the first or last one, and in which third."""
    if word.at == 0:
        yield "first word"
    if word.at == word.of - 1:
        yield "last word"
    if word.of >= 3:
        yield ("first third", "middle third", "last third")[3 * word.at // word.of]


def features_of(encoding: Encoding, is_pair: bool) -> dict[Feature, Tokens]:
    """Each part of an example with all its tokens, in order."""
    features: dict[Feature, set[int]] = {}

    def add(feature: Feature, tokens: Iterable[int]) -> None:
        features.setdefault(feature, set()).update(tokens)

    words = words_in(encoding, is_pair)
    for word, behind in zip(words, [*words[1:], None], strict=True):
        add(Feature(WORD, (word.name,), word.side), word.tokens)
        for place in places(word):
            add(Feature(PLACE, (word.name,), word.side, place), word.tokens)
        if behind is not None and behind.side == word.side:
            add(Feature(PAIR, (word.name, behind.name), word.side), (*word.tokens, *behind.tokens))
        for piece, token in enumerate(word.tokens if len(word.tokens) > 1 else ()):
            if _BYTES.search(encoding.display_tokens[token]):  # of a letter, which says nothing alone
                continue
            letters = written(encoding.display_tokens[token].removeprefix(encoding.continuation))
            begins, ends = "…" * (piece > 0), "…" * (piece < len(word.tokens) - 1)
            add(Feature(PIECE, (f"{begins}{letters}{ends}",), word.side), (token,))
    return {feature: tuple(sorted(tokens)) for feature, tokens in features.items()}
