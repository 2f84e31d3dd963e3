"""How numbers agree with labels that are numbers: correlations and errors, with their intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .scores import FEWEST, FEWEST_OF_ALL, Z, mean_ends, score_table, scored

if TYPE_CHECKING:
    import pandas as pd


def _stats() -> Any:
    """scipy's statistics. Raises InputError where it is not installed."""
    try:
        import scipy.stats
    except ImportError:
        raise InputError("the correlations of a task need scipy: pip install scipy") from None
    return scipy.stats


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's ρ in [-1, 1]; NaN for fewer than three or where one is constant."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(_stats().spearmanr(a, b).statistic)


def pearson(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's r in [-1, 1]; NaN for fewer than three or where one is constant."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(_stats().pearsonr(a, b).statistic)


def spearman_interval(value: float, n: int) -> tuple[float, float]:
    """(low, high) of Spearman's ρ over pairs drawn alike: on artanh, s² = (1 + ρ²/2) / (n − 3).

    Bonett and Wright 2000 (doi 10.1007/BF02294183), eq. 3.
    """
    return _on_artanh(value, (1 + value * value / 2) / max(1, n - 3))


def pearson_interval(guesses: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """(low, high) of Pearson's r: on artanh, the delta method on the moments, whatever the distribution (Steiger and
    Hakstian 1982)."""
    value = pearson(guesses, labels)
    if not abs(value) < 1:
        return value, value
    a, b = ((x - x.mean()) / x.std() for x in (guesses, labels))
    each = a * b - value / 2 * (a * a + b * b)
    return _on_artanh(value, float(each.var()) / len(a) / (1 - value * value) ** 2)


def _on_artanh(value: float, variance: float) -> tuple[float, float]:
    if not abs(value) < 1:  # NaN too
        return value, value
    middle, half = math.atanh(value), Z * math.sqrt(variance)
    return math.tanh(middle - half), math.tanh(middle + half)


def numbers_table(labels: np.ndarray, guesses: np.ndarray, errors: bool) -> pd.DataFrame:
    """DataFrame(measure, label, value, low, high, n, note). errors: guesses are in the unit of the labels."""
    n = len(labels)
    value = spearman(guesses, labels)
    rows = [
        scored("Pearson", "", pearson(guesses, labels), pearson_interval(guesses, labels), n, FEWEST_OF_ALL),
        scored("Spearman", "", value, spearman_interval(value, n), n, FEWEST_OF_ALL),
    ]
    for name, each in (("mean squared error", (guesses - labels) ** 2), ("mean absolute error", abs(guesses - labels))):
        if errors:
            rows.append(scored(name, "", float(each.mean()), mean_ends(each), n, FEWEST))
    return score_table(rows)
