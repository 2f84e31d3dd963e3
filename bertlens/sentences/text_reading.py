"""How the model of a run reads two texts: each alone, with one vector or one of each token, or both at once."""

from __future__ import annotations

from typing import Any

from ..trace.trace import Trace
from .encoders import SentenceEncoder
from .late_interaction import LateEncoder


def has_vectors(trace: Trace) -> bool:
    """Whether the model makes one vector of a text read alone: no cross-encoder, and not one of each token."""
    lens: Any = trace.lens
    sentences = None if lens is None else lens.sentences
    return (
        sentences is not None
        and not sentences.crosses
        and sentences.modes.names != ()
        and lens.borrowed.embedder.output_name in (trace.record.output or ())
    )


def is_late(trace: Trace) -> bool:
    """Whether the model makes a vector of each token, and compares those of two texts."""
    lens: Any = trace.lens
    return lens is not None and isinstance(lens.sentences, LateEncoder)


def compares(trace: Trace) -> bool:
    """Whether the model compares two texts that it reads alone."""
    return has_vectors(trace) or is_late(trace)


def reads_apart(trace: Trace) -> bool:
    """Whether the model reads a second text on its own: a bi-encoder, as sentence-transformers has it."""
    lens: Any = trace.lens
    return compares(trace) and isinstance(lens.sentences, SentenceEncoder)
