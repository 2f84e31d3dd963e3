"""Which heads look elsewhere once something is changed."""

from __future__ import annotations

import torch
from torch import Tensor

from ..measures.distributions import jensen_shannon
from ..measures.rows import head_groups
from ..run.changes import Change, Cut, Dim, Hide, Neuron, Pattern
from ..trace.trace import Trace

FLOATS = 2**19  # weights of a run that are looked at together


def moved(trace: Trace) -> Tensor:
    """(L, H) float64, in [0, ln 2] nats: how much each head looks elsewhere than in `trace.original`.

    The Jensen-Shannon divergence of the two rows of weights, mean over queries; rows are scaled to 1, and a query whose
    row is empty in either run is left out. NaN where the head cannot differ: it runs before everything that is changed,
    and nothing is done to its own weights. All NaN without changes.
    """
    size = trace.n_layers, trace.n_heads
    divergences = torch.full(size, torch.nan, dtype=torch.float64, device="cpu")
    for layer in range(trace.n_layers):
        for heads in head_groups(trace, layer):
            divergences[layer, heads] = of_heads(trace, layer, heads)
    return divergences


@torch.no_grad()
def of_heads(trace: Trace, layer: int, heads: slice) -> Tensor:
    """`moved` of some of a layer's heads (H',), of some rows at a time."""
    able = torch.tensor([can_differ(trace, layer, head) for head in range(trace.n_heads)][heads], device="cpu")
    if not able.any():
        return torch.full(able.shape, torch.nan, dtype=torch.float64, device="cpu")
    divergences, step = [], max(1, FLOATS // (len(able) * trace.n_tokens))
    for start in range(0, trace.n_tokens, step):
        rows = slice(start, min(start + step, trace.n_tokens))
        maps = [run.attention_part(layer, heads, rows, slice(None)).double() for run in (trace.original, trace)]
        divergences.append(jensen_shannon(*(weights / weights.sum(-1, keepdim=True) for weights in maps)).cpu())
    return torch.cat(divergences, -1).nanmean(-1).where(able, torch.nan)


def can_differ(trace: Trace, layer: int, head: int) -> bool:
    """Whether something that is changed comes before a head's weights, or is one of them."""
    return any(change.first_layer < layer or _alters(change, layer, head) for change in trace.changes)


def _alters(change: Change, layer: int, head: int) -> bool:
    if isinstance(change, Hide | Dim):
        return True
    if isinstance(change, Cut | Pattern | Neuron):
        return change.layer == layer and change.head in (None, head)
    return False
