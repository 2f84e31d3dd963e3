"""The similarity of two texts, of the class that its encoder has."""

from __future__ import annotations

from typing import Any

from ..errors import InputError, ModelError, check_lens
from ..model.fingerprint import Fingerprint
from ..text.encoding import check_text
from .encoders import NO_VECTORS, Encoder, SentenceLens
from .late_interaction import LateEncoder, late_similarity
from .sparse_encoder import SparseTextEncoder
from .sparse_similarity import SparseSimilarity
from .text_pair import SIDES, Side
from .text_similarity import Similarity
from .token_parts import held_notes


def pair_class(encoder: Encoder) -> type[Similarity]:
    """Of an encoder that makes one vector of a text."""
    return SparseSimilarity if isinstance(encoder, SparseTextEncoder) else Similarity


def similarity(lens: SentenceLens, a: str, b: str, tasks: tuple[str | None, str | None] = (None, None)) -> Any:
    """Why two texts are similar: the model's own number for them, and its split by pairs of tokens.

    A `Similarity`; of a late-interaction encoder a `LateSimilarity`: for each token of a its best one of b; of a sparse
    one a `SparseSimilarity`: the words of the vocabulary that both vectors have.
    tasks: None, "query" or "document" for each text, as in `lens.encode`; their prompts are part of what is read.
    Raises InputError for anything else than two texts, ModelError for a cross-encoder, which reads both as one input.
    """
    check_lens(lens)
    for text, name in ((a, "a"), (b, "b")):
        if not isinstance(text, str):
            raise InputError("similarity is of two strings; lens.similarity compares many texts")
        check_text(text, name)
    if not isinstance(tasks, tuple | list) or len(tasks) != 2:
        raise InputError("tasks are two, one for each text: None, 'query' or 'document'")
    encoder, fingerprint = lens.sentences, lens.borrowed.fingerprint()
    if encoder.crosses:
        raise ModelError(f"{NO_VECTORS}, lens.trace(a, b) shows what it reads")
    sides = Side.of(lens, a, tasks[0], fingerprint), Side.of(lens, b, tasks[1], fingerprint)
    return similarity_of(lens, sides, fingerprint)


def similarity_of(lens: SentenceLens, sides: tuple[Side, Side], fingerprint: Fingerprint) -> Any:
    """`similarity` of two texts that were read."""
    encoder = lens.sentences
    if isinstance(encoder, LateEncoder):
        return late_similarity(lens, sides, fingerprint)
    value = float(encoder.similarity(*(side.reading.vector for side in sides))[0, 0])
    notes = [*filter(None, [encoder.note]), *held_notes(encoder)]
    notes += [note for name, side in zip(SIDES, sides, strict=True) for note in side.notes(f"Text {name}")]
    return pair_class(encoder)(lens, value, sides, tuple(notes), fingerprint)
