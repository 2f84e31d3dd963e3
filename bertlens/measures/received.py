"""What each key receives from all queries, and what each token keeps for itself: (H, S) numbers of maps that are S x S.

Rows pass in blocks, a few heads at a time, so that memory does not grow with S². What was found is kept with its trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..trace.trace import Trace
from .distributions import Diagonal
from .rows import blocks, head_groups


@dataclass(frozen=True)
class Received:
    """Of the heads of a layer, or some."""

    sums: Tensor  # (H, K) float64 Σ_i α_ij over all queries
    diagonal: Tensor  # (H, S) α_ii


def received(trace: Trace, layer: int) -> Received:
    """Of all heads of a layer."""
    groups = [of_heads(trace, layer, heads) for heads in head_groups(trace, layer)]
    return Received(torch.cat([group.sums for group in groups]), torch.cat([group.diagonal for group in groups]))


def is_known(trace: Trace, layer: int, heads: slice) -> bool:
    """Whether `of_heads` is there already."""
    return trace.keeps(("received", layer, heads.start))


def of_heads(trace: Trace, layer: int, heads: slice) -> Received:
    """Of one of the groups of `rows.head_groups`: work of a few tenths of a second at 8,192 tokens."""
    return trace.kept(("received", layer, heads.start), lambda: _received(trace, layer, heads))


@torch.no_grad()
def _received(trace: Trace, layer: int, heads: slice) -> Received:
    sums = diagonal = None
    for start, first_key, alpha in blocks(trace, layer, heads):
        if sums is None or diagonal is None:
            sums = alpha.new_zeros(len(alpha), len(trace.key_tokens), dtype=torch.float64)
            diagonal = alpha.new_zeros(len(alpha), trace.n_tokens)
        sums[:, first_key : first_key + alpha.shape[2]] += alpha.sum(1)
        diagonal[:, start : start + alpha.shape[1]] = Diagonal(alpha, start - first_key).get()
    assert sums is not None and diagonal is not None
    return Received(sums, diagonal)
