"""What a cross-encoder gives to pairs of a question and a passage, in a file where one is named."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.arrays_file import ArraysFile
from ..lens import Lens
from ..sentences.cross_scores import cross_scores
from ..sentences.encoders import WINDOW, SentenceEncoder
from .long_work import complete

Pair = tuple[str, str]
FILE = ArraysFile("scores of pairs of texts", 2, "delete it, or name another file")


class OfPair(NamedTuple):
    score: float  # as `predict` of the cross-encoder gives it
    logit: float  # under its activation


def pair_scores(
    lens: Lens, pairs: Sequence[Pair], file: Path | None, batch_size: int = 32, progress: bool = True
) -> np.ndarray:
    """(N, 2) float64 scores and logits, see `CrossScores`; equal pairs have equal ones.

    file: as of `vectors.encoded`. Raises as that and as `cross_scores`.
    """
    encoder = lens.sentences
    assert isinstance(encoder, SentenceEncoder)
    scores: dict[bytes, OfPair] = {}
    if file is not None and file.is_file():
        with FILE.open(file, lens.borrowed.identity()) as (_, arrays):
            if "logits" in arrays:  # else the scores are made again
                columns = (arrays["scores"].tolist(), arrays["logits"].tolist())
                scores = dict(zip(map(bytes, arrays["digests"]), map(OfPair, *columns), strict=True))
    texts = {_digest(pair): pair for pair in pairs}

    def save() -> None:
        ready = [digest for digest in texts if digest in scores]
        if file is not None and ready:
            digests = np.frombuffer(b"".join(ready), dtype=np.uint8).reshape(len(ready), -1)
            numbers = np.array([scores[digest] for digest in ready])
            arrays = {"digests": digests, "scores": numbers[:, 0], "logits": numbers[:, 1]}
            FILE.write(file, {}, arrays, lens.borrowed.identity())

    def predict(window: Sequence[bytes]) -> list[OfPair]:
        of_pairs = cross_scores(encoder, [texts[digest] for digest in window], batch_size, lens.model_name)
        return [*map(OfPair, of_pairs.scores.tolist(), of_pairs.logits.tolist())]

    if missing := [digest for digest in texts if digest not in scores]:
        complete(lens, scores, missing, predict, WINDOW * batch_size, file, save, "pair", "second stage", progress)
    return np.array([scores[_digest(pair)] for pair in pairs]).reshape(len(pairs), 2)


def _digest(pair: Pair) -> bytes:
    return hashlib.blake2b(f"{len(pair[0])} {pair[0]}{pair[1]}".encode(), digest_size=16).digest()
