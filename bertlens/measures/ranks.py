"""Spearman's rank correlation of tensors, ties sharing their mean rank (Spearman 1904)."""

from __future__ import annotations

import torch
from torch import Tensor


def ranks(values: Tensor) -> Tensor:
    """(n,) float64 ranks from 1; equal values share the mean of their ranks."""
    _, index, counts = torch.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts - 1) / 2)[index]


def spearman(x: Tensor, y: Tensor) -> float:
    """Spearman's ρ of two (n,) tensors, in [-1, 1]: Pearson's correlation of their ranks. NaN where one is constant."""
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(), b - b.mean()
    spread = (a.square().sum() * b.square().sum()).sqrt()
    return float(a @ b / spread) if spread > 0 else float("nan")
