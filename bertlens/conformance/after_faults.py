"""Faults of what follows on the pooling: of vectors (N, D) to vectors (N, E), as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ..sentences.encoders import Encoder
from .hypothesis import AFTER, RIGHT, Fault

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class After:
    """What an encoder does with a pooled vector: the modules of its tail, each a function of it, in order."""

    steps: tuple[tuple[str, Function], ...]
    width: int | None  # to which its vectors are cut

    @staticmethod
    def of(encoder: Encoder) -> After:
        return After(
            tuple((type(m).__name__, _step(m)) for m in encoder.tail if type(m).__name__ != "Dropout"),
            encoder.truncate_dim,
        )

    @property
    def is_normal(self) -> bool:
        return bool(self.steps) and self.steps[-1][0] == "Normalize"

    def applied(self, vectors: np.ndarray, without: int = -1) -> np.ndarray:
        """without: the place of a step that is left out."""
        for place, (_, function) in enumerate(self.steps):
            if place != without:
                vectors = function(vectors)
        return vectors[:, : self.width]


def _step(module: Any) -> Function:
    def function(vectors: np.ndarray) -> np.ndarray:
        like = next(iter(module.parameters()), torch.zeros((), device="cpu"))
        with torch.no_grad():
            tensor = torch.from_numpy(vectors).to(like)
            return module({"sentence_embedding": tensor})["sentence_embedding"].float().cpu().numpy().astype(float)

    return function


def normalised(vectors: np.ndarray, order: float | None = None) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, order, axis=1, keepdims=True), 1e-12)


def _layer_norm(vectors: np.ndarray) -> np.ndarray:
    return nn.functional.layer_norm(torch.from_numpy(vectors), vectors.shape[1:]).numpy()


def _then(function: Function) -> Callable[[After], Function]:
    return lambda after: lambda vectors: function(after.applied(vectors))


def _centred(vectors: np.ndarray) -> np.ndarray:
    return vectors - vectors.mean(0)


def _instead(order: float) -> Callable[[After], Function]:
    """Another norm than the L2, in its place."""

    def way(after: After) -> Function:
        final_step = len(after.steps) - 1 if after.is_normal else -1
        return lambda vectors: normalised(after.applied(vectors, final_step), order)

    return way


def _left_out(name: str) -> Callable[[After], Function | None]:
    def way(after: After) -> Function | None:
        place = next((n for n, (kind, _) in enumerate(after.steps) if kind == name), None)
        return None if place is None else lambda vectors: after.applied(vectors, place)

    return way


FAULTS = (
    Fault(RIGHT, AFTER, lambda after: after.applied),
    Fault("not normalised", AFTER, _left_out("Normalize")),
    Fault("Dense left out", AFTER, _left_out("Dense")),
    Fault("LayerNorm left out", AFTER, _left_out("LayerNorm")),
    Fault("L1 norm", AFTER, _instead(1)),
    Fault("maximum norm", AFTER, _instead(np.inf)),
    Fault("LayerNorm before", AFTER, lambda after: lambda vectors: after.applied(_layer_norm(vectors))),
    Fault("LayerNorm behind", AFTER, _then(_layer_norm)),
    Fault("centred over the texts", AFTER, _then(_centred)),
    Fault("centred over the texts, then normalised", AFTER, _then(lambda x: normalised(_centred(x)))),
)
