"""Texts and vectors as they are given: checked, and compared each with each."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from torch import Tensor

from ..base.amounts import amount, verb
from ..base.notes import note
from ..errors import InputError
from ..text.encoding import check_text
from ..text.texts import strings
from ..text.tokenizer import resting_state
from .encoders import NO_VECTORS, SentenceEncoder, SentenceLens

TEMPLATE = 8  # tokens that a tokenizer adds to a text or a pair, at most


def check_texts(texts: Any, name: str = "texts", column: Any = None) -> list[str]:
    """The texts as a list: a string, or what `text.texts.strings` takes. Raises InputError for anything else."""
    checked = strings(texts, column, name)
    for text in checked:
        check_text(text, name)
    return checked


def note_cuts(
    lens: SentenceLens, texts: Sequence[str], task: str | None = None, prompt_name: str | None = None, query: str = ""
) -> None:
    """Say how many texts are longer than what the model reads, which cuts them. query: read with each, as one input."""
    limit, prompt = lens.sentences.limit, lens.sentences.prompt(task, prompt_name)
    inputs = [prompt + text for text in texts]
    # tokens are bytes at most; with those that the template adds
    inputs = [text for text in inputs if limit is not None and len((query + text).encode()) + TEMPLATE > limit]
    if limit is None or not inputs:
        return
    with resting_state(lens.tokenizer):
        pair = {"text_pair": inputs} if query else {}
        sides = [query] * len(inputs) if query else inputs
        rows = lens.tokenizer(sides, **pair, truncation=False, padding=False, verbose=False)["input_ids"]
    if count := sum(len(row) > limit for row in rows):
        note(
            f"{count:,} of {amount(len(texts), 'text')} {verb(count, 'is', 'are')} longer than the {limit:,} tokens "
            f"that the model reads: it cuts {verb(count, 'it', 'them')}"
        )


def similarities(lens: SentenceLens, a: Any, b: Any, column: Any = None) -> Tensor:
    """(N, M) each of `a` with each of `b`, texts or vectors; of a cross-encoder with several labels (N, M, labels)."""
    encoder, vectors = lens.sentences, [_are_vectors(x) for x in (a, b)]
    if vectors[0] != vectors[1]:
        raise InputError("similarity is of texts and texts, or of vectors and vectors")
    if vectors[0]:
        if encoder.crosses:
            raise InputError(NO_VECTORS)
        return encoder.similarity(a, b)
    bare = [isinstance(x, str) or (isinstance(x, list | tuple) and all(isinstance(y, str) for y in x)) for x in (a, b)]
    rows, columns = (  # a column is that of the table, where one of the two is none
        check_texts(x, "similarity", column if all(bare) or not is_bare else None)
        for x, is_bare in zip((a, b), bare, strict=True)
    )
    if isinstance(encoder, SentenceEncoder) and encoder.crosses:
        note_cuts(lens, columns, query=max(rows, key=len))
        scores = encoder.predict([(row, column_text) for row in rows for column_text in columns])
        return scores.unflatten(0, (len(rows), len(columns)))
    note_cuts(lens, [*rows, *columns])
    return encoder.similarity(*(encoder.encode(texts, None, None, 32, False) for texts in (rows, columns)))


def _are_vectors(source: Any) -> bool:
    """Whether these are numbers: a tensor, an array of them, or either in lists."""
    while isinstance(source, list | tuple) and source:
        source = source[0]
    return isinstance(source, Tensor | Real) or getattr(getattr(source, "dtype", None), "kind", "O") in "fiub"
