"""Is an effect one of chance? Differences paired by text, one test for each part, Holm over a family."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ...base.dataframes import pd
from ...base.ranking import is_nothing
from ..ranks import spearman
from .intervals import LEVEL, NONE, difference_interval, mean_interval

Interval: TypeAlias = Callable[[float], tuple[float, float]]  # level -> (low, high)
FOUND = 0.05  # a p, adjusted, that is at most this is a finding
LEAST, MOST = 1e-9, 0.999  # a smaller p is not told; a larger one is 1


def t_test(differences: np.ndarray) -> float:
    """The two-sided p of a mean of 0, by Student's t with n − 1 degrees of freedom; 1 of a mean that is but rounding.

    One difference a text, the texts drawn independently.
    """
    from scipy.special import stdtr

    n, spread = len(differences), float(differences.std(ddof=1))
    mean = float(differences.mean())
    if is_nothing(mean):
        return 1.0
    return 2 * float(stdtr(n - 1, -abs(mean) / spread * math.sqrt(n))) if spread else 0.0


def exact_test(differences: np.ndarray) -> float:
    """The two-sided p of as many +1 as −1, by the binomial distribution: McNemar's exact test, for right and wrong."""
    from scipy.special import bdtr

    positive, negative = int((differences > 0).sum()), int((differences < 0).sum())
    return min(1.0, 2 * float(bdtr(min(positive, negative), positive + negative, 0.5)))


def holm(p: np.ndarray, family: int) -> np.ndarray:
    """p adjusted for a family of tests, of which these were made: the others count as if they had found nothing.

    Holm 1979. NaN stays. An adjusted p of at most .05 is a finding; in 95 of 100 families without any effect there is
    none.
    """
    adjusted = np.full(len(p), math.nan)
    highest = 0.0
    for k, i in enumerate(i for i in np.argsort(p, kind="stable") if not math.isnan(p[i])):
        highest = max(highest, min(1.0, p[i] * (family - k)))
        adjusted[i] = highest
    return adjusted


def with_findings(table: pd.DataFrame, family: int, finding: str = "finding") -> None:
    """Give a table with p its columns p_holm, of a family of so many tests, and `finding`, whether that is FOUND."""
    table["p_holm"] = holm(table["p"].to_numpy(dtype=float), family)
    table[finding] = table["p_holm"] <= FOUND


def interval_test(interval: Interval) -> float:
    """The p of the test that an interval is: 1 less the highest level at which it leaves out 0; LEAST at least.

    So p ≤ .05 just where the interval of 95 % leaves out 0. NaN where there is no interval.
    """
    from scipy.optimize import brentq

    if math.isnan(interval(LEVEL)[0]):
        return math.nan
    low, high = interval(1 - MOST)
    if low <= 0 <= high:
        return 1.0

    def distance(log_p: float) -> float:
        """How far 0 is from the end that lies towards it; below 0 inside of the interval."""
        ends = interval(1 - math.exp(log_p))
        return ends[0] if low > 0 else -ends[1]

    return (
        LEAST
        if distance(math.log(LEAST)) > 0
        else math.exp(brentq(distance, math.log(LEAST), math.log(MOST), xtol=1e-7))
    )


def holm_intervals(intervals: Sequence[Interval]) -> list[tuple[float, float, float]]:
    """(low, high, p) of each of a family, by Holm: p adjusted, and an interval that leaves out 0 just where p ≤ .05.

    It has the level at which Holm tests it; all that he does not get to have that of the first that holds 0. In 95 of
    100 families without any effect none leaves out 0. NaN where there is no interval, which the family does not count.
    """
    p = np.array([interval_test(interval) for interval in intervals])
    family = int(np.isfinite(p).sum())
    adjusted = holm(p, family)
    passed = int((adjusted <= 1 - LEVEL).sum())
    rows = [(*NONE, math.nan)] * len(p)
    for rank, i in enumerate(np.argsort(p, kind="stable")[:family]):
        level = 1 - (1 - LEVEL) / (family - min(rank, passed))
        rows[i] = (*intervals[i](level), float(adjusted[i]))
    return rows


def paired(differences: np.ndarray, whole: bool, most: float = math.inf) -> tuple[float, float, float, float]:
    """(mean, low, high, p) of one difference a text, (n,) with n ≥ 2. whole: they are −1, 0 and 1. most: no difference
    can be larger, and the interval is one of such differences. NaN where they are all equal and may be of any size."""
    low, high = (
        mean_interval(differences)[1:] if math.isinf(most) else difference_interval(differences, most, smooth=not whole)
    )
    p = (exact_test if whole else t_test)(differences)
    return float(differences.mean()), float(low), float(high), math.nan if math.isnan(low) and p < 1 else p


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's ρ in [-1, 1] of finite values; NaN for fewer than three or where one is constant."""
    finite = np.isfinite(a) & np.isfinite(b)
    return spearman(a[finite], b[finite])
