"""One call of the tokenizer, whichever kind it is.

Fast tokenizers know offsets and words. Tokenizers in Python know neither: their texts' pieces are found again by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from ..base.locks import locked
from ..errors import InputError
from .word_numbers import with_marks

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


def normalised(tokenizer: Any, text: str) -> str:
    """A text as the tokenizer's own normaliser has it, which may fold case and strip accents; as it is without one."""
    normaliser = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
    return text if normaliser is None else str(normaliser.normalize_str(text))


def tokenise(tokenizer: Any, texts: list[Text], max_length: int | None) -> Pieces:
    """Pieces of one text or a pair, cut to `max_length` tokens where given: the longer text first, on `cut_side`.

    Words are read as the text that they are with a blank between two, whatever the tokenizer does with split words.
    """
    call = {
        "padding": False,
        "truncation": "longest_first" if max_length else False,
        "max_length": max_length,
        "verbose": False,
    }
    if not getattr(tokenizer, "is_fast", False):
        return _tokenise_slow(tokenizer, texts, call)
    batch = tokenizer(*map(_running, texts), return_offsets_mapping=True, **call)
    sequences, offsets = batch.sequence_ids(0), list(batch["offset_mapping"])
    for number, text in enumerate(texts):
        places = [at for at, sequence in enumerate(sequences) if sequence == number]
        for at, span in zip(places, with_marks(_running(text), [offsets[at] for at in places]), strict=True):
            offsets[at] = span
    names = _names(tokenizer, batch)
    pieces = Pieces(batch["input_ids"], batch.get("token_type_ids"), names, sequences, batch.word_ids(0), offsets)
    return pieces if isinstance(texts[0], str) else _of_words(pieces, texts)


def blank_stays(tokenizer: Any, mark: str) -> bool:
    """Whether a blank before a mark in a text, such as the mask, is a token of its own: by the number of tokens."""
    with resting_state(tokenizer):
        beside, apart = (len(tokenise(tokenizer, [f"a{blank}{mark}"], None).input_ids) for blank in ("", " "))
    return apart > beside


def _running(text: Text) -> str:
    return text if isinstance(text, str) else " ".join(text)


def cut_side(tokenizer: Any) -> str:
    """The side on which a tokenizer cuts what is too long, "right" or "left"."""
    return getattr(tokenizer, "truncation_side", "right")


def _of_words(pieces: Pieces, texts: list[Text]) -> Pieces:
    """Each piece given to the word that its last character is in, blanks between words aside; offsets in that word."""
    # per text, per character: (word, index in the word); a blank (-1) goes with the word after it
    owners = [[(w, i) for w, word in enumerate(words) for i in range(-1, len(word))][1:] for words in texts]
    word_ids: list[int | None] = []
    offsets = []
    for sequence, (start, end) in zip(pieces.sequences, pieces.offsets or [], strict=True):
        if sequence is None:
            word_ids.append(None)
            offsets.append((0, 0))
            continue
        # from the end: a piece of white space may be trimmed to nothing, behind itself
        at = next((at for at in reversed(range(start, end)) if owners[sequence][at][1] >= 0), max(0, end - 1))
        word, index = owners[sequence][at]
        word_ids.append(word)
        offsets.append((max(0, index - (at - start)), index + 1))
    return replace(pieces, word_ids=word_ids, offsets=offsets)


def _names(tokenizer: Any, batch: Any) -> list[str]:
    """As the vocabulary has them, without the white space beside it that a <mask> takes in."""
    names = tokenizer.convert_ids_to_tokens(batch["input_ids"])
    return [name if piece.strip() == name else piece for piece, name in zip(batch.tokens(), names, strict=True)]


def _tokenise_slow(tokenizer: Any, texts: list[Text], call: dict[str, Any]) -> Pieces:
    """Tokenizers in Python know no offsets and no words; the texts' pieces are found again among the template's."""
    batch = tokenizer(*map(_running, texts), **call)
    ids = list(batch["input_ids"])
    sequences: list[int | None] = [None] * len(ids)
    word_ids: list[int | None] | None = None if isinstance(texts[0], str) else [None] * len(ids)
    # What is left of a text that was cut is its beginning, or, cut on the left, its end: then all is read backwards.
    step = -1 if cut_side(tokenizer) == "left" else 1
    places = range(len(ids))[::step]
    start = 0
    for number, text in list(enumerate(texts))[::step]:
        chunks = _chunks(tokenizer, text)
        text_ids = tokenizer.convert_tokens_to_ids([piece for chunk in chunks for piece in chunk])[::step]
        owner = [w for w, chunk in enumerate(chunks) for _ in chunk][::step]
        start, length = _find(ids[::step], text_ids, start)
        for i in range(length):
            sequences[places[start + i]] = number
            if word_ids is not None:
                word_ids[places[start + i]] = owner[i]
        start += length
    return Pieces(ids, batch.get("token_type_ids"), tokenizer.convert_ids_to_tokens(ids), sequences, word_ids, None)


def _chunks(tokenizer: Any, text: Text) -> list[list[str]]:
    """The pieces of a text, or those of each word: read by itself, or behind a blank, whichever the text is made of.

    Raises InputError where it is made of neither.
    """
    pieces = tokenizer.tokenize(_running(text))
    if isinstance(text, str):
        return [pieces]
    for blank in ("", " "):
        chunks = [tokenizer.tokenize(f"{blank if number else ''}{word}") for number, word in enumerate(text)]
        if [piece for chunk in chunks for piece in chunk] == pieces:
            return chunks
    raise InputError(
        "this tokenizer, one in Python, does not tell which word a piece is of, and words read one by one have other "
        "pieces than their text: give the text to trace, or take a fast tokenizer (PreTrainedTokenizerFast)"
    )


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


def pieces_of(tokenizer: Any, text: str) -> list[str]:
    """The tokens of a text, without special ones; what the tokenizer stores stays."""
    with resting_state(tokenizer):
        pieces: list[str] = tokenizer.tokenize(text)
    return pieces
