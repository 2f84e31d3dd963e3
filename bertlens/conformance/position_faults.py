"""Faults of positions and segments: tables of embeddings, rotary and relative positions.

Each is (ModelParts) -> PassChange or None, as in forward_faults.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .hypothesis import ModelParts, PassChange, Way


def of_rotary(way: Way) -> Way:
    return lambda parts: way(parts) if _frequencies(parts) else None


def _frequencies(parts: ModelParts) -> dict[str, Tensor]:
    """The frequencies of rotary positions by name."""
    return {n: b for n, b in parts.base.named_buffers() if n.endswith("inv_freq") and "original" not in n}


def no_rotation(parts: ModelParts) -> PassChange | None:
    return PassChange(weights=lambda: {name: torch.zeros_like(b) for name, b in _frequencies(parts).items()})


def one_theta(source: str) -> Way:
    """ModernBERT: the frequencies of one kind of layer in both."""

    def way(parts: ModelParts) -> PassChange | None:
        current = _frequencies(parts)
        source_buffer = next((b for name, b in current.items() if source in name), None)
        return (
            PassChange(weights=lambda: dict.fromkeys(current, source_buffer))
            if source_buffer is not None and len(current) > 1
            else None
        )

    return way


def table(part: str, change: Callable[[Tensor], Tensor]) -> Way:
    """A table of embeddings, its rows changed."""

    def way(parts: ModelParts) -> PassChange | None:
        module: Any = parts.of_stream(part)
        if module is None or (part == "type" and (len(module.weight) < 2 or module is parts.of_stream("word"))):
            return None
        return PassChange(weights=lambda: parts.named({module.weight: change(module.weight.detach())}))

    return way


def later(n: int) -> Callable[[Tensor], Tensor]:
    """Positions that begin n later."""
    return lambda table: table[(torch.arange(len(table), device=table.device) + n).clamp(0, len(table) - 1)]


def begin_at(start: int) -> Way:
    """Positions that begin at a row of the table, where the family begins behind its padding's."""

    def way(parts: ModelParts) -> PassChange | None:
        table: Any = parts.of_stream("position")
        current = None if table is None or table.padding_idx is None else table.padding_idx + 1
        return None if current is None or current == start else table("position", later(start - current))(parts)

    return way


def segment(n: int) -> Callable[[Tensor], Tensor]:
    return lambda table: table[[n, *range(1, len(table))]]


def tensor(path: str, change: Callable[[Tensor], Tensor]) -> Way:
    """A tensor by the end of its name in the model."""

    def way(parts: ModelParts) -> PassChange | None:
        weights_of_path = {name: p for name, p in parts.base.named_parameters() if name.endswith(path)}
        return (
            PassChange(weights=lambda: {n: change(p.detach()) for n, p in weights_of_path.items()})
            if weights_of_path
            else None
        )

    return way


def mirrored_buckets(table: Tensor) -> Tensor:
    half = len(table) // 2  # the first half is of the past, from 0; the second of what follows, from 1
    return torch.cat([table[:1], table[half + 1 :], table[half : half + 1], table[1:half]])


def one_sided(table: Tensor) -> Tensor:
    half = len(table) // 2
    return torch.cat([table[:half], table[:1].expand(half, -1)])


def max_distance(parts: ModelParts) -> PassChange | None:
    encoder: Any = getattr(parts.base, "encoder", None)
    bucket = getattr(encoder, "relative_position_bucket", None)
    attribute = (encoder, "relative_position_bucket", partial(bucket, max_distance=64)) if bucket else None
    return PassChange(attributes=(attribute,)) if attribute else None


def mirrored_distances(table: Tensor) -> Tensor:
    return torch.cat([table[:1], table[1:].flip(0)])


def no_buckets(parts: ModelParts) -> PassChange | None:
    encoder: Any = getattr(parts.base, "encoder", None)
    has = getattr(encoder, "position_buckets", 0) > 0
    return PassChange(attributes=((encoder, "position_buckets", -1),)) if has else None
