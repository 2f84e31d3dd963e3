"""What answers hold of heads: one of them, norms, thumbnails of a measure, statistics, rows, maps of a layer.

Each is (fields, arrays) of one trace and small: (H, S) norms instead of (H, S, S) products, pooled thumbnails, one
(S, S) map. A head travels as q, k, scaling, mask and the log-sum-exp of its rows, and where its family adds something
to q·k as the few numbers that make it: any window of its weights is then exp(q·k · scaling + terms + mask - lse) on the
page, without the rest of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from typing_extensions import NotRequired, TypedDict

from ...base.limits import LIMITS, within
from ...base.vocabulary import LAYER_MAPS, LayerMap
from ...base.wire import AnyArray, Float32, Uint8
from ...errors import InputError, ModelError, SelectionError
from ...measures import byhead, norms
from ...measures.layer_maps import layer_map as map_of_layer
from ...measures.offers import offers
from ...measures.thumbnails import steps_of_heads as thumbnail_steps
from ...measures.thumbnails import thumbnails as thumbnails_of
from ...run.attention_weights import mask_of, mask_rows
from ...run.record import Layer
from ...trace.trace import Trace
from ..messages.records import Nothing
from ..messages.turns import PATIENCE, ask_again, by_heads
from .term_arrays import TermFields, hiding, term_arrays

ROWS = 256  # of a mask that are looked at together


class Band(TypedDict):
    """How many keys a query sees to its left and right."""

    left: int
    right: int


class MaskFields(TypedDict, total=False):
    mask: str  # "full", "causal", "band", or the array that says it: "bits", "bias"
    band: Band


class HeadFields(MaskFields, TermFields):
    layer: int
    head: int
    scaling: NotRequired[float]
    decimals: NotRequired[int]  # of its weights, where the rounded ones of a page's model leave fewer


# q and k (S, d), lse (S,), bits or bias, and those of terms; or attention (S, K) where they do not make it
HeadArrays = dict[str, AnyArray]


class ValueNorms(TypedDict):
    norms: Float32  # (H, S) ‖f(x_j)‖


class Thumbnails(TypedDict):
    thumbs: Uint8  # (L, H, t, t)
    thumb_max: Float32  # (L, H)


class Names(TypedDict):
    names: list[str]


class HeadStatistics(TypedDict):
    stats: Float32  # (L, H, names)
    received: Float32  # (L, H, K) what each key gets, mean over queries


class QueryRows(TypedDict):
    """(L, H, K), the mean over queries; norm and share where there are norms."""

    weight: Float32
    norm: NotRequired[Float32]  # ‖αf(x)‖
    share: NotRequired[Float32]  # of the row's norm


class MapValues(TypedDict):
    values: Float32  # (S, S)


def head(trace: Trace, layer: int, head: int) -> tuple[HeadFields, HeadArrays]:
    """One head: q, k, lse, scaling, mask and terms, or attention where they do not make it."""
    fields: HeadFields = {"layer": layer, "head": head}
    if not trace.has_neurons or head in trace.changed_weights(layer):
        return fields, {"attention": trace.attention_heads(layer, head, head + 1)[0].float().contiguous()}
    record = trace.record.layers[layer]
    mask, arrays = _layer_mask(trace, hiding(record, head), layer, head)
    terms, term_numbers = term_arrays(record, head)
    fields |= {"scaling": float(trace.scaling(layer)), **mask, **terms}
    lse = trace.log_sum_exp(layer, head)
    q, k = trace.query(layer)[head].float(), trace.key(layer)[head].float()
    return fields, {"q": q, "k": k, "lse": lse} | arrays | term_numbers


def _layer_mask(trace: Trace, record: Layer, layer: int, head: int) -> tuple[MaskFields, HeadArrays]:
    """A head's mask as the page reads it. One that all heads share and that has a name is read once for a layer."""
    kind, named = mask_of(record), trace.kept("named masks", dict[int, MaskFields])
    if kind in ("full", "causal"):
        return {"mask": kind}, {}
    if layer in named:
        return named[layer], {}
    fields, arrays = _mask(trace.n_tokens, lambda rows: mask_rows(record, head, rows))
    if not arrays and kind == "shared":
        named[layer] = fields
    return fields, arrays


def _mask(size: int, rows_of: Callable[[slice], Tensor]) -> tuple[MaskFields, HeadArrays]:
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


def _band(first: Tensor, last: Tensor, size: int) -> Band | None:
    """As the first and the last query say."""
    if not bool(first.any()) or not bool(last.any()):
        return None
    to_left = max(0, size - 1 - int(last.nonzero()[0]))  # the last query sees nothing less far to its left
    return {"left": to_left, "right": max(0, int(first.nonzero()[-1]))}


def _within(band: Band, rows: slice, like: Tensor) -> Tensor:
    """(R, K) what these queries see of a band, as in local layers."""
    queries = torch.arange(rows.start, rows.stop, device=like.device)[:, None]
    keys = torch.arange(like.shape[1], device=like.device)
    return (keys >= queries - band["left"]) & (keys <= queries + band["right"])


def layer_norms(trace: Trace, layer: int) -> tuple[Nothing, ValueNorms]:
    """‖f(x_j)‖ of a layer's heads: with α, all that the page needs for ‖αf(x)‖ and the difference."""
    return {}, {"norms": norms.transformed_norm(trace, layer).float()}


def thumbnails(trace: Trace, measure: str, layer: int | None = None) -> tuple[Nothing, Thumbnails]:
    """Thumbnails of a measure other than the weight.

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


def head_statistics(trace: Trace, by: str, layer: int | None = None) -> tuple[Names, HeadStatistics]:
    """Statistics of all heads, or a layer's, by weight or norm."""
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


def query_rows(trace: Trace, query: int, last: int) -> tuple[Nothing, QueryRows]:
    """Rows of all heads for the queries `query` … `last`, their mean."""
    if last < query:
        raise SelectionError(f"the last query {last} is before the first, {query}")
    rows = byhead.query_rows(trace, query, last + 1, not offers(trace)["norms"])
    norms: Any = {name: rows[name] for name in ("norm", "share") if name in rows}
    return {}, {"weight": rows["weight"], **norms}


def layer_maps(trace: Trace) -> list[LayerMap]:
    """The maps of a whole layer that a trace offers."""
    reasons = offers(trace)
    return [word for word in LAYER_MAPS.values() if not word.needs or not reasons[word.needs]]


def layer_map(trace: Trace, layer: int, kind: str) -> tuple[Nothing, MapValues]:
    """A map of a whole layer. Raises ModelError where there is none, InputError for a text that is too long."""
    if not within("layer_map", trace.n_tokens):
        raise InputError(
            f"maps of a whole layer are shown of texts of at most {LIMITS['layer_map'].tokens:,} tokens, this one has "
            f"{trace.n_tokens:,}: choose a head, whose map is drawn at any length"
        )
    return {}, {"values": map_of_layer(trace, layer, kind)}
