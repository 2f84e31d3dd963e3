"""What answers hold beyond a head: norms, thumbnails of a measure, maps of a layer, gates, the norm and geometry views.

Each is small: (H, S) norms instead of (H, S, S) products, pooled thumbnails, one (S, S) map.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from ..errors import ModelError
from ..measures import attention, categories, flow, gates, geometry, norms, spectra
from ..measures.gates.classify import head_scores
from ..trace import Trace
from ..wire import json_safe

MOST_VALUES = 64  # singular values that are drawn
MOST_TOKENS = 64  # of a page that carries maps of whole layers: they grow with the square
MEASURES = ("weight", "norm", "difference")

LAYER_MAPS: dict[str, Callable[[Trace, int], Tensor]] = {
    "attn-w": lambda trace, layer: trace.attention(layer).mean(0),
    "attn-n": norms.summed_weighted_norm,
    "attnres-n": norms.attnres_norm,
    "attnresln-n": norms.attnresln_norm,
    "rollout": lambda trace, layer: _rollout(trace)[layer],
    "globenc": flow.globenc,
    "alti": lambda trace, layer: flow.alti(trace, layer, progress=False),
    "value-zeroing": lambda trace, layer: flow.value_zeroing(trace, layer, progress=False),
}
PAGE_MAPS = ("attn-w", "attn-n", "attnres-n", "attnresln-n", "rollout")  # cheap enough to carry for all layers


_rollouts: WeakKeyDictionary[Trace, Tensor] = WeakKeyDictionary()


def _rollout(trace: Trace) -> Tensor:
    """(L, S, S) rollout of AttnResLn-N, kept as long as the trace: a layer's needs all layers before it."""
    if trace not in _rollouts:
        _rollouts[trace] = flow.rollout(trace)
    return _rollouts[trace]


def has_gates(trace: Trace) -> bool:
    """Gates are patterns of queries among their own keys; NaN has no pattern."""
    return trace.key_encoding is None and trace.nan_layer is None


def measures(trace: Trace) -> list[str]:
    """The measures of a head that this trace has."""
    return list(MEASURES) if norms.available(trace) else ["weight"]


def layer_maps(trace: Trace) -> list[str]:
    """The maps of a whole layer that this trace has."""
    return list(LAYER_MAPS) if norms.available(trace) else []


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
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The cells that made a head's score for a gate: fields, and cells, eight (S · S, row by row) to a byte."""
    found = gates.evidence(trace.attention(layer)[head], trace.special_mask, gate, trace.segments, view=view)
    fields = {"layer": layer, "head": head, "gate": gate, "pattern": found.pattern, "detail": found.detail}
    return json_safe(fields | {"mass": found.mass}), {"cells": np.packbits(found.cells.cpu().numpy())}


def norm_view(trace: Trace) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Weight against norm by kind of token, and mixing ratios: see js/src/views/norms.tsx."""
    per = "cell" if trace.n_tokens <= MOST_TOKENS else "key"
    shares, cancelling = categories.shares(trace), categories.cancelling(trace, per=per)
    mixing = norms.mixing_ratios(trace)
    fields = {
        "categories": list(categories.NAMES),
        "methods": list(mixing),
        "pooled": cancelling.pooled.tolist(),
        "per": per,
    }
    return json_safe(fields), {
        "category": categories.categories(trace).int(),
        "shares": torch.stack([shares.attention, shares.norm], 1).float(),
        "mixing": torch.stack(list(mixing.values())).float(),
        "norms": torch.stack([layer_norms(trace, layer) for layer in range(trace.n_layers)]),
        "within": cancelling.within.float(),
    }


def layer_rows(trace: Trace) -> dict[str, Any]:
    """The layer table as plain rows."""
    return json_safe({"rows": geometry.layer_table(trace).to_dict("records")})


def histograms(trace: Trace, layer: int, head: int) -> dict[str, Any]:
    """Histograms of a head's vector norms."""
    found = geometry.norm_histograms(trace, layer, head)
    return json_safe(
        {"layer": layer, "head": head, "edges": found.edges, "counts": found.counts, "bounds": found.bounds}
    )


def layer_ranks(trace: Trace, layer: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Effective ranks of a layer's heads, symmetry and directionality of their W_QK, and of the layer's; spectra.

    Arrays: singular values ÷ the largest, of each head's vectors "query" … "context" (H, min(S, d)) and of its
    "attention" (H, at most MOST_VALUES).
    """
    if trace.lens is None:
        raise ModelError("spectra need the model, and this view was made from attention maps")
    table = spectra.layer_spectra(trace, layer).pivot(index="head", columns="of", values="effective_rank")
    table["attention"] = spectra.attention_ranks(trace, layer)["effective_rank"].to_numpy()
    query, key = spectra.projections(trace.lens, layer)
    rows = []
    for head, row in enumerate(table.to_dict("records")):
        overlap = {"overlap": float(spectra.subspace_overlap(query[head], key[head]))}
        ranks = {str(name): float(value) for name, value in row.items()}
        rows.append(ranks | _symmetries(query[head], key[head]) | overlap)
    whole = _symmetries(query.flatten(0, 1), key.flatten(0, 1))  # all heads together span everything: no overlap
    context = trace.context(layer).unflatten(-1, (trace.n_heads, -1)).transpose(0, 1)
    vectors = {"query": trace.query(layer), "key": trace.key(layer), "value": trace.value(layer), "context": context}
    arrays = {name: _spectrum(x) for name, x in vectors.items()}
    arrays["attention"] = _spectrum(trace.attention(layer))[:, :MOST_VALUES].contiguous()
    return json_safe({"layer": layer, "heads": rows, "whole": whole, "dim": trace.head_dim}), arrays


def _spectrum(x: Tensor) -> Tensor:
    """(H, n) float32 singular values ÷ the largest of matrices (H, S, m)."""
    values = spectra.singular_values(x)
    return (values / values[:, :1]).float()


def _symmetries(query: Tensor, key: Tensor) -> dict[str, float]:
    return {
        "symmetry": float(spectra.symmetry_of(query, key)),
        "directionality": float(spectra.directionality_of(query, key)),
    }


def page_evidence(trace: Trace) -> bool:
    """Whether a page without a kernel carries the cells behind the gates: not for long texts."""
    return has_gates(trace) and trace.n_tokens <= MOST_TOKENS


def clearest_gate(trace: Trace, layer: int, head: int, view: str) -> str:
    """The gate with a head's highest score."""
    scores = {name: float(score[layer, head]) for name, score in _gate_scores(trace, view).items()}
    return max(scores, key=scores.__getitem__)


def page_layer_maps(trace: Trace) -> list[str]:
    """The maps of a whole layer that a page without a kernel carries: none for long texts."""
    there = layer_maps(trace) if trace.n_tokens <= MOST_TOKENS else []
    return [kind for kind in there if kind in PAGE_MAPS]
