"""Spearman's rank correlation, ties sharing their mean rank (Spearman 1904)."""

from __future__ import annotations

import math

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..base.vocabulary.constants import RHO_POINTS


def ranks(values: ArrayLike | Tensor) -> Tensor:
    """(n,) float64 ranks from 1; equal values share the mean of their ranks, NaN has none: NaN."""
    tensor = values if isinstance(values, Tensor) else torch.as_tensor(values, device="cpu")
    _, index, counts = torch.unique(tensor, return_inverse=True, return_counts=True)
    ends = counts.cumsum(0).double()
    return torch.where(tensor.isnan(), torch.nan, (ends - (counts - 1) / 2)[index])


def spearman(x: ArrayLike | Tensor, y: ArrayLike | Tensor) -> float:
    """Spearman's ρ of x and y, (n,) each, in [-1, 1]: Pearson's correlation of their ranks.

    NaN for fewer than three, where one side is constant, and where a number is NaN.
    """
    a, b = ranks(x), ranks(y)
    if len(a) < RHO_POINTS or bool(a.isnan().any() | b.isnan().any()):
        return math.nan
    a, b = a - a.mean(), b - b.mean()
    spread = (a.square().sum() * b.square().sum()).sqrt()
    return float((a @ b / spread).clamp(-1, 1)) if spread > 0 else math.nan
