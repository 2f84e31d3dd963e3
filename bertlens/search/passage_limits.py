"""How much of a passage a model reads: its tokenizer cuts what is longer than the limit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..sentences.encoders import SentenceLens
from ..text.tokenizer import cut_side, resting_state

DOCUMENT = "document"


class PassageLimit:
    """What a model reads of passages: a prompt before each, a question beside each where it reads both as one input."""

    def __init__(self, lens: SentenceLens):
        encoder = lens.sentences
        self._tokenizer, self.crosses = lens.tokenizer, encoder.crosses
        self._prompt = "" if self.crosses else encoder.prompt(DOCUMENT, None)
        module: Any = getattr(encoder, "module", None)
        limits = [
            encoder.limit,
            None if module is None or self.crosses else getattr(module[0], "document_length", None),
        ]
        self._tokens: dict[str, list[tuple[int, int]]] = {}
        self._limit = min((limit for limit in limits if limit is not None), default=None)

    def room(self, query: str) -> int | None:
        """The most tokens of a passage, its prompt among them, that are read for a question; None without a limit.

        Of a pair that is too long, the longer text is cut first.
        """
        if self._limit is None:
            return None
        space = self._limit - self._tokenizer.num_special_tokens_to_add(pair=self.crosses)
        return max(space - len(self._spans(query)), space // 2) if self.crosses else space

    def excerpts(self, texts: Sequence[str], room: int | None) -> list[str]:
        """What is read of each text: all, or what stands in its first `room` tokens; its last, where so it is cut."""
        return [
            text if room is None or _fits(self._prompt + text, room) else self._excerpt(text, room) for text in texts
        ]

    def _excerpt(self, text: str, room: int) -> str:
        if text not in self._tokens:
            self._tokens[text] = self._spans(self._prompt + text)
        spans = self._tokens[text]
        if len(spans) <= room:
            return text
        shift = len(self._prompt)
        if cut_side(self._tokenizer) == "left":
            return text[max(0, spans[-room][0] - shift) :] if room else ""
        return text[: max(0, spans[room - 1][1] - shift)] if room else ""

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """The characters of each token of a text; where a tokenizer does not tell them, those of its word."""
        tokenizer = self._tokenizer
        with resting_state(tokenizer):
            if getattr(tokenizer, "is_fast", False):
                call = {"add_special_tokens": False, "truncation": False, "padding": False, "verbose": False}
                return tokenizer(text, return_offsets_mapping=True, **call)["offset_mapping"]
            words = re.finditer(r"\S+", text)
            return [word.span() for word in words for _ in tokenizer.tokenize(word.group())]


def _fits(text: str, room: int) -> bool:
    """Whether a text has at most so many tokens for certain: none is shorter than a byte."""
    return len(text.encode()) <= room
