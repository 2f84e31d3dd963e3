"""What the numbers of claims are made with: the register of their functions, intervals, layers, the strongest head."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..survey.intervals import LEVEL, mean_interval
from .closer import Closer
from .gathered import Gathered
from .rules import Measured

Measure: TypeAlias = Callable[[Gathered], Measured]
CloseMeasure: TypeAlias = Callable[[Gathered, Closer], Measured]
MEASURES: dict[str, Measure] = {}
CLOSE: dict[str, CloseMeasure] = {}  # what needs a closer look at a few texts

NO_NORMS = "the model's family offers no norms"
NO_SEPARATOR = "the tokenizer puts no separator into these texts"


def measure(name: str) -> Callable[[Measure], Measure]:
    def registered(function: Measure) -> Measure:
        MEASURES[name] = function
        return function

    return registered


def close_measure(name: str) -> Callable[[CloseMeasure], CloseMeasure]:
    def registered(function: CloseMeasure) -> CloseMeasure:
        CLOSE[name] = function
        return function

    return registered


def middle(layers: int) -> list[int]:
    """Layers 6 to 10 of 12 (counted from 1), and what lies there in a model of other depth."""
    return [layer for layer in range(layers) if 5 * 2 * layers <= 12 * (2 * layer + 1) <= 10 * 2 * layers] or [
        layers // 2
    ]


def part(layers: int, share: float) -> int:
    """How many layers a share of them is, at least one."""
    return max(1, round(layers * share))


def interval(values: np.ndarray, level: float = LEVEL) -> dict[str, Any]:
    """value (the mean), low, high, n of the texts that have a value, and each one's, as Measured has them.

    NaN for the ends where they are fewer than two.
    """
    each = values.tolist()
    values = values[np.isfinite(values)]
    if len(values) < 2:
        value, low, high = float(values.mean()) if len(values) else math.nan, math.nan, math.nan
    else:
        value, low, high = (float(end) for end in mean_interval(values, level))
    return {"value": value, "low": low, "high": high, "n": len(values), "each": each}


def counted(values: np.ndarray, below: float) -> dict[str, Any]:
    """How many columns of (N, ...) have a mean below a bound; as interval, how many surely have (low), how many may
    (high): the intervals of all columns together hold (Bonferroni). Texts with NaN are left out."""
    values = values.reshape(len(values), -1)
    values = values[np.isfinite(values).all(1)]
    if len(values) < 2:
        return {"n": len(values)}
    mean, low, high = mean_interval(values, 1 - (1 - LEVEL) / values.shape[1])
    count, least, most = (float((some < below).sum()) for some in (mean, high, low))
    return {"value": count, "low": least, "high": most, "n": len(values)}


def layer_means(values: np.ndarray) -> list[float]:
    """(N, L, H) -> the mean of each layer; NaN where no text has it."""
    layers = values.swapaxes(0, 1)
    return [float(np.nanmean(each)) if np.isfinite(each).any() else math.nan for each in layers]


def strongest(values: np.ndarray) -> tuple[tuple[int, int], float]:
    """The head with the highest mean over texts (N, L, H)."""
    means = np.nanmean(values, 0)
    layer, head = np.unravel_index(int(np.nanargmax(means)), means.shape)
    return (int(layer), int(head)), float(means[layer, head])
