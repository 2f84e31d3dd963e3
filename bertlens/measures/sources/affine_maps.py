"""The maps that a stream is a chain of once deviations are kept: projections, LayerNorms, rotations of positions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear


@dataclass(frozen=True)
class Affine:
    """W x + b."""

    weight: Tensor  # (out, in), float32 or float64
    bias: Tensor | None  # (out,)

    def __call__(self, x: Tensor) -> Tensor:
        """(..., out) of (..., in), computed in the weight's dtype."""
        return linear(x.to(self.weight.dtype), self.weight, self.bias)

    def back(self, w: Tensor) -> Tensor:
        """Wᵀ w (..., in) of float64 (..., out): the product in the weight's dtype."""
        return (w.to(self.weight.dtype) @ self.weight).double()


@dataclass(frozen=True)
class Normed:
    """A LayerNorm with its deviations kept: P x/s + β."""

    weight: Tensor  # γ (D,) float64
    bias: Tensor  # β (D,) float64
    scale: Tensor  # (S,) 1/s of every token, float64

    def back(self, w: Tensor) -> Tensor:
        """Pᵀ w = γ∘w - mean(γ∘w), without 1/s."""
        w = w * self.weight
        return w - w.mean(-1, keepdim=True)

    def forward(self, x: Tensor) -> Tensor:
        """P x/s (..., S, D), without β."""
        return (x - x.mean(-1, keepdim=True)) * self.weight * self.scale[:, None]


@dataclass(frozen=True)
class Rotation:
    """R, by which some tokens' queries and keys are turned: two numbers of a head against each other."""

    cos: Tensor  # (T, d) float64, or (d,) of one token
    sin: Tensor
    neighbours: bool  # numbers 2n and 2n + 1, else n and n + d/2

    def of(self, tokens: Tensor | slice | int) -> Rotation:
        """That of some of the tokens."""
        return Rotation(self.cos[tokens], self.sin[tokens], self.neighbours)

    def turned(self, x: Tensor) -> Tensor:
        """R x."""
        return x * self.cos + self._quarter(x) * self.sin

    def back(self, w: Tensor) -> Tensor:
        """Rᵀ w."""
        return w * self.cos - self._quarter(w * self.sin)

    def _quarter(self, x: Tensor) -> Tensor:
        """(a, b) to (-b, a) of each pair."""
        if self.neighbours:
            return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
        low, high = x.chunk(2, -1)
        return torch.cat([-high, low], -1)
