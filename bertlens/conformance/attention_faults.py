"""Faults of the attention: scores, projections, heads, windows.

Each is (ModelParts) -> PassChange or None, as in forward_faults.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .hypothesis import ModelParts, PassChange, Way, refilled


def scores(factor: Callable[[int, int], float]) -> Way:
    """Scores times a factor of (width of a head, width of the model)."""

    def way(parts: ModelParts) -> PassChange | None:
        if parts.adapter is None:
            return None
        by = factor(parts.width // parts.heads, parts.width)

        def weights() -> dict[str, Tensor]:
            projections = [m for n, m in parts.base.named_modules() if n.endswith("pos_query_proj")]  # DeBERTa's
            tensors = [t for m in projections for t in (m.weight, m.bias) if t is not None]
            return refilled(parts, "query", lambda t: t * by) | parts.named({t: t * by for t in tensors})

        return PassChange(weights=weights)

    return way


def bias_out(kind: str) -> Way:
    def way(parts: ModelParts) -> PassChange | None:
        if parts.adapter is None or all(m.bias is None for m, _ in parts.projections(kind)):
            return None
        return PassChange(weights=lambda: refilled(parts, kind, torch.zeros_like, "bias"))

    return way


def swapped(parts: ModelParts) -> PassChange | None:
    if parts.adapter is None:
        return None

    def weights() -> dict[str, Tensor]:
        changed: dict[Tensor, Tensor] = {}
        pairs = zip(parts.projections("query"), parts.projections("key"), strict=True)
        for (query, rows), (key, others) in pairs:
            for name in ("weight", "bias"):
                a, b = getattr(query, name), getattr(key, name)
                if a is not None:
                    for tensor in (a, b):
                        changed.setdefault(tensor, tensor.detach().clone())
                    changed[a][rows], changed[b][others] = b.detach()[others], a.detach()[rows]
        return parts.named(changed)

    return PassChange(weights=weights)


def value_transposed(parts: ModelParts) -> PassChange | None:
    if parts.adapter is None or any(rows.stop - rows.start != m.in_features for m, rows in parts.projections("value")):
        return None
    return PassChange(weights=lambda: refilled(parts, "value", lambda t: t.T.clone(), "weight"))


def regrouped(order: Callable[[Tensor, int], Tensor], *kinds: str) -> Way:
    """Rows of projections in another order: `order` of (rows, heads) gives them."""

    def way(parts: ModelParts) -> PassChange | None:
        if parts.adapter is None:
            return None

        def weights() -> dict[str, Tensor]:
            merged: dict[str, Tensor] = {}
            for kind in kinds:
                for name, tensor in refilled(parts, kind, lambda t: order(t, parts.heads)).items():
                    third = len(tensor) // 3
                    rows = slice(None)
                    if parts.adapter and parts.adapter.value_part is not None:
                        at = ("query", "key", "value").index(kind)
                        rows = slice(at * third, (at + 1) * third)
                    merged.setdefault(name, tensor.clone())[rows] = tensor[rows]
            return merged

        return PassChange(weights=weights)

    return way


def by_number(rows: Tensor, heads: int) -> Tensor:
    """Heads read as (d, H): number n of head h stands at n · H + h."""
    return rows.unflatten(0, (-1, heads)).transpose(0, 1).flatten(0, 1)


def interleaved(rows: Tensor, heads: int) -> Tensor:
    """Numbers 2n and 2n + 1 of a head are turned against each other, where n and n + d/2 should be."""
    return rows.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


def window(width: Callable[[int], int]) -> Way:
    def way(parts: ModelParts) -> PassChange | None:
        config: Any = parts.base.config
        local = getattr(config, "local_attention", None)
        if local is None:
            return None
        modules = [m for m in parts.base.modules() if isinstance(getattr(m, "sliding_window", None), int)]
        half = width(local) // 2 + 1
        return PassChange(
            attributes=((config, "local_attention", width(local)), *((m, "sliding_window", half) for m in modules))
        )

    return way


def half_the_heads(parts: ModelParts) -> PassChange | None:
    attributes: list[tuple[Any, str, Any]] = []
    for module in parts.base.modules():
        names = vars(module)
        if parts.heads % 2 or not isinstance(names.get("attention_head_size"), int):
            continue
        width = 2 * names["attention_head_size"]
        sizes = {"attention_head_size": width, "num_attention_heads": parts.heads // 2, "n_heads": parts.heads // 2}
        sizes["scaling"] = width**-0.5 if names.get("scaling") != 1 else 1
        attributes += [(module, name, value) for name, value in sizes.items() if name in names]
    return PassChange(attributes=tuple(attributes)) if attributes else None


def without_term(term: str) -> Way:
    """DeBERTa: scores without one of its terms, the factor of all as before."""

    def way(parts: ModelParts) -> PassChange | None:
        modules = [m for m in parts.base.modules() if term in (getattr(m, "pos_att_type", None) or ())]
        if not modules:
            return None
        n = len(modules[0].pos_att_type)
        kept = [t for t in modules[0].pos_att_type if t != term]
        scaled = scores(lambda d, width: math.sqrt(n / (n + 1)))(parts)
        return scaled and replace(scaled, attributes=tuple((m, "pos_att_type", kept) for m in modules))

    return way


def deberta_scale(parts: ModelParts) -> PassChange | None:
    terms = next((len(m.pos_att_type) for m in parts.base.modules() if getattr(m, "pos_att_type", None)), 0)
    return scores(lambda d, width: math.sqrt(1 + terms))(parts) if terms else None
