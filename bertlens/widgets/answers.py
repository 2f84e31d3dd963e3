"""What the page can ask of a trace beyond its heads: norms, thumbnails of a measure, maps of a whole layer.

Each answer is small: (H, S) norms instead of (H, S, S) products, pooled thumbnails, one (S, S) map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from ..errors import ModelError
from ..measures import attention, norms
from ..measures.block import layer_module
from ..trace import Trace

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


def page_layer_maps(trace: Trace) -> list[str]:
    """The maps of a whole layer that a page without a kernel carries: none for long texts."""
    return layer_maps(trace) if trace.n_tokens <= MOST_TOKENS else []


def questions(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The questions beside heads that a page without a kernel can be asked about some layers, as the page asks them."""
    if not _has_norms(trace):
        return
    for measure in MEASURES[1:]:
        yield {"op": "thumbs", "measure": measure}
    for layer in layers:
        yield {"op": "norms", "layer": layer}
        for kind in page_layer_maps(trace):
            yield {"op": "layer_map", "layer": layer, "kind": kind}
