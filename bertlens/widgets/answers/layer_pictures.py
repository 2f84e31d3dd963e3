"""What the atlas shows of a layer: a thumbnail and statistics of each head. Made when asked for, kept with the trace.

Some rows of a few heads exist at a time, so that memory grows neither with S² nor with the number of heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor
from typing_extensions import TypedDict

from ...base.generators import Steps
from ...base.wire import Float32, Uint8
from ...measures.rows import Here, Roles, Rows, passing
from ...measures.statistics import ATLAS_NAMES, Fraction, fractions, means
from ...measures.thumbnails import SIDE, Pooled
from ...trace.trace import Trace
from ..messages.turns import PATIENCE, ask_again, by_heads


class OfLayer(TypedDict):
    layer: int


class LayerPictures(TypedDict):
    thumbs: Uint8  # (H, t, t'), see measures.thumbnails
    thumb_max: Float32  # (H,)
    stats: Float32  # (H, len(ATLAS_NAMES))


def layer_pictures(trace: Trace, layer: int, patience: float = math.inf) -> tuple[OfLayer, LayerPictures]:
    """Thumbnails and statistics of a layer's heads.

    Where they take longer than `patience` (s), the field "again" says to ask once more: what is done is kept.
    """
    memo = trace.kept("thumbnails", dict[int, LayerPictures])
    if layer not in memo:
        groups = by_heads(trace, layer, lambda here, heads: _pictures(here, layer, heads), "pictures", patience)
        if groups is None:
            return ask_again()
        thumbs, largest, stats = map(torch.cat, zip(*groups, strict=True))
        memo[layer] = {"thumbs": thumbs, "thumb_max": largest, "stats": stats}
    return {"layer": layer}, memo[layer]


def layer_pictures_in_turn(trace: Trace, layer: int) -> tuple[OfLayer, LayerPictures]:
    """`layer_pictures` for a page, which has other questions too."""
    return layer_pictures(trace, layer, PATIENCE)


def all_pictures(trace: Trace, layers: Iterable[int]) -> dict[str, Tensor]:
    """The same with a first dimension for the layer; zeros and NaN where a layer is not among `layers`."""
    size = (trace.n_layers, trace.n_heads)
    sides = (min(SIDE, trace.n_tokens), min(SIDE, len(trace.key_tokens)))
    arrays = {
        "thumbs": torch.zeros(*size, *sides, dtype=torch.uint8, device="cpu"),
        "thumb_max": torch.zeros(size, device="cpu"),
        "stats": torch.full((*size, len(ATLAS_NAMES)), torch.nan, device="cpu"),
    }
    for layer in layers:
        _, pictures = layer_pictures(trace, layer)
        arrays["thumbs"][layer], arrays["thumb_max"][layer] = pictures["thumbs"], pictures["thumb_max"]
        arrays["stats"][layer] = pictures["stats"]
    return arrays


@torch.no_grad()
def _pictures(here: Here, layer: int, heads: slice) -> Steps[tuple[Tensor, ...]]:
    """Of some heads, in the order of LayerPictures; in steps of some rows."""
    roles, tokens, keys = Roles.of(here()), here().n_tokens, len(here().key_tokens)
    pooled: Pooled | None = None
    totals: list[Fraction] = []
    for start, key, alpha in passing(here, layer, heads):
        pooled = pooled or Pooled(alpha, tokens, keys)
        pooled.add(alpha, start, key)
        totals = fractions(ATLAS_NAMES, Rows(alpha, roles, start, key), totals)
        yield
    assert pooled is not None
    return tuple(array.cpu() for array in (*pooled.pictures(), means(totals)))
