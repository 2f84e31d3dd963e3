"""What every head's switching off would change, to first order, from one backward pass."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import InputError
from ..measures.gradients import gradients
from ..measures.metrics import Metric, Read, bound
from ..run.changes import Off
from ..trace.trace import Trace
from .runs import check


def estimate(trace: Trace, metric: Metric | Read) -> Tensor:
    """(L, H) −Σ_i g_i · ctx_i: the first-order estimate of `sweep(trace, metric)`, float64; g = d metric / d context.

    With a gate ξ on a head's context the metric's slope at ξ = 1 is Σ_i g_i · ctx_i, and off is ξ = 0 (Michel et al.
    2019, eq. 2, with its sign). It is the exact change where the metric is linear in ξ, and can be far from it where a
    later softmax or LayerNorm saturates: an estimate, to be told apart from a run. NaN for a head that is off: there is
    no slope where it is not.
    Raises InputError for a metric that begins at its extreme, where all slopes are 0; ModelError like `gradients`.
    """
    check(trace, ())
    if isinstance(metric, Metric) and metric.flat and not trace.changes:
        raise InputError(
            f"{metric.name} begins at its extreme, where every slope is 0: run whatif.sweep, or estimate another metric"
        )
    found = gradients(trace, loss=bound(metric, trace))
    rows = [-(g * trace.head_context(layer)).sum((1, 2)) for layer, g in enumerate(found.contexts)]
    estimated = torch.stack(rows).double().cpu()
    for change in trace.changes:
        if isinstance(change, Off):
            estimated[change.layer, slice(None) if change.head is None else change.head] = torch.nan
    return estimated
