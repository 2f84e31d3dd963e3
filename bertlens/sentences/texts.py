"""Texts and vectors as they are given: checked, and compared each with each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..errors import InputError
from .encoders import NO_VECTORS, SentenceEncoder

if TYPE_CHECKING:
    from .plain import PlainEncoder


def check_texts(texts: Any, name: str = "texts") -> list[str]:
    """The texts as a list. Raises InputError for anything else than a string or strings, and for none."""
    given = [texts] if isinstance(texts, str) else list(texts) if isinstance(texts, Sequence) else [None]
    wrong = next((type(text).__name__ for text in given if not isinstance(text, str)), None)
    if wrong or not given:
        raise InputError(f"{name} takes a string or a list of strings" + (f", not {type(texts).__name__}" * bool(wrong)))
    return given


def similarities(encoder: SentenceEncoder | PlainEncoder, a: Any, b: Any) -> Tensor:
    """(N, M) each of `a` with each of `b`, texts or vectors; of a cross-encoder with several labels (N, M, labels)."""
    are_texts = [isinstance(x, str) or (isinstance(x, list | tuple) and isinstance(next(iter(x), 0), str)) for x in (a, b)]
    if are_texts[0] != are_texts[1]:
        raise InputError("similarity is of texts and texts, or of vectors and vectors")
    if not are_texts[0]:
        if encoder.crosses:
            raise InputError(NO_VECTORS)
        return encoder.similarity(a, b)
    first, second = check_texts(a, "similarity"), check_texts(b, "similarity")
    if isinstance(encoder, SentenceEncoder) and encoder.crosses:
        scores = encoder.predict([(one, other) for one in first for other in second])
        return scores.unflatten(0, (len(first), len(second)))
    return encoder.similarity(*(encoder.encode(texts, None, None, 32, False) for texts in (first, second)))
