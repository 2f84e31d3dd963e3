"""Is an effect one of chance? Differences paired by text, one test for each part, Holm over a family."""

from __future__ import annotations

import math

import numpy as np

from ..base.ranking import is_nothing
from ..survey.intervals import beta_share, mean_interval


def t_test(differences: np.ndarray) -> float:
    """The two-sided p of a mean of 0, by Student's t with n − 1 degrees of freedom; 1 of a mean that is but rounding.

    One difference a text, the texts drawn independently.
    """
    n, spread = len(differences), float(differences.std(ddof=1))
    mean = float(differences.mean())
    if is_nothing(mean):
        return 1.0
    if spread == 0:
        return 0.0
    t2 = n * (mean / spread) ** 2
    return beta_share((n - 1) / (n - 1 + t2), (n - 1) / 2, 0.5)


def exact_test(differences: np.ndarray) -> float:
    """The two-sided p of as many +1 as −1, by the binomial distribution: McNemar's exact test, for right and wrong."""
    more, fewer = int((differences > 0).sum()), int((differences < 0).sum())
    n, k = more + fewer, min(more, fewer)
    return 1.0 if n == 0 or 2 * k == n else min(1.0, 2 * beta_share(0.5, n - k, k + 1))


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


def paired(differences: np.ndarray, whole: bool, most: float = math.inf) -> tuple[float, float, float, float]:
    """(mean, low, high, p) of one difference a text, (n,) with n ≥ 2. whole: they are −1, 0 and 1. most: no difference
    can be larger, and the interval ends there."""
    mean, low, high = (float(x) for x in mean_interval(differences))
    return mean, max(low, -most), min(high, most), exact_test(differences) if whole else t_test(differences)


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's ρ in [-1, 1] of finite values; NaN for fewer than three or where one is constant."""
    import pandas as pd

    both = np.isfinite(a) & np.isfinite(b)
    ranks = [pd.Series(x[both]).rank().to_numpy() for x in (a, b)]
    if both.sum() < 3 or min(float(x.std()) for x in ranks) == 0:
        return math.nan
    return float(np.corrcoef(*ranks)[0, 1])
