"""Arithmetic of rows and blocks of maps: diagonals, p ln p, how far two distributions are apart."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

PART = 2048  # weights of each head worked on at a time: those of 144 heads stay in the cache


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


def information(p: Tensor, positive: bool = False) -> Tensor:
    """(...) p ln p, 0 for 0. On a CPU numpy's logarithm takes 40 % of the time of torch's, which beats xlogy twice.

    positive: no p is below 1e-30.
    """
    logs = torch.empty_like(p) if positive else p.clamp_min(1e-30)
    if p.device.type == "cpu":
        np.log((p if positive else logs).numpy(), out=logs.numpy())
    else:
        torch.log(p if positive else logs, out=logs)
    return logs.mul_(p)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """(...) Jensen-Shannon divergence in nats, in [0, ln 2], of distributions (..., K) that each sum to 1.

    H((p + q) / 2) − (H(p) + H(q)) / 2. Lin 1991; between heads Clark et al. 2019, section 6.
    """
    mean = (p + q) / 2
    terms = torch.special.entr(mean) - (torch.special.entr(p) + torch.special.entr(q)) / 2
    return terms.sum(-1).clamp_min(0)


@torch.no_grad()
def divergences(rows: Tensor) -> Tensor:
    """(N, N) float64 Σ_i JS(a_i, b_i) over the rows i of every pair of N maps (N, S, K) whose rows sum to 1."""
    n = len(rows)
    flat = rows.clamp_min(1e-30).flatten(1)
    # Σ s ln s over s = a + b of every pair; Σ m ln m of the mean m = s / 2 follows, as Σ s is known
    together = torch.zeros(n, n, dtype=torch.float64, device=rows.device)
    negative_entropy = torch.zeros(n, dtype=torch.float64, device=rows.device)  # Σ p ln p
    for start in range(0, flat.shape[1], PART):
        block = flat[:, start : start + PART].contiguous()
        sums, logs = torch.empty_like(block), torch.empty_like(block)
        negative_entropy += torch.log(block, out=logs).mul_(block).sum(1).double()
        for a in range(n - 1):
            s, log = sums[a + 1 :], logs[a + 1 :]
            torch.add(block[a + 1 :], block[a], out=s)
            together[a, a + 1 :] += torch.log(s, out=log).mul_(s).sum(1)
    together += together.T.clone()
    divergence = (negative_entropy[:, None] + negative_entropy) / 2 - together / 2 + math.log(2) * rows.shape[1]
    return divergence.fill_diagonal_(0).clamp_min_(0)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """(...) ½ Σ |p − q| in [0, 1] of distributions (..., K) that each sum to 1: how much would have to move."""
    return (p - q).abs().sum(-1) / 2


def shares(rows: Tensor) -> Tensor:
    """(..., K) rows divided by their sums; a row of zeros stays one."""
    return rows / rows.sum(-1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
