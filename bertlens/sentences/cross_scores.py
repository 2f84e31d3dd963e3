"""The score that a cross-encoder gives to a pair of texts, and the logit before it, which parts what rounds to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..errors import ModelError
from .encoders import SentenceEncoder


class CrossScores(NamedTuple):
    """Of N pairs. A float32 sigmoid is 1 from a logit of about 17 on: such scores are equal, their logits are not."""

    scores: Tensor  # (N,) as `predict` gives them
    logits: Tensor  # (N,) before the activation


def cross_scores(encoder: SentenceEncoder, pairs: Sequence[tuple[str, str]], batch_size: int, name: str) -> CrossScores:
    """Of one pass of each pair. name: of the model, for errors.

    Raises ModelError for a model that gives several labels to a pair, and for scores that are no numbers.
    """
    activation = encoder.module.activation_fn

    def both(logits: Tensor) -> Tensor:
        """The object puts its batches back in order: a pair's two numbers go through it as one complex one."""
        scores = logits if activation is None else activation(logits)
        return torch.complex(scores.double(), logits.double())

    values: Any = encoder.predict(pairs, batch_size, activation_fn=both)
    if values.ndim > 1:
        raise ModelError(f"{name} gives {values.shape[1]} labels to a pair, not one score to rank by")
    check_finite_scores(values.real, name)
    return CrossScores(values.real, values.imag)


def check_finite_scores(scores: Tensor, name: str) -> None:
    """Raises ModelError, with the model's name, for NaN and infinity: they have no order."""
    if not scores.isfinite().all():
        raise ModelError(f"{name} gives scores that are no numbers (NaN or infinite): its weights may be damaged")
