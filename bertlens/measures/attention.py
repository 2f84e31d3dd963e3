"""What each head's attention weights look like, in one table per trace, and small pictures of them.

Everything goes layer by layer: the maps of all layers never exist at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d

from ..trace import Trace
from .rows import Counted, Roles, Rows, blocks, counted, head_groups, means

SUMMARY = (
    "previous",
    "next",
    "self",
    "first",
    "separator",
    "special",
    "punctuation_all",
    "same_segment",
    "entropy",
    "k90",
    "max",
)

SIDE = 32  # pixels of a thumbnail, at most


def summary(trace: Trace, names: Sequence[str] = SUMMARY) -> dict[str, Tensor]:
    """Numbers of every head by weight: name -> float32 (L, H), NaN where the text has no such tokens or pairs.

    names: of vocabulary.STATISTICS, which says what each is and in which unit. Shares are Σ α over the pairs ÷ number
    of query tokens n, in [0, 1]; entropy in [0, ln K]; k90 in [1, K]. Clark et al. 2019, section 3.
    """
    roles = Roles.of(trace)
    layers = [
        torch.cat([_summed(trace, layer, heads, names, roles) for heads in head_groups(trace, layer)])
        for layer in range(trace.n_layers)
    ]
    return dict(zip(names, torch.stack(layers).unbind(-1), strict=True))


def _summed(trace: Trace, layer: int, heads: slice, names: Sequence[str], roles: Roles) -> Tensor:
    found: Counted = []
    for start, first, alpha in blocks(trace, layer, heads):
        found = counted(names, Rows(alpha, roles, start, first), found)
    return means(found)


def of_maps(maps: Tensor, roles: Roles, names: Sequence[str] = SUMMARY) -> Tensor:
    """The numbers of `summary` for some heads' maps (H, S, K): float32 (H, len(names))."""
    return means(counted(names, Rows(maps, roles)))


def mean_weight(trace: Trace, layer: int) -> Tensor:
    """(S, K) Attn-W: α's mean over the layer's heads."""
    return trace.attention(layer).mean(0)


def thumbnails(trace: Trace, size: int = SIDE) -> tuple[Tensor, Tensor]:
    """Every head's map, max-pooled to at most size x size, in 256 steps: (uint8 (L, H, t, t'), float32 (L, H)).

    The second is each head's largest weight m: a pixel is round(255 · w / m) for the largest weight w that it covers.
    """
    return pooled(map(trace.attention, range(trace.n_layers)), size)


def pooled(maps: Iterable[Tensor], size: int = SIDE, signed: bool = False) -> tuple[Tensor, Tensor]:
    """Maps (H, S, K) of successive layers as small pictures, each pixel the cell largest in size that it covers.

    Returns uint8 (L, H, t, t') and each map's largest absolute value m, float32 (L, H). A pixel is round(255 · x / m),
    or, where `signed`, round(127.5 + 127.5 · x / m).
    """
    grids, largest = [], []
    for values in maps:
        values = values.float()
        shape = (min(size, values.shape[1]), min(size, values.shape[2]))
        grid = adaptive_max_pool2d(values, shape)
        if signed:
            low = -adaptive_max_pool2d(-values, shape)
            grid = torch.where(grid >= -low, grid, low)
        top = grid.abs().amax((1, 2))
        share = grid / top.clamp_min(torch.finfo(torch.float32).tiny)[:, None, None]
        steps = (127.5 + 127.5 * share if signed else 255 * share).round()
        grids.append(steps.nan_to_num(0).to(torch.uint8))
        largest.append(top)
    return torch.stack(grids), torch.stack(largest)
