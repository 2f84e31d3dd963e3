"""What answers hold: a head, norms, thumbnails of a measure, maps of a layer, gates, the norm and geometry views.

Each is (fields, arrays) of one trace and small: (H, S) norms instead of (H, S, S) products, pooled thumbnails, one
(S, S) map. A head travels as q, k, scaling, mask and the log-sum-exp of its rows, and where its family adds something
to q·k as the few numbers that make it: any window of its weights is then exp(q·k · scaling + terms + mask - lse) on the
page, without the rest of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...base.limits import LIMITS, within
from ...base.vocabulary import LAYER_MAPS, LayerMap
from ...errors import InputError, ModelError, SelectionError
from ...measures import byhead, categories, gates, geometry, norms, spectra
from ...measures.gates.classify import pattern_steps
from ...measures.gates.names import scores_of
from ...measures.gates.patterns import PatternScores
from ...measures.geometry import projection
from ...measures.layer_maps import layer_map as map_of_layer
from ...measures.leading import advance, leading
from ...measures.offers import offers
from ...measures.rows import blocks
from ...measures.thumbnails import steps_of_heads as thumbnail_steps
from ...measures.thumbnails import thumbnails as thumbnails_of
from ...run.attention_weights import mask_of, mask_rows
from ...run.record import Layer
from ...trace.trace import Trace
from ..records import Answer
from ..turns import PATIENCE, advanced, ask_again, by_heads, passed
from .term_arrays import hiding, term_arrays

ROWS = 256  # of a mask that are looked at together
MOST_VALUES = 64  # singular values that are drawn


def head(trace: Trace, layer: int, head: int) -> Answer:
    """One head: q and k (S, d), lse (S,), scaling, mask and terms, or attention (S, K) where they do not make it."""
    fields: dict[str, Any] = {"layer": layer, "head": head}
    if not trace.has_neurons or head in trace.changed_weights(layer):
        return fields, {"attention": trace.attention_heads(layer, head, head + 1)[0].float().contiguous()}
    record = trace.record.layers[layer]
    mask, arrays = _layer_mask(trace, hiding(record, head), layer, head)
    terms, term_numbers = term_arrays(record, head)
    fields |= {"scaling": float(trace.scaling(layer)), **mask, **terms}
    lse = trace.log_sum_exp(layer, head)
    q, k = trace.query(layer)[head].float(), trace.key(layer)[head].float()
    return fields, {"q": q, "k": k, "lse": lse} | arrays | term_numbers


def _layer_mask(trace: Trace, record: Layer, layer: int, head: int) -> Answer:
    """A head's mask as the page reads it. One that all heads share and that has a name is read once for a layer."""
    kind, named = mask_of(record), trace.kept("named masks", dict[int, dict[str, Any]])
    if kind in ("full", "causal"):
        return {"mask": kind}, {}
    if layer in named:
        return named[layer], {}
    fields, arrays = _mask(trace.n_tokens, lambda rows: mask_rows(record, head, rows))
    if not arrays and kind == "shared":
        named[layer] = fields
    return fields, arrays


def _mask(size: int, rows_of: Callable[[slice], Tensor]) -> Answer:
    """A name, how far a query sees to both sides, packed bits, or the bias itself; of some rows at a time."""
    band = _band(rows_of(slice(0, 1))[0] != -torch.inf, rows_of(slice(size - 1, size))[0] != -torch.inf, size)
    bits, full = [], True
    for start in range(0, size, ROWS):
        rows = slice(start, min(start + ROWS, size))
        bias = rows_of(rows)
        visible = bias != -torch.inf
        if not bool((bias[visible] == 0).all()):
            return {"mask": "bias"}, {"bias": rows_of(slice(0, size)).float().contiguous()}
        full = full and bool(visible.all())
        band = band if band and torch.equal(visible, _within(band, rows, visible)) else None
        bits.append(np.packbits(visible.cpu().numpy(), axis=1, bitorder="little"))
    if full:
        return {"mask": "full"}, {}
    return ({"mask": "band", "band": band}, {}) if band else ({"mask": "bits"}, {"bits": np.concatenate(bits)})


def _band(first: Tensor, last: Tensor, size: int) -> dict[str, int] | None:
    """How many keys a query sees to its left and right, as the first and the last query say."""
    if not bool(first.any()) or not bool(last.any()):
        return None
    to_left = max(0, size - 1 - int(last.nonzero()[0]))  # the last query sees nothing less far to its left
    return {"left": to_left, "right": max(0, int(first.nonzero()[-1]))}


def _within(band: dict[str, int], rows: slice, like: Tensor) -> Tensor:
    """(R, K) what these queries see of a band, as in local layers."""
    queries = torch.arange(rows.start, rows.stop, device=like.device)[:, None]
    keys = torch.arange(like.shape[1], device=like.device)
    return (keys >= queries - band["left"]) & (keys <= queries + band["right"])


def layer_norms(trace: Trace, layer: int) -> Answer:
    """(H, S) ‖f(x_j)‖ of a layer's heads: with α, all that the page needs for ‖αf(x)‖ and the difference."""
    return {}, {"norms": norms.transformed_norm(trace, layer).float()}


def _layers(trace: Trace, layer: int | None) -> Sequence[int]:
    """All layers, or the one that was asked for: a page asks for a long text's one after the other."""
    return range(trace.n_layers) if layer is None else [layer]


def thumbnails(trace: Trace, measure: str, layer: int | None = None) -> Answer:
    """Thumbnails of a measure other than the weight: thumbs uint8 (L, H, t, t), thumb_max (L, H).

    layer: of this one alone, L = 1.
    """
    if layer is None:
        thumbs, largest = thumbnails_of(trace, measure)
        return {}, {"thumbs": thumbs, "thumb_max": largest}
    groups = by_heads(trace, layer, lambda here, heads: thumbnail_steps(here, layer, heads, measure), measure, PATIENCE)
    if groups is None:
        return ask_again()
    thumbs, largest = (torch.cat(pieces)[None] for pieces in zip(*groups, strict=True))
    return {}, {"thumbs": thumbs, "thumb_max": largest}


def head_statistics(trace: Trace, by: str, layer: int | None = None) -> Answer:
    """Statistics of all heads, or a layer's, by weight or norm: names; arrays stats (L, H, n), received (L, H, K)."""
    if by == "norm" and (reason := offers(trace)["norms"]):
        raise ModelError(reason)
    if layer is not None:
        of = ("statistics", by)
        groups = by_heads(trace, layer, lambda here, heads: byhead.steps_of_heads(here, layer, heads, by), of, PATIENCE)
        if groups is None:
            return ask_again()
        table = byhead.joined(groups)
    else:
        table = byhead.statistics(trace, by)
    return {"names": list(table.names)}, {"stats": table.values, "received": table.received}


def query_rows(trace: Trace, query: int, last: int) -> Answer:
    """Rows of all heads for the queries `query` … `last`, their mean: weight; norm and share if there are norms."""
    if last < query:
        raise SelectionError(f"the last query {last} is before the first, {query}")
    return {}, dict(byhead.query_rows(trace, query, last + 1, not offers(trace)["norms"]))


def layer_maps(trace: Trace) -> list[LayerMap]:
    """The maps of a whole layer that a trace offers."""
    reasons = offers(trace)
    return [word for word in LAYER_MAPS.values() if not word.needs or not reasons[word.needs]]


def layer_map(trace: Trace, layer: int, kind: str) -> Answer:
    """(S, S) a map of a whole layer. Raises ModelError where there is none, InputError for a text that is too long."""
    if not within("layer_map", trace.n_tokens):
        raise InputError(
            f"maps of a whole layer are shown of texts of at most {LIMITS['layer_map'].tokens:,} tokens, this one has "
            f"{trace.n_tokens:,}: choose a head, whose map is drawn at any length"
        )
    return {}, {"values": map_of_layer(trace, layer, kind)}


def gate_labels(trace: Trace, threshold: float, margin: float, layer: int | None = None) -> Answer:
    """Labels and scores of all heads in both views, at the length of this text; arrays full and content (L, H, G).

    layer: of this one alone, L = 1, or, where that takes long, "again": see turns.by_heads.

    Fields: names, labels, threshold and margin as asked, content_tokens (how many), least: what a score has
    to reach at this length, None where no score gives a label.
    """
    if layer is not None and not all(_scored(trace, view, layer, PATIENCE) for view in gates.VIEWS):
        return ask_again()
    content = int((~trace.special_mask).sum())
    bound = gates.threshold_at(content, threshold)
    fields: dict[str, Any] = {"names": list(gates.GATES), "threshold": threshold, "margin": margin, "labels": {}}
    fields |= {"content_tokens": content, "least": bound if math.isfinite(bound) else None}
    arrays = {}
    for view in gates.VIEWS:
        scores = gate_scores(trace, view, _layers(trace, layer))
        fields["labels"][view] = gates.label(scores, threshold, margin)
        arrays[view] = torch.stack(list(scores.values()), -1).float()
    return fields, arrays


def _gate_scores(trace: Trace) -> dict[tuple[str, int], gates.Scores]:
    return trace.kept("gate scores", dict[tuple[str, int], gates.Scores])


def _gate_patterns(trace: Trace) -> dict[tuple[str, int], list[PatternScores]]:
    """Of each head, behind the scores."""
    return trace.kept("gate patterns", dict[tuple[str, int], list[PatternScores]])


def gate_scores(trace: Trace, view: str, layers: Sequence[int] | None = None) -> gates.Scores:
    """`gates.head_scores`, each layer's computed once: they do not depend on thresholds, which a reader moves."""
    numbers = range(trace.n_layers) if layers is None else layers
    for layer in numbers:
        _scored(trace, view, layer)
    return gates.joined([_gate_scores(trace)[view, layer] for layer in numbers])


def _scored(trace: Trace, view: str, layer: int, patience: float = math.inf) -> bool:
    """Whether a layer's scores are kept, once that has been tried for so many seconds."""
    memo = _gate_scores(trace)
    if (view, layer) not in memo:
        groups = by_heads(trace, layer, lambda here, heads: pattern_steps(here, layer, heads, view), view, patience)
        if groups is None:
            return False
        scores = gates.joined([scores_of(group) for group in groups])
        if within("saved", trace.n_tokens):  # a page asks for the evidence of every head
            _gate_patterns(trace)[view, layer] = [each for group in groups for each in group.by_map()]
        memo[view, layer] = gates.Scores({gate: values[None].cpu() for gate, values in scores.items()}, scores.n)
    return True


def clearest_gate(trace: Trace, layer: int, head: int, view: str) -> str:
    """The gate with a head's highest score."""
    scores = {name: float(score[0, head]) for name, score in gate_scores(trace, view, [layer]).items()}
    return max(scores, key=scores.__getitem__)


def gate_evidence(trace: Trace, layer: int, head: int, gate: str, view: str) -> Answer:
    """The cells that made a head's score for a gate: fields, and cells, eight (S · S, row by row) to a byte."""
    heads = slice(head, head + 1)
    evidence = gates.evidence_of_rows(
        lambda: ((start, key, weights[0]) for start, key, weights in blocks(trace, layer, heads)),
        trace.special_mask,
        gate,
        trace.segments,
        view=view,
        patterns=known[head] if (known := _gate_patterns(trace).get((view, layer))) else None,
    )
    fields = {"layer": layer, "head": head, "gate": gate, "pattern": evidence.pattern, "detail": evidence.detail}
    return fields | {"mass": evidence.mass}, {"cells": np.packbits(evidence.cells.cpu().numpy())}


def norm_view(trace: Trace) -> Answer:
    """Weight and norm by kind of token, mixing ratios (js/src/tabs/norms/weightandnorm.tsx). "again": see turns."""
    if not within("saved", trace.n_tokens) and not passed(trace, PATIENCE):
        return ask_again()
    per = "cell" if within("by_cell", trace.n_tokens) else "key"
    shares, cancelling = categories.shares(trace), categories.cancelling(trace, per=per)
    mixing = norms.mixing_ratios(trace)
    fields = {
        "categories": list(categories.NAMES),
        "methods": list(mixing),
        "pooled": cancelling.pooled,
        "per": per,
    }
    return fields, {
        "category": categories.categories(trace).int(),
        "shares": torch.stack([shares.attention, shares.norm], 1).float(),
        "mixing": torch.stack(list(mixing.values())).float(),
        "norms": torch.stack([norms.transformed_norm(trace, layer).float() for layer in range(trace.n_layers)]),
        "within": cancelling.within.float(),
    }


def layer_rows(trace: Trace) -> Answer:
    """The layer table as plain rows."""
    return {"rows": geometry.layer_rows(trace)}, {}


def stream(trace: Trace, station: int, method: str) -> Answer:
    """Tokens at one station of the stream on a plane, and their nearest by cosine (js/src/tabs/geometry/stream.tsx)."""
    plane = projection.project(trace, station, method)
    neighbours, cosines = projection.nearest(projection.station(trace, station))
    fields = {"station": station, "method": method, "umap": projection.has_umap()}
    fields["share"] = None if plane.share is None else plane.share.tolist()
    return fields, {"points": plane.points.float(), "near": neighbours.int(), "cosines": cosines.float()}


def histograms(trace: Trace, layer: int, head: int) -> Answer:
    """Histograms of a head's vector norms."""
    bins = geometry.norm_histograms(trace, layer, head)
    return {"layer": layer, "head": head, "edges": bins.edges, "counts": bins.counts, "bounds": bins.bounds}, {}


def layer_ranks(trace: Trace, layer: int, head: int | None = None) -> Answer:
    """Effective ranks of a layer's heads, `spectra.layer_weights` of them and of the layer; spectra.

    Arrays: singular values ÷ the largest, of each head's vectors "query" … "context" (H, min(S, d)) and of its
    "attention" (H, at most MOST_VALUES).
    head: "attention" is of this one alone, NaN of the others, and made in turns ("again", see turns): for long texts,
    of whose maps measures.leading has the leading values.
    """
    spectra.requirements(trace, layer)  # the weights are still those of the trace
    heads = range(trace.n_heads) if head is None else [head]
    if head is not None and not advanced(lambda: advance(trace, layer, head), PATIENCE):
        return ask_again()
    matrices = spectra.head_vectors(trace, layer)
    by_name = {name: spectra.Spectrum.of(x) for name, x in matrices.items()}
    arrays = {name: (spectrum.values / spectrum.values[:, :1]).float() for name, spectrum in by_name.items()}
    ranks = {name: spectrum.effective_rank for name, spectrum in by_name.items()}
    ranks["attention"] = torch.full((trace.n_heads,), torch.nan, device="cpu")
    arrays["attention"] = torch.full((trace.n_heads, min(MOST_VALUES, trace.n_tokens)), torch.nan, device="cpu")
    for number in heads:
        maps = leading(trace, layer, number)
        ranks["attention"][number] = maps.effective_rank
        arrays["attention"][number] = (maps.values / maps.values[0])[:MOST_VALUES]
    of_heads, of_layer = spectra.layer_weights(*spectra.projections(trace.borrowed, layer))
    rows = [{name: float(rank[n]) for name, rank in ranks.items()} | of_heads[n] for n in range(trace.n_heads)]
    exact = within("spectrum", trace.n_tokens)
    return {"layer": layer, "heads": rows, "whole": of_layer, "dim": trace.head_dim, "exact": exact}, arrays
