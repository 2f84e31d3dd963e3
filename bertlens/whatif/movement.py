"""Which heads look elsewhere once something is changed."""

from __future__ import annotations

import torch
from torch import Tensor

from ..changes import Change, Cut, Hide, Neuron, Pattern
from ..measures.divergence import jensen_shannon
from ..trace import Trace


def moved(trace: Trace) -> Tensor:
    """(L, H) float64, in [0, ln 2] nats: how much each head looks elsewhere than in `trace.original`.

    The Jensen-Shannon divergence of the two rows of weights, mean over queries; rows are scaled to 1, and a query whose
    row is empty in either run is left out. NaN where the head cannot differ: it runs before everything that is changed,
    and nothing is done to its own weights. All NaN without changes.
    """
    size = trace.n_layers, trace.n_heads
    result = torch.full(size, torch.nan, dtype=torch.float64, device="cpu")
    for layer in range(trace.n_layers):
        heads = [head for head in range(trace.n_heads) if can_differ(trace, layer, head)]
        if not heads:
            continue
        rows = [run.attention(layer)[heads].double() for run in (trace.original, trace)]
        sums = [weights.sum(-1, keepdim=True) for weights in rows]
        p, q = (weights / total for weights, total in zip(rows, sums, strict=True))
        result[layer, heads] = jensen_shannon(p, q).nanmean(-1).cpu()
    return result


def can_differ(trace: Trace, layer: int, head: int) -> bool:
    """Whether something that is changed comes before a head's weights, or is one of them."""
    return any(change.first_layer < layer or _alters(change, layer, head) for change in trace.changes)


def _alters(change: Change, layer: int, head: int) -> bool:
    if isinstance(change, Hide):
        return True
    if isinstance(change, Cut | Pattern | Neuron):
        return change.layer == layer and change.head in (None, head)
    return False
