"""How long queries, keys, values and contexts of a head are, in histograms with the same bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...errors import ModelError, check_index
from ...trace.trace import Trace
from ..spectra import head_vectors

KINDS = ("query", "key", "value", "context")


@dataclass(frozen=True)
class NormHistograms:
    """Row norms of one head. The bins are the same for all four kinds, the first starts at 0."""

    layer: int
    head: int
    special: str  # "counted" or "left out"
    edges: np.ndarray  # (bins + 1,)
    counts: dict[str, np.ndarray]  # kind -> (bins,) int64, sum = number of tokens counted, but for NaN and Inf
    norms: dict[str, np.ndarray]  # kind -> (n,)
    sigma_max: dict[str, float]  # kind -> σ_max(W_h) of its projection; NaN for context and where it cannot be read
    # kind -> σ_max(W_h) · max ‖x‖ + ‖b_h‖, which no norm passes; a context's bound is the values'
    bounds: dict[str, float]


@torch.no_grad()
def norm_histograms(
    trace: Trace, layer: int, head: int, bins: int = 20, include_special: bool = True
) -> NormHistograms:
    """Norms of the rows of Q_h, K_h, V_h and of the head's output, over its d dimensions, in shared bins.

    As in Figure 2 of Bonino et al. 2025, with the queries, keys and values that the model itself used, biases included
    (their code leaves the bias out). The bounds are NaN where the projections' input is not the layer's (MobileBERT) or
    the family has no adapter. Raises SelectionError for a layer or head that does not exist, ModelError without
    queries.
    """
    check_index(head, trace.n_heads, "head")
    mask = torch.ones_like(trace.special_mask) if include_special else ~trace.special_mask
    vectors = head_vectors(trace, layer)
    norms = {kind: x[head, mask].double().norm(dim=-1).cpu().numpy() for kind, x in vectors.items()}
    finite = {kind: values[np.isfinite(values)] for kind, values in norms.items()}
    top = max(float(values.max(initial=0)) for values in finite.values())
    edges = np.linspace(0, top or 1.0, bins + 1)
    sigma_max, bounds = _bounds(trace, layer, head, mask)
    return NormHistograms(
        layer,
        head,
        "counted" if include_special else "left out",
        edges,
        {kind: np.histogram(values, edges)[0] for kind, values in finite.items()},
        norms,
        sigma_max,
        bounds,
    )


def _bounds(trace: Trace, layer: int, head: int, mask: Tensor) -> tuple[dict[str, float], dict[str, float]]:
    unknown = dict.fromkeys(KINDS, float("nan"))
    try:
        adapter, module = trace.layer_module(layer)
        fused = adapter.value_part is not None
        finders = (adapter.query_projection, adapter.key_projection, adapter.value_projection)
        pairs = [trace.borrowed.affine(find(module), number if fused else None) for number, find in enumerate(finders)]
        weights = [_of_head(*pair, trace.n_heads, head) for pair in pairs]
    except ModelError:
        return unknown, dict(unknown)
    if adapter.residual(module) is not None:  # MobileBERT: its bottleneck stands between
        return unknown, dict(unknown)
    x = trace.layer_input(layer)
    if not adapter.post_ln:
        x = adapter.attention_norm(module)(x)
    longest = x.double().norm(dim=-1)
    sigma_max, bounds = dict(unknown), dict(unknown)
    for kind, (weight, bias) in zip(KINDS, weights, strict=False):
        sigma_max[kind] = float(torch.linalg.svdvals(weight)[0])
        # any token's value may be in a context, whichever rows are counted
        reach = longest.max() if kind == "value" else longest[mask].max() if mask.any() else 0.0
        bounds[kind] = sigma_max[kind] * float(reach) + float(bias.norm())
    bounds["context"] = bounds["value"]
    return sigma_max, bounds


def _of_head(weight: Tensor, bias: Tensor | None, heads: int, head: int) -> tuple[Tensor, Tensor]:
    """W_h (d, D) and b_h (d,)."""
    rows = weight.double().unflatten(0, (heads, -1))[head]
    return rows, rows.new_zeros(len(rows)) if bias is None else bias.double().unflatten(0, (heads, -1))[head]
