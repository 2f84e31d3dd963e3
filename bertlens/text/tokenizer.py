"""One call of the tokenizer, whichever kind it is.

Fast tokenizers know offsets and words. Tokenizers in Python know neither: their texts' pieces are found again by value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..base.locks import locked

Text = str | list[str]  # a text, or words already split


class TokenAnnotation(Protocol):
    """What the tokens of a text are: a name for each, and named runs of them as (label, first token, end)."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def spans(self) -> list[tuple[str, int, int]]: ...


@runtime_checkable
class Annotator(Protocol):
    """A tokenizer that knows what its tokens are, such as protein domains of a gene: the views name them so."""

    def annotate(self, text: str, n_tokens: int | None = None) -> TokenAnnotation: ...


@dataclass
class Pieces:
    """What the tokenizer made of one text or pair, one entry per token."""

    input_ids: list[int]
    token_type_ids: list[int] | None
    tokens: list[str]
    sequences: list[int | None]  # 0 or 1 for pieces of the first or second text, None for template tokens
    word_ids: list[int | None] | None  # per text, as the tokenizer counts
    offsets: list[tuple[int, int]] | None


def tokenise(tokenizer: Any, texts: list[Text], max_length: int | None) -> Pieces:
    """Pieces of one text or a pair, cut to `max_length` tokens where given: the longer text first, on `cut_side`."""
    words = isinstance(texts[0], list)
    call = {
        "padding": False,
        "truncation": "longest_first" if max_length else False,
        "max_length": max_length,
        "is_split_into_words": words,
        "verbose": False,
    }
    if not getattr(tokenizer, "is_fast", False):
        return _tokenise_slow(tokenizer, texts, call)
    if words and not _splits_words(tokenizer):
        return _tokenise_joined(tokenizer, texts, call)
    batch = tokenizer(*texts, return_offsets_mapping=True, **call)
    return Pieces(
        batch["input_ids"],
        batch.get("token_type_ids"),
        _names(tokenizer, batch),
        batch.sequence_ids(0),
        batch.word_ids(0),
        batch["offset_mapping"],
    )


def cut_side(tokenizer: Any) -> str:
    """The side on which a tokenizer cuts what is too long, "right" or "left"."""
    side: str = getattr(tokenizer, "truncation_side", "right")
    return side


def _splits_words(tokenizer: Any) -> bool:
    """Byte-level tokenizers made without a leading space glue words together when given split words."""
    pre = tokenizer.backend_tokenizer.pre_tokenizer
    state = json.loads(pre.__getstate__()) if pre is not None else {}
    stages = state.get("pretokenizers", [state])
    return not any(stage.get("type") == "ByteLevel" and not stage.get("add_prefix_space") for stage in stages)


def _tokenise_joined(tokenizer: Any, texts: list[Text], call: dict[str, Any]) -> Pieces:
    """Words joined by single spaces, each piece then given to the word that its last character lies in."""
    call["is_split_into_words"] = False
    batch = tokenizer(*(" ".join(words) for words in texts), return_offsets_mapping=True, **call)
    # per text, per character: (word, index in the word); a space (-1) goes with the word after it
    owners = [[(w, i) for w, word in enumerate(words) for i in range(-1, len(word))][1:] for words in texts]
    word_ids: list[int | None] = []
    offsets = []
    for sequence, (start, end) in zip(batch.sequence_ids(0), batch["offset_mapping"], strict=True):
        if sequence is None:
            word_ids.append(None)
            offsets.append((0, 0))
            continue
        at = max(0, end - 1)  # not start: a piece of white space is trimmed to nothing, behind itself
        word, index = owners[sequence][at]
        word_ids.append(word)
        offsets.append((max(0, index - (at - start)), index + 1))
    return Pieces(
        batch["input_ids"],
        batch.get("token_type_ids"),
        _names(tokenizer, batch),
        batch.sequence_ids(0),
        word_ids,
        offsets,
    )


def _names(tokenizer: Any, batch: Any) -> list[str]:
    """As the vocabulary has them, without the white space beside it that a <mask> takes in."""
    names = tokenizer.convert_ids_to_tokens(batch["input_ids"])
    return [name if piece.strip() == name else piece for piece, name in zip(batch.tokens(), names, strict=True)]


def _tokenise_slow(tokenizer: Any, texts: list[Text], call: dict[str, Any]) -> Pieces:
    """Tokenizers in Python know no offsets and no words; the texts' pieces are found again among the template's."""
    batch = tokenizer(*(text if text or isinstance(text, str) else [""] for text in texts), **call)
    ids = list(batch["input_ids"])
    sequences: list[int | None] = [None] * len(ids)
    word_ids: list[int | None] | None = [None] * len(ids) if call["is_split_into_words"] else None
    # What is left of a text that was cut is its beginning, or, cut on the left, its end: then all is read backwards.
    step = -1 if cut_side(tokenizer) == "left" else 1
    places = range(len(ids))[::step]
    start = 0
    for number, text in list(enumerate(texts))[::step]:
        chunks = [tokenizer.tokenize(chunk) for chunk in ([text] if isinstance(text, str) else text)]
        text_ids = tokenizer.convert_tokens_to_ids([piece for chunk in chunks for piece in chunk])[::step]
        owner = [w for w, chunk in enumerate(chunks) for _ in chunk][::step]
        start, length = _find(ids[::step], text_ids, start)
        for i in range(length):
            sequences[places[start + i]] = number
            if word_ids is not None:
                word_ids[places[start + i]] = owner[i]
        start += length
    return Pieces(ids, batch.get("token_type_ids"), tokenizer.convert_ids_to_tokens(ids), sequences, word_ids, None)


def _find(ids: list[int], text_ids: list[int], start: int) -> tuple[int, int]:
    """Where the longest beginning of `text_ids` stands in `ids` at or after `start`: (position, length)."""
    best = (start, 0)
    for position in range(start, len(ids)):
        length = 0
        while length < len(text_ids) and position + length < len(ids) and ids[position + length] == text_ids[length]:
            length += 1
        if length > best[1]:
            best = (position, length)
    return best


@contextmanager
def resting_state(tokenizer: Any) -> Iterator[dict[str, Any]]:
    """Yields the padding and truncation stored in a fast tokenizer, and stores them again afterwards.

    One thread at a time: another one that came in the middle would take what is set for a moment for the stored state.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None) if getattr(tokenizer, "is_fast", False) else None
    if backend is None:
        yield {}
        return
    with locked([tokenizer]):
        padding, truncation = backend.padding, backend.truncation
        try:
            yield {name: value for name, value in (("padding", padding), ("truncation", truncation)) if value}
        finally:
            if padding:
                backend.enable_padding(**padding)
            else:
                backend.no_padding()
            if truncation:
                backend.enable_truncation(**truncation)
            else:
                backend.no_truncation()
