"""What the page can ask of a trace beyond its heads: norms, thumbnails of a measure, maps of a whole layer.

Each answer is small: (H, S) norms instead of (H, S, S) products, pooled thumbnails, one (S, S) map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..errors import ModelError
from ..measures import attention, gates, norms
from ..measures.block import layer_module
from ..measures.gates.classify import head_scores
from ..trace import Trace
from ..wire import json_safe

MOST_TOKENS = 64  # of a page that carries maps of whole layers: they grow with the square
MEASURES = ("weight", "norm", "difference")

LAYER_MAPS: dict[str, Callable[[Trace, int], Tensor]] = {
    "attn-w": lambda trace, layer: trace.attention(layer).mean(0),
    "attn-n": norms.summed_weighted_norm,
    "attnres-n": norms.attnres_norm,
    "attnresln-n": norms.attnresln_norm,
}


def _has_norms(trace: Trace) -> bool:
    """Whether the model's own weights can be read: a family with an adapter, run by a Lens."""
    if not trace.has_neurons:
        return False
    try:
        layer_module(trace, 0)
    except ModelError:
        return False
    return True


def has_gates(trace: Trace) -> bool:
    """Gates are patterns of queries among their own keys."""
    return trace.key_encoding is None


def measures(trace: Trace) -> list[str]:
    """The measures of a head that this trace has."""
    return list(MEASURES) if _has_norms(trace) else ["weight"]


def layer_maps(trace: Trace) -> list[str]:
    """The maps of a whole layer that this trace has."""
    return list(LAYER_MAPS) if _has_norms(trace) else []


def layer_norms(trace: Trace, layer: int) -> Tensor:
    """(H, S) ‖f(x_j)‖ of a layer's heads: with α, all that the page needs for ‖αf(x)‖ and the difference."""
    return norms.transformed_norm(trace, layer).float()


def thumbnails(trace: Trace, measure: str) -> tuple[Tensor, Tensor]:
    """Thumbnails of a measure other than the weight: uint8 (L, H, t, t), float32 (L, H); see attention.pooled."""

    def values(layer: int) -> Tensor:
        alpha = trace.attention(layer)
        passed_on = alpha * layer_norms(trace, layer)[:, None]
        if measure == "norm":
            return passed_on
        return alpha - passed_on / passed_on.sum(-1, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)

    return attention.pooled(map(values, range(trace.n_layers)), signed=measure == "difference")


def gate_labels(trace: Trace, threshold: float, margin: float) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Labels and scores of all heads in both views: fields {names, labels}, arrays full and content (L, H, G)."""
    fields: dict[str, Any] = {"names": list(gates.GATES), "threshold": threshold, "margin": margin, "labels": {}}
    arrays = {}
    for view in ("full", "content"):
        scores = _gate_scores(trace, view)
        fields["labels"][view] = gates.label(scores, threshold, margin).tolist()
        arrays[view] = torch.stack(list(scores.values()), -1).float()
    return fields, arrays


_scores_of: WeakKeyDictionary[Trace, dict[str, dict[str, Tensor]]] = WeakKeyDictionary()


def _gate_scores(trace: Trace, view: str) -> dict[str, Tensor]:
    """Scores do not depend on the thresholds that a reader moves: kept as long as the trace."""
    kept = _scores_of.setdefault(trace, {})
    if view not in kept:
        kept[view] = head_scores(trace, view)
    return kept[view]


def gate_evidence(
    trace: Trace, layer: int, head: int, gate: str, view: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The cells that made a head's score for a gate: fields, and cells uint8 (S, S)."""
    found = gates.evidence(trace.attention(layer)[head], trace.special_mask, gate, trace.segments, view=view)
    fields = {"layer": layer, "head": head, "gate": gate, "pattern": found.pattern, "detail": found.detail}
    return json_safe(fields | {"mass": found.mass}), {"cells": found.cells.to(torch.uint8)}


def page_layer_maps(trace: Trace) -> list[str]:
    """The maps of a whole layer that a page without a kernel carries: none for long texts."""
    return layer_maps(trace) if trace.n_tokens <= MOST_TOKENS else []


def questions(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The questions beside heads that a page without a kernel can be asked about some layers, as the page asks them."""
    if has_gates(trace):
        yield {"op": "gates", "threshold": gates.THRESHOLD, "margin": gates.MARGIN}
    if not _has_norms(trace):
        return
    for measure in MEASURES[1:]:
        yield {"op": "thumbs", "measure": measure}
    for layer in layers:
        yield {"op": "norms", "layer": layer}
        for kind in page_layer_maps(trace):
            yield {"op": "layer_map", "layer": layer, "kind": kind}
