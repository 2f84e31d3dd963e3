"""What a layer does to its input: weight against norm, the layer table, the stream, lengths of vectors, spectra."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from typing_extensions import TypedDict

from ...base.limits import within
from ...base.wire import Float32, Int32
from ...measures import categories, geometry, norms, spectra
from ...measures.geometry import projection
from ...measures.leading import advance, leading
from ...trace.trace import Trace
from ..messages.records import Nothing
from ..messages.turns import PATIENCE, advanced, ask_again, passed

MOST_VALUES = 64  # singular values that are drawn


class NormFields(TypedDict):
    categories: list[str]
    methods: list[str]
    pooled: Annotated[Any, list[float | None]]  # Spearman's ρ of α and ‖f(x)‖, all heads of all layers together
    per: str  # what a point of ρ is: "cell" or "key"


class NormArrays(TypedDict):
    category: Int32  # (S,) of every token, an index into `categories`
    shares: Float32  # (L, 2, categories) mean share of attention, of norm
    mixing: Float32  # (methods, L, S)
    norms: Float32  # (L, H, S) ‖f(x)‖
    within: Float32  # (L, H, categories) each head's own ρ; NaN where it has too few points


class LayerRows(TypedDict):
    rows: Annotated[Any, list[dict[str, float | str | None]]]  # the layer table; "specials" alone is in words


class StreamFields(TypedDict):
    station: int  # 0 is what the first layer takes in, l + 1 what layer l hands on
    share: Annotated[Any, list[float | None]]  # of the variance, along each axis


class StreamArrays(TypedDict):
    points: Float32  # (S, 2)
    near: Int32  # (S, k) others, the nearest first
    cosines: Float32  # (S, k)


class Histograms(TypedDict):
    layer: int
    head: int
    edges: Annotated[Any, list[float]]
    counts: Annotated[Any, dict[str, list[float]]]
    bounds: Annotated[Any, dict[str, float | None]]  # σ_max(W) · max ‖x‖ + ‖b‖: no norm passes it


class LayerRanks(TypedDict):
    layer: int
    heads: Annotated[Any, list[dict[str, float | None]]]  # effective ranks, symmetry, directionality, overlaps, chance
    whole: Annotated[Any, dict[str, float | None]]  # of the layer's full W_QK
    dim: int
    exact: bool  # all singular values of attention were computed, not the leading ones


def norm_view(trace: Trace) -> tuple[NormFields, NormArrays]:
    """Weight and norm by kind of token, mixing ratios. "again": see turns."""
    if not within("saved", trace.n_tokens) and not passed(trace, PATIENCE):
        return ask_again()
    per = "cell" if within("by_cell", trace.n_tokens) else "key"
    shares, cancelling = categories.shares(trace), categories.cancelling(trace, per=per)
    mixing = norms.mixing_ratios(trace)
    fields: NormFields = {
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


def layer_rows(trace: Trace) -> tuple[LayerRows, Nothing]:
    """The layer table as plain rows."""
    return {"rows": geometry.layer_rows(trace)}, {}


def stream(trace: Trace, station: int) -> tuple[StreamFields, StreamArrays]:
    """Tokens at one station of the stream on a plane, and their nearest by cosine."""
    vectors = projection.station(trace, station)
    plane, (neighbours, cosines) = projection.pca(vectors), projection.nearest(vectors)
    assert plane.share is not None
    fields: StreamFields = {"station": station, "share": plane.share.tolist()}
    return fields, {"points": plane.points.float(), "near": neighbours.int(), "cosines": cosines.float()}


def histograms(trace: Trace, layer: int, head: int) -> tuple[Histograms, Nothing]:
    """Histograms of a head's vector norms."""
    bins = geometry.norm_histograms(trace, layer, head)
    return {"layer": layer, "head": head, "edges": bins.edges, "counts": bins.counts, "bounds": bins.bounds}, {}


def layer_ranks(trace: Trace, layer: int, head: int | None = None) -> tuple[LayerRanks, dict[str, Float32]]:
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
    return {"layer": layer, "heads": rows, "whole": of_layer, "dim": trace.head_dim or 0, "exact": exact}, arrays
