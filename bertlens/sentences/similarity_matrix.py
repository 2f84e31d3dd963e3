"""Texts and vectors as they are given: checked, and compared each with each."""

from __future__ import annotations

from numbers import Real
from typing import Any

from torch import Tensor

from ..errors import InputError
from ..text.encoding import check_text
from ..text.texts import strings
from .encoders import NO_VECTORS, Encoder, SentenceEncoder


def check_texts(texts: Any, name: str = "texts", column: Any = None) -> list[str]:
    """The texts as a list: a string, or what `text.texts.strings` takes. Raises InputError for anything else."""
    checked = strings(texts, column, name)
    for text in checked:
        check_text(text, name)
    return checked


def similarities(encoder: Encoder, a: Any, b: Any, column: Any = None) -> Tensor:
    """(N, M) each of `a` with each of `b`, texts or vectors; of a cross-encoder with several labels (N, M, labels)."""
    vectors = [_are_vectors(x) for x in (a, b)]
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
        scores = encoder.predict([(row, other) for row in rows for other in columns])
        return scores.unflatten(0, (len(rows), len(columns)))
    return encoder.similarity(*(encoder.encode(texts, None, None, 32, False) for texts in (rows, columns)))


def _are_vectors(source: Any) -> bool:
    """Whether these are numbers: a tensor, an array of them, or either in lists."""
    while isinstance(source, list | tuple) and source:
        source = source[0]
    return isinstance(source, Tensor | Real) or getattr(getattr(source, "dtype", None), "kind", "O") in "fiub"
