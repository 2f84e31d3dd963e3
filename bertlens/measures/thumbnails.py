"""Every head's map as a small picture, from some of its rows at a time: nothing of S × S is made."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d

from ..base.generators import Steps, run_to_end
from ..base.vocabulary.constants import THUMBNAIL_SIDE as SIDE
from ..trace.trace import Trace
from . import norms
from .byhead import norm_shares
from .rows import Here, blocks, head_groups, passing

TINY = torch.finfo(torch.float32).tiny


class Pooled:
    """Maps (H, S, K), as blocks of successive rows pass, as pictures: each pixel the cell largest in size it covers."""

    def __init__(self, like: Tensor, rows: int, keys: int, size: int = SIDE, signed: bool = False):
        shape = (min(size, rows), min(size, keys))
        self.shape, self.signed = shape, signed
        self.windows = [(rows * at // shape[0], -(-rows * (at + 1) // shape[0])) for at in range(shape[0])]
        self.peaks = like.new_zeros(len(like), shape[0], keys, dtype=torch.float32)
        self.troughs = torch.zeros_like(self.peaks) if signed else None

    def add(self, values: Tensor, start: int, first_key: int) -> None:
        """Rows (H, R, C) of the queries from `start` and the keys from `first_key` on; other keys' cells are 0."""
        stop, keys = start + values.shape[1], slice(first_key, first_key + values.shape[2])
        for at, (begin, end) in enumerate(self.windows):
            if begin >= stop or end <= start:
                continue
            covered = values[:, max(0, begin - start) : end - start]
            peaks = self.peaks[:, at, keys]
            torch.maximum(peaks, covered.amax(1), out=peaks)
            if self.troughs is not None:
                troughs = self.troughs[:, at, keys]
                torch.minimum(troughs, covered.amin(1), out=troughs)

    def pictures(self) -> tuple[Tensor, Tensor]:
        """uint8 (H, t, t') and each map's largest absolute value m, float32 (H).

        A pixel is round(255 · x / m), or, where `signed`, round(127.5 + 127.5 · x / m); 0 in a map with NaN.
        """
        grid = self.cells()
        top = grid.abs().amax((1, 2))
        share = grid / top.clamp_min(TINY)[:, None, None]
        steps = (127.5 + 127.5 * share if self.signed else 255 * share).round()
        return steps.nan_to_num(0).to(torch.uint8), top

    def cells(self) -> Tensor:
        """(H, t, t') float32: each the cell largest in size of those that a pixel covers."""
        grid = adaptive_max_pool2d(self.peaks, self.shape)
        if self.troughs is None:
            return grid
        low = -adaptive_max_pool2d(-self.troughs, self.shape)
        return torch.where(grid >= -low, grid, low)


@torch.no_grad()
def largest_weights(trace: Trace, layer: int, head: int, size: int) -> Tensor:
    """(t, t') float32, at most size x size: the largest weight of a head in each block of cells, NaN where one is."""
    pooled: Pooled | None = None
    for start, first_key, alpha in blocks(trace, layer, slice(head, head + 1)):
        pooled = pooled or Pooled(alpha, trace.n_tokens, len(trace.key_tokens), size)
        pooled.add(alpha, start, first_key)
    assert pooled is not None
    return pooled.cells()[0]


@torch.no_grad()
def thumbnails(
    trace: Trace, measure: str = "weight", size: int = SIDE, *, layers: Sequence[int] | None = None
) -> tuple[Tensor, Tensor]:
    """Every head's map as a picture of at most size x size pixels: (uint8 (L, H, t, t'), float32 (L, H)), see `Pooled`.

    measure: "weight" α, "norm" ‖αf(x)‖, "difference" α − its share of the row's norms. layers: only these.
    """
    by_layer = []
    for layer in range(trace.n_layers) if layers is None else layers:
        groups = [of_heads(trace, layer, heads, measure, size) for heads in head_groups(trace, layer)]
        by_layer.append([torch.cat(tensors) for tensors in zip(*groups, strict=True)])
    pictures, largest = (torch.stack(tensors) for tensors in zip(*by_layer, strict=True))
    return pictures, largest


def of_heads(trace: Trace, layer: int, heads: slice, measure: str, size: int = SIDE) -> tuple[Tensor, Tensor]:
    """`thumbnails` of some of a layer's heads: (uint8 (H', t, t'), float32 (H',))."""
    return run_to_end(steps_of_heads(lambda: trace, layer, heads, measure, size))


@torch.no_grad()
def steps_of_heads(
    here: Here, layer: int, heads: slice, measure: str, size: int = SIDE
) -> Steps[tuple[Tensor, Tensor]]:
    """`of_heads`, which yields after some rows."""
    lengths = None if measure == "weight" else norms.transformed_norm(here(), layer)
    tokens, keys = here().n_tokens, len(here().key_tokens)
    pooled: Pooled | None = None
    for start, first_key, alpha in passing(here, layer, heads):
        values = alpha
        if lengths is not None:
            passed_on = lengths[heads, first_key : first_key + alpha.shape[2]]
            if measure == "norm":
                values = alpha * passed_on.to(alpha.dtype)[:, None]
            else:
                values = alpha - norm_shares(alpha, passed_on)
        pooled = pooled or Pooled(alpha, tokens, keys, size, measure == "difference")
        pooled.add(values, start, first_key)
        yield
    assert pooled is not None
    return pooled.pictures()
