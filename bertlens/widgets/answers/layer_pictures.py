"""What the atlas shows of a layer: a thumbnail and statistics of each head. Made when asked for, kept with the trace.

Some rows of a few heads exist at a time, so that memory grows neither with S² nor with the number of heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from ...base.generators import Steps
from ...measures.rows import Here, Roles, Rows, passing
from ...measures.statistics import ATLAS_NAMES, Fraction, fractions, means
from ...measures.thumbnails import SIDE, Pooled
from ...trace.trace import Trace
from ..turns import PATIENCE, ask_again, by_heads

NAMES = ("thumbs", "thumb_max", "stats")


def layer_pictures(trace: Trace, layer: int, patience: float = math.inf) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Thumbnails and statistics of a layer's heads.

    Arrays: thumbs uint8 (H, t, t') and thumb_max float32 (H), see measures.thumbnails; stats float32
    (H, len(ATLAS_NAMES)). Where they take longer than `patience` (s), the field "again" says to ask once more: what is
    done is kept.
    """
    memo = trace.kept("thumbnails", dict[int, dict[str, Tensor]])
    if layer not in memo:
        groups = by_heads(trace, layer, lambda here, heads: _pictures(here, layer, heads), "pictures", patience)
        if groups is None:
            return ask_again()
        memo[layer] = dict(zip(NAMES, map(torch.cat, zip(*groups, strict=True)), strict=True))
    return {"layer": layer}, memo[layer]


def layer_pictures_in_turn(trace: Trace, layer: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
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
        for name, array in layer_pictures(trace, layer)[1].items():
            arrays[name][layer] = array
    return arrays


@torch.no_grad()
def _pictures(here: Here, layer: int, heads: slice) -> Steps[tuple[Tensor, ...]]:
    """Of some heads, in the order of NAMES; in steps of some rows."""
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
