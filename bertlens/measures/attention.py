"""What each head's attention weights look like, in one table per trace.

Everything goes layer by layer: the maps of all layers never exist at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..trace.trace import Trace
from .rows import Roles, Rows, blocks, head_groups
from .statistics import ATLAS_NAMES, Fraction, fractions, means


def summary(trace: Trace, names: Sequence[str] = ATLAS_NAMES) -> dict[str, Tensor]:
    """Numbers of every head by weight: name -> float32 (L, H), NaN where the text has no such tokens or pairs.

    names: of measures.statistics.STATISTICS, which says what each is and in which unit. Shares are Σ α over the pairs
    ÷ number of query tokens n, in [0, 1]; entropy in [0, ln K]; k90 in [1, K]. Clark et al. 2019, section 3.
    """
    roles = Roles.of(trace)
    layers = [
        torch.cat([_summed(trace, layer, heads, names, roles) for heads in head_groups(trace, layer)])
        for layer in range(trace.n_layers)
    ]
    return dict(zip(names, torch.stack(layers).unbind(-1), strict=True))


def _summed(trace: Trace, layer: int, heads: slice, names: Sequence[str], roles: Roles) -> Tensor:
    totals: list[Fraction] = []
    for start, first_key, alpha in blocks(trace, layer, heads):
        totals = fractions(names, Rows(alpha, roles, start, first_key), totals)
    return means(totals)


def mean_weight(trace: Trace, layer: int) -> Tensor:
    """(S, K) Attn-W: α's mean over the layer's heads, of some rows at a time."""
    sums: Tensor | None = None
    for heads in head_groups(trace, layer):
        for start, first_key, alpha in blocks(trace, layer, heads):
            sums = alpha.new_zeros(trace.n_tokens, len(trace.key_tokens)) if sums is None else sums
            sums[start : start + alpha.shape[1], first_key : first_key + alpha.shape[2]] += alpha.sum(0)
    assert sums is not None
    return sums.div_(trace.n_heads)
