"""Columns of a table with a row a head."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.dataframes import pd
from .text_statistics import LABELS


def heads_of(shape: tuple[int, int]) -> dict[str, Any]:
    """The columns "layer" and "head" of L layers of H heads."""
    layers, heads = np.indices(shape)
    return {"layer": layers.ravel(), "head": heads.ravel()}


def gate_shares(counts: np.ndarray, shape: tuple[int, int]) -> pd.DataFrame:
    """DataFrame(layer, head, label, share, one column per gate) of numbers of texts (L, H, labels)."""
    shares = (counts / counts.sum(-1, keepdims=True)).reshape(shape[0] * shape[1], -1)
    head = heads_of(shape) | {"label": np.array(LABELS)[shares.argmax(1)], "share": shares.max(1)}
    return pd.DataFrame(head | {name: shares[:, k] for k, name in enumerate(LABELS)})
