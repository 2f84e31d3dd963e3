"""How far apart two attention maps of the same tokens are."""

from __future__ import annotations

import torch
from torch import Tensor


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """(...) Jensen-Shannon divergence in nats, in [0, ln 2], of distributions (..., K) that each sum to 1.

    H((p + q) / 2) − (H(p) + H(q)) / 2. Lin 1991; between heads Clark et al. 2019, section 6.
    """
    mean = (p + q) / 2
    both = torch.special.entr(mean) - (torch.special.entr(p) + torch.special.entr(q)) / 2
    return both.sum(-1).clamp_min(0)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """(...) ½ Σ |p − q| in [0, 1] of distributions (..., K) that each sum to 1: how much would have to move."""
    return (p - q).abs().sum(-1) / 2
