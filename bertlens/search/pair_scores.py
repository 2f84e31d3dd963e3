"""Scores that a cross-encoder gives to pairs of a question and a passage, in a file where one is named."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..base.arrays_file import ArraysFile
from ..errors import ModelError
from ..lens import Lens
from ..sentences.encoders import WINDOW, SentenceEncoder
from .long_work import complete

Pair = tuple[str, str]
FILE = ArraysFile("scores of pairs of texts", 2, "delete it, or name another file")


def pair_scores(
    lens: Lens, pairs: Sequence[Pair], file: Path | None, batch_size: int = 32, progress: bool = True
) -> np.ndarray:
    """(N,) float64 as `predict` of the cross-encoder gives them; equal pairs have equal ones.

    file: as of `vectors.encoded`. Raises as that, and ModelError for a model that gives several labels to a pair.
    """
    encoder = lens.sentences
    assert isinstance(encoder, SentenceEncoder)
    scores: dict[bytes, float] = {}
    if file is not None and file.is_file():
        with FILE.open(file, lens.borrowed.identity()) as (_, arrays):
            scores = dict(zip(map(bytes, arrays["digests"]), arrays["scores"].tolist(), strict=True))
    texts = {_digest(pair): pair for pair in pairs}

    def save() -> None:
        ready = [digest for digest in texts if digest in scores]
        if file is not None and ready:
            digests = np.frombuffer(b"".join(ready), dtype=np.uint8).reshape(len(ready), -1)
            arrays = {"digests": digests, "scores": np.array([scores[digest] for digest in ready])}
            FILE.write(file, {}, arrays, lens.borrowed.identity())

    def predict(window: Sequence[bytes]) -> list[float]:
        predictions = encoder.predict([texts[digest] for digest in window], batch_size)
        if predictions.ndim > 1:
            labels = predictions.shape[1]
            raise ModelError(f"{lens.model_name} gives {labels} labels to a pair, not one score to rank by")
        if not predictions.isfinite().all():
            raise ModelError(f"{lens.model_name} gives scores that are no numbers: its weights may be damaged")
        return predictions.double().tolist()

    if missing := [digest for digest in texts if digest not in scores]:
        complete(lens, scores, missing, predict, WINDOW * batch_size, file, save, "pair", "second stage", progress)
    return np.array([scores[_digest(pair)] for pair in pairs])


def _digest(pair: Pair) -> bytes:
    return hashlib.blake2b(f"{len(pair[0])} {pair[0]}{pair[1]}".encode(), digest_size=16).digest()
