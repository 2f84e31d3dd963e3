"""What the atlas shows of a layer: a thumbnail and statistics of each head. Made when asked for, kept with the trace.

Some rows of a few heads exist at a time, so that memory grows neither with S² nor with the number of heads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..measures.attention import SUMMARY
from ..measures.rows import Counted, Roles, Rows, blocks, counted, head_groups, means
from ..measures.thumbnails import SIDE, Pooled
from ..trace import Trace

SAVED_TOKENS = 512  # of a text of which a view that is saved or exported holds what takes work for every layer

_made: WeakKeyDictionary[Trace, dict[int, dict[str, Tensor]]] = WeakKeyDictionary()


def layer_pictures(trace: Trace, layer: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Thumbnails and statistics of a layer's heads.

    Arrays: thumbs uint8 (H, t, t') and thumb_max float32 (H), see measures.thumbnails; stats float32
    (H, len(SUMMARY)).
    """
    made = _made.setdefault(trace, {})
    if layer not in made:
        made[layer] = _pictures(trace, layer)
    return {"layer": layer}, made[layer]


def all_pictures(trace: Trace, layers: Iterable[int]) -> dict[str, Tensor]:
    """The same with a first dimension for the layer; zeros and NaN where a layer is not among `layers`."""
    size = (trace.n_layers, trace.n_heads)
    sides = (min(SIDE, trace.n_tokens), min(SIDE, len(trace.key_tokens)))
    arrays = {
        "thumbs": torch.zeros(*size, *sides, dtype=torch.uint8, device="cpu"),
        "thumb_max": torch.zeros(size, device="cpu"),
        "stats": torch.full((*size, len(SUMMARY)), torch.nan, device="cpu"),
    }
    for layer in layers:
        for name, array in layer_pictures(trace, layer)[1].items():
            arrays[name][layer] = array
    return arrays


@torch.no_grad()
def _pictures(trace: Trace, layer: int) -> dict[str, Tensor]:
    roles = Roles.of(trace)
    parts: dict[str, list[Tensor]] = {"thumbs": [], "thumb_max": [], "stats": []}
    for heads in head_groups(trace, layer):
        pooled: Pooled | None = None
        found: Counted = []
        for start, first, alpha in blocks(trace, layer, heads):
            pooled = pooled or Pooled(alpha, trace.n_tokens, len(trace.key_tokens))
            pooled.add(alpha, start, first)
            found = counted(SUMMARY, Rows(alpha, roles, start, first), found)
        assert pooled is not None
        for name, part in zip(parts, (*pooled.pictures(), means(found)), strict=True):
            parts[name].append(part.cpu())
    return {name: torch.cat(part) for name, part in parts.items()}
