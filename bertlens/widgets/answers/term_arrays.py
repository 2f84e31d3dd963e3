"""What a head's scores have beside q·k, as few numbers: any cell of it is made of them on the page.

js/src/compute/scoreterms.ts reads them; run/score_bias.py says what they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor
from typing_extensions import TypedDict

from ...measures.sources import term_kind
from ...run.record import Layer
from ...run.score_bias import (
    CONTENT_TO_POSITION,
    LAYOUT,
    POSITION,
    POSITION_TO_CONTENT,
    DisentangledBias,
    DistanceBias,
    LayoutBias,
)
from ..messages.records import Arrays


class Term(TypedDict):
    name: str
    of: str  # "distance", "query", "key", "pairs", "cells": see `term_arrays`


class TermFields(TypedDict, total=False):
    terms: list[Term]


def hiding(layer: Layer, head: int) -> Layer:
    """The layer with what says which keys are hidden alone: its mask, and a tensor of a bias that hides some too."""
    bias = layer.bias
    return (
        layer if isinstance(bias, Tensor) and not _of_head(bias, head).isfinite().all() else replace(layer, bias=None)
    )


def term_arrays(layer: Layer, head: int) -> tuple[TermFields, Arrays]:
    """The terms of a head, and their arrays: term0 … and, where two make a term, term0.by …

    of: "distance" numbers (2S - 1,) of key - query = 1 - S … S - 1; "query" or "key" scaled vectors (n, d) and which of
    them belongs to a distance (2S - 1,); "pairs" scaled queries and keys (S, d') of a second stream; "cells" (S, S).
    """
    parts = _parts(hiding(layer, head), layer, head)
    if not parts:
        return {}, {}
    fields: TermFields = {"terms": [{"name": term_kind(name), "of": of} for name, of, *_ in parts]}
    arrays: dict[str, Any] = {}
    for n, (_, _, numbers, *by) in enumerate(parts):
        arrays[f"term{n}"] = numbers.float().contiguous()
        arrays |= {f"term{n}.by": array for array in by}
    return fields, arrays


def _parts(hiding: Layer, layer: Layer, head: int) -> list[tuple[Any, ...]]:
    """(name, of, numbers, by) of each term."""
    bias = layer.bias
    if bias is None or hiding.bias is not None:
        return []
    if isinstance(bias, Tensor):
        cells = _of_head(bias, head)
        bias = DistanceBias.of(cells[None, None])
        if bias is None:
            return [(POSITION, "cells", cells)]
        head = 0
    if isinstance(bias, DistanceBias):
        return [(POSITION, "distance", bias.numbers[head])]
    if isinstance(bias, LayoutBias):
        return [(LAYOUT, "pairs", bias.query[head] * bias.scaling, bias.key[head].float().contiguous())]
    assert isinstance(bias, DisentangledBias)
    tables = {CONTENT_TO_POSITION: ("query", bias.key_table), POSITION_TO_CONTENT: ("key", bias.query_table)}
    rows = bias.rows.flip(0).cpu().numpy().astype(np.uint16)
    return [(name, of, x[head].float() * bias.scaling, rows) for name, (of, x) in tables.items() if x is not None]


def _of_head(bias: Tensor, head: int) -> Tensor:
    """(S, S)"""
    return bias[head if len(bias) > 1 else 0] if bias.ndim == 3 else bias
