"""Is an effect one of chance? Differences paired by text, one test for each part, Holm over a family."""

from __future__ import annotations

import math

import numpy as np

from ..base.ranking import is_nothing
from ..measures.ranks import spearman
from .intervals import difference_interval, mean_interval


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


def paired(differences: np.ndarray, whole: bool, most: float = math.inf) -> tuple[float, float, float, float]:
    """(mean, low, high, p) of one difference a text, (n,) with n ≥ 2. whole: they are −1, 0 and 1. most: no difference
    can be larger, and the interval is one of such differences."""
    low, high = mean_interval(differences)[1:] if math.isinf(most) else difference_interval(differences, most)
    return float(differences.mean()), float(low), float(high), (exact_test if whole else t_test)(differences)


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's ρ in [-1, 1] of finite values; NaN for fewer than three or where one is constant."""
    finite = np.isfinite(a) & np.isfinite(b)
    return spearman(a[finite], b[finite])
