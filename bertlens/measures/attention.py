"""What each head's attention weights look like, in one table per trace, and small pictures of them.

Everything goes layer by layer: the maps of all layers never exist at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d

from ..trace import Trace

NAMES = ("previous", "next", "self", "first", "separator", "special", "same_segment", "entropy", "k90", "max")


def summary(trace: Trace) -> dict[str, Tensor]:
    """Ten numbers per head: name -> float32 (L, H).

    previous, next, self, first, separator, special: Σ α over those (query, key) pairs ÷ number of query tokens n, in
    [0, 1]; the way of Clark et al. 2019, section 3 (special rows included). first is position 0, separator every
    separator of the template (NaN if there is none), special every template token.
    same_segment: attention to the query's own text, mean over queries, in [0, 1]; NaN for a single text.
    entropy: −Σ α ln α in nats, mean over queries, in [0, ln K]. k90: least number of keys that hold 0.9 of the
    attention (to 1e-6), mean over queries, in [1, K]. max: the largest weight of the head, in [0, 1].
    Cross-attention has no previous, next, self and same_segment: NaN.
    """
    square = trace.key_encoding is None
    separators, special = trace.key_separator_mask, trace.key_special_mask
    same = trace.segments[:, None] == trace.key_segments[None, :]
    two_texts = square and bool(trace.segments.any())
    columns: dict[str, list[Tensor]] = {name: [] for name in NAMES}
    for layer in range(trace.n_layers):
        alpha = trace.attention(layer)
        n = alpha.shape[1]
        unknown = alpha.new_full((alpha.shape[0],), torch.nan)
        ordered = descending(alpha).cumsum(-1)
        keys = ((ordered < 0.9 - 1e-6).sum(-1) + 1).float().masked_fill(alpha.isnan().any(-1), torch.nan)
        values = {
            "previous": alpha.diagonal(-1, 1, 2).sum(-1) / n if square else unknown,
            "next": alpha.diagonal(1, 1, 2).sum(-1) / n if square else unknown,
            "self": alpha.diagonal(0, 1, 2).sum(-1) / n if square else unknown,
            "first": alpha[:, :, 0].sum(-1) / n,
            "separator": alpha[:, :, separators].sum((1, 2)) / n if separators.any() else unknown,
            "special": alpha[:, :, special].sum((1, 2)) / n,
            "same_segment": (alpha * same).sum((1, 2)) / n if two_texts else unknown,
            "entropy": -torch.xlogy(alpha, alpha).sum(-1).mean(-1),
            "k90": keys.mean(-1),
            "max": alpha.amax((1, 2)),
        }
        for name, value in values.items():
            columns[name].append(value.float())
    return {name: torch.stack(column) for name, column in columns.items()}


def descending(alpha: Tensor) -> Tensor:
    """Rows from the largest to the smallest. On a CPU numpy sorts rows of floats tens of times faster than torch."""
    if alpha.device.type == "cpu":
        return torch.from_numpy(np.sort(alpha.numpy(), axis=-1)).flip(-1)
    return alpha.sort(-1, descending=True).values


def thumbnails(trace: Trace, size: int = 32) -> tuple[Tensor, Tensor]:
    """Every head's map, max-pooled to at most size x size, in 256 steps: (uint8 (L, H, t, t'), float32 (L, H)).

    The second is each head's largest weight m: a pixel is round(255 · w / m) for the largest weight w that it covers.
    """
    return pooled(map(trace.attention, range(trace.n_layers)), size)


def pooled(maps: Iterable[Tensor], size: int = 32, signed: bool = False) -> tuple[Tensor, Tensor]:
    """Maps (H, S, K) of successive layers as small pictures, each pixel the cell largest in size that it covers.

    Returns uint8 (L, H, t, t') and each map's largest absolute value m, float32 (L, H). A pixel is round(255 · x / m),
    or, where `signed`, round(127.5 + 127.5 · x / m).
    """
    pictures, largest = [], []
    for values in maps:
        values = values.float()
        shape = (min(size, values.shape[1]), min(size, values.shape[2]))
        picture = adaptive_max_pool2d(values, shape)
        if signed:
            low = -adaptive_max_pool2d(-values, shape)
            picture = torch.where(picture >= -low, picture, low)
        top = picture.abs().amax((1, 2))
        share = picture / top.clamp_min(torch.finfo(torch.float32).tiny)[:, None, None]
        steps = (127.5 + 127.5 * share if signed else 255 * share).round()
        pictures.append(steps.nan_to_num(0).to(torch.uint8))
        largest.append(top)
    return torch.stack(pictures), torch.stack(largest)
