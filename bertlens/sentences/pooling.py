"""Pooling of tokens to one vector, as sentence-transformers does it, and the weight that each token has in it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SINGLE = ("cls", "lasttoken")  # poolings that read one token
MEANS = ("mean", "weightedmean", "mean_sqrt_len_tokens")


@dataclass(frozen=True)
class Modes:
    """The poolings of a model, whose vectors are put behind each other."""

    names: tuple[str, ...]

    @property
    def linear(self) -> bool:
        """Whether the vector is a sum over tokens."""
        return all(name in (*SINGLE, *MEANS) for name in self.names)

    @property
    def single(self) -> bool:
        """Whether single tokens are read, and no others."""
        return all(name in SINGLE for name in self.names)

    def weights(self, keep: Tensor) -> Tensor:
        """(…, poolings, S) of each token, for keep (…, S): the tokens that are pooled. Not for max pooling.

        Weighted mean counts positions from 1, those left out too.
        """
        return torch.stack([_weights(name, keep) for name in self.names], -2)

    def pooled(self, states: Tensor, keep: Tensor) -> Tensor:
        """(N, poolings · D) of states (N, S, D) and keep (N, S)."""
        vectors = []
        for name in self.names:
            if name == "max":
                vectors.append(states.masked_fill(~keep[..., None], -torch.inf).amax(1))
            else:
                vectors.append((_weights(name, keep).to(states.dtype)[:, None] @ states)[:, 0])
        return torch.cat(vectors, -1)


def _weights(name: str, keep: Tensor) -> Tensor:
    """(…, S) float64 what a pooling multiplies each token by."""
    weights = keep.double()
    if name in SINGLE:
        end = keep.shape[-1] - 1
        at = weights.argmax(-1) if name == "cls" else end - weights.flip(-1).argmax(-1)
        return torch.nn.functional.one_hot(at, keep.shape[-1]).double() * (weights if name == "lasttoken" else 1)
    if name == "weightedmean":
        weights = weights * torch.arange(1, keep.shape[-1] + 1, device=keep.device, dtype=torch.float64)
    total = weights.sum(-1, keepdim=True).clamp(min=1e-9)
    return weights / (total.sqrt() if name == "mean_sqrt_len_tokens" else total)
