"""Texts and vectors as they are given: checked, and compared each with each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..errors import InputError
from ..text.encoding import check_text
from .encoders import NO_VECTORS, Encoder, SentenceEncoder


def check_texts(texts: Any, name: str = "texts") -> list[str]:
    """The texts as a list. Raises InputError for anything else than a string or strings, and for none."""
    strings: list[str] = [texts] if isinstance(texts, str) else list(texts) if isinstance(texts, Sequence) else []
    if not strings or not all(isinstance(text, str) for text in strings):
        raise InputError(f"{name} is a string or a list of strings, with at least one")
    for text in strings:
        check_text(text, name)
    return strings


def similarities(encoder: Encoder, a: Any, b: Any) -> Tensor:
    """(N, M) each of `a` with each of `b`, texts or vectors; of a cross-encoder with several labels (N, M, labels)."""
    texts = [isinstance(x[0] if isinstance(x, list | tuple) and x else x, str) for x in (a, b)]
    if texts[0] != texts[1]:
        raise InputError("similarity is of texts and texts, or of vectors and vectors")
    if not texts[0]:
        if encoder.crosses:
            raise InputError(NO_VECTORS)
        return encoder.similarity(a, b)
    rows, columns = check_texts(a, "similarity"), check_texts(b, "similarity")
    if isinstance(encoder, SentenceEncoder) and encoder.crosses:
        scores = encoder.predict([(row, column) for row in rows for column in columns])
        return scores.unflatten(0, (len(rows), len(columns)))
    return encoder.similarity(*(encoder.encode(texts, None, None, 32, False) for texts in (rows, columns)))
