"""Arithmetic of rows and blocks of maps: diagonals, p ln p, how far two distributions are apart."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


class Diagonal:
    """The cells (i, i + offset) of a block (..., R, C)."""

    def __init__(self, block: Tensor, offset: int):
        rows = torch.arange(block.shape[-2], device=block.device)
        inside = (rows + offset >= 0) & (rows + offset < block.shape[-1])
        self.block, self.rows, self.columns = block, rows[inside], rows[inside] + offset

    def get(self) -> Tensor:
        """(..., R), 0 outside."""
        cells = self.block.new_zeros(self.block.shape[:-1])
        cells[..., self.rows] = self.block[..., self.rows, self.columns]
        return cells

    def clear(self) -> None:
        """Set to 0."""
        self.block[..., self.rows, self.columns] = 0


def information(p: Tensor) -> Tensor:
    """(...) p ln p, 0 for 0. On a CPU numpy's logarithm takes 40 % of the time of torch's, which beats xlogy twice."""
    logs = p.clamp_min(1e-30)
    if p.device.type == "cpu":
        np.log(logs.numpy(), out=logs.numpy())
    else:
        logs.log_()
    return logs.mul_(p)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """(...) Jensen-Shannon divergence in nats, in [0, ln 2], of distributions (..., K) that each sum to 1.

    H((p + q) / 2) − (H(p) + H(q)) / 2. Lin 1991; between heads Clark et al. 2019, section 6.
    """
    mean = (p + q) / 2
    terms = torch.special.entr(mean) - (torch.special.entr(p) + torch.special.entr(q)) / 2
    return terms.sum(-1).clamp_min(0)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """(...) ½ Σ |p − q| in [0, 1] of distributions (..., K) that each sum to 1: how much would have to move."""
    return (p - q).abs().sum(-1) / 2


def shares(rows: Tensor) -> Tensor:
    """(..., K) rows divided by their sums; a row of zeros stays one."""
    return rows / rows.sum(-1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
