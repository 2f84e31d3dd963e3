"""What the numbers of claims are made with: the register of their functions, intervals, layers, the strongest head."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..measures.significance import LEVEL, NONE, mean_interval, share_interval
from .few_texts import FewTexts
from .rules import FACTOR, Measured
from .text_numbers import TextNumbers

Measure: TypeAlias = Callable[[TextNumbers], Measured]
FewTextsMeasure: TypeAlias = Callable[[TextNumbers, FewTexts], Measured]
MEASURES: dict[str, Measure] = {}
FEW_MEASURES: dict[str, FewTextsMeasure] = {}  # what needs a closer look at a few texts

NO_NORMS = "the model's family offers no norms"
NO_SEPARATOR = "the tokenizer puts no separator into these texts"
NO_STATES = "the model hands out no hidden states"


def measure(name: str, needs: str = "", missing: str = NO_NORMS) -> Callable[[Measure], Measure]:
    """Register a claim's function. needs: the numbers of `TextNumbers` without which nothing is told, as `missing`."""

    def register(function: Measure) -> Measure:
        def measured(g: TextNumbers) -> Measured:
            return function(g) if not needs or getattr(g, needs) else Measured(why=missing)

        MEASURES[name] = measured
        return function

    return register


def few_texts_measure(name: str, needs: str = "", missing: str = "") -> Callable[[FewTextsMeasure], FewTextsMeasure]:
    """As `measure`. needs: the numbers of `FewTexts` without which nothing is told, as `missing` or `FewTexts.why`."""

    def register(function: FewTextsMeasure) -> FewTextsMeasure:
        def measured(g: TextNumbers, c: FewTexts) -> Measured:
            return function(g, c) if not needs or getattr(c, needs) else Measured(why=missing or c.why or NO_NORMS)

        FEW_MEASURES[name] = measured
        return function

    return register


def middle(layers: int) -> list[int]:
    """Layers 6 to 10 of 12 (counted from 1), and what lies there in a model of other depth."""
    return [layer for layer in range(layers) if 5 * 2 * layers <= 12 * (2 * layer + 1) <= 10 * 2 * layers] or [
        layers // 2
    ]


def layer_count(layers: int, share: float) -> int:
    """How many layers a share of them is, at least one."""
    return max(1, round(layers * share))


def interval(values: np.ndarray, share: bool = False) -> dict[str, Any]:
    """value (the mean), low, high, n of the texts that have a value, and each one's, as Measured has them.

    share: values are in [0, 1], and so are the ends. NaN for these where texts are fewer than two.
    """
    numbers = values.tolist()
    values = values[np.isfinite(values)]
    value = float(values.mean()) if len(values) else math.nan
    low, high = NONE
    if len(values) > 1:
        low, high = (
            share_interval(values, np.ones(len(values)), smooth=True)
            if share
            else map(float, mean_interval(values)[1:])
        )
    return {"value": value, "low": low, "high": high, "n": len(values), "each": numbers}


def count_beyond(kinds: Sequence[np.ndarray], bound: float, side: str, units: str = "heads") -> dict[str, Any]:
    """How many columns of (N, ...) have a mean beyond a bound, in any of `kinds` of numbers; "above" or "below" it.

    low, high: how many surely have, and how many may, by intervals that hold for all columns together (Bonferroni).
    `other_bounds` as Measured has it. Texts with NaN are left out.
    """
    tables = [values.reshape(len(values), -1) for values in kinds]
    tables = [values[np.isfinite(values).all(1)] for values in tables]
    n = max(map(len, tables))
    if n < 2:
        return {"n": n}
    level = 1 - (1 - LEVEL) / sum(values.shape[1] for values in tables)
    ends = np.stack([np.stack(mean_interval(values, level)) for values in tables if len(values) > 1])
    mean, low, high = ends.swapaxes(0, 1) if side == "above" else ends.swapaxes(0, 1)[[0, 2, 1]]
    low, high = np.where(np.isnan([low, high]), mean, [low, high])  # the same in all texts

    def beyond(values: np.ndarray, bound: float) -> float:
        return float((values > bound if side == "above" else values < bound).any(0).sum())

    return {
        "value": beyond(mean, bound),
        "low": beyond(low, bound),
        "high": beyond(high, bound),
        "n": n,
        "ends": f"95 % for all {units} together, by texts",
        "other_bounds": [(at, beyond(low, at), beyond(high, at)) for at in (bound * FACTOR, bound / FACTOR)],
    }


def heads_above(kinds: Sequence[np.ndarray], bound: float, missing: str, even: float = math.nan) -> Measured:
    """How many heads give any of `kinds` of tokens more of their attention than `bound`; each (N, L, H), NaN where a
    text has no such token. even: what even rows would give."""
    kinds = [values[np.isfinite(values).all((1, 2))] for values in kinds]
    if not max(map(len, kinds)):
        return Measured(why=missing)
    means = np.stack([values.mean(0) for values in kinds if len(values)]).max(0)
    chance = "" if math.isnan(even) else f"; even rows would give {100 * even:.0f} %"
    return Measured(
        **count_beyond(kinds, bound, "above"),
        chance=float(means.size * (even > bound)),
        series={"most of any head": means.max(1).tolist()},
        **strongest(means),
        note=f"The head with most gives {100 * means.max():.0f} %{chance}.",
    )


def layer_means(values: np.ndarray) -> list[float]:
    """(N, L, H) -> the mean of each layer; NaN where no text has it."""
    layers = values.swapaxes(0, 1)
    return [float(np.nanmean(layer)) if np.isfinite(layer).any() else math.nan for layer in layers]


def strongest(means: np.ndarray, layers: Sequence[int] | None = None, least: bool = False) -> dict[str, Any]:
    """head and head_value as Measured has them: the head with the highest of (L, H) numbers, or the least, and its own.

    layers: which ones these are, if not all.
    """
    place = np.nanargmin(means) if least else np.nanargmax(means)
    layer, head = (int(index) for index in np.unravel_index(int(place), means.shape))
    return {"head": (layer if layers is None else layers[layer], head), "head_value": float(means[layer, head])}
