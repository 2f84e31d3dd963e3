"""What the atlas shows of a layer: a thumbnail and statistics of each head. Made when asked for, kept with the trace.

The maps of a few heads exist at a time, so that memory does not grow with the number of heads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..measures import attention
from ..measures.rows import Roles
from ..trace import Trace

SAVED_TOKENS = 512  # of a text of which a view that is saved or exported holds what takes work for every layer
AT_ONCE = 4_000_000  # weights of the heads that are looked at together, or one head

_made: WeakKeyDictionary[Trace, dict[int, dict[str, Tensor]]] = WeakKeyDictionary()


def layer_pictures(trace: Trace, layer: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Thumbnails and statistics of a layer's heads.

    Arrays: thumbs uint8 (H, t, t') and thumb_max float32 (H), see measures.attention.pooled; stats float32
    (H, len(SUMMARY)).
    """
    made = _made.setdefault(trace, {})
    if layer not in made:
        made[layer] = _pictures(trace, layer)
    return {"layer": layer}, made[layer]


def all_pictures(trace: Trace, layers: Iterable[int]) -> dict[str, Tensor]:
    """The same with a first dimension for the layer; zeros and NaN where a layer is not among `layers`."""
    size = (trace.n_layers, trace.n_heads)
    sides = (min(attention.SIDE, trace.n_tokens), min(attention.SIDE, len(trace.key_tokens)))
    arrays = {
        "thumbs": torch.zeros(*size, *sides, dtype=torch.uint8, device="cpu"),
        "thumb_max": torch.zeros(size, device="cpu"),
        "stats": torch.full((*size, len(attention.SUMMARY)), torch.nan, device="cpu"),
    }
    for layer in layers:
        for name, array in layer_pictures(trace, layer)[1].items():
            arrays[name][layer] = array
    return arrays


@torch.no_grad()
def _pictures(trace: Trace, layer: int) -> dict[str, Tensor]:
    roles = Roles.of(trace)
    step = max(1, AT_ONCE // (trace.n_tokens * len(trace.key_tokens)))
    parts: dict[str, list[Tensor]] = {"thumbs": [], "thumb_max": [], "stats": []}
    for start in range(0, trace.n_heads, step):
        maps = trace.attention_heads(layer, start, min(start + step, trace.n_heads))
        thumbs, largest = attention.pooled([maps])
        for name, part in zip(parts, (thumbs[0], largest[0].float(), attention.of_maps(maps, roles)), strict=True):
            parts[name].append(part.cpu())
    return {name: torch.cat(part) for name, part in parts.items()}
