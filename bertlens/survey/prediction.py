"""The interval in which one more text of the same kind lies."""

from __future__ import annotations

import math
from statistics import NormalDist

LEVEL = 0.05  # of texts lie outside the interval by chance
FEWEST_TEXTS = 8  # texts of one length, under which nothing is said
ROUNDING = 1e-5  # of float32 sums, relative to the larger of 1 and the mean: less is no difference


def width(n: int) -> float:
    """Half the prediction interval of n values, in their standard deviations; NaN under FEWEST_TEXTS."""
    return t_quantile(n - 1) * math.sqrt(1 + 1 / n) if n >= FEWEST_TEXTS else math.nan


def t_quantile(freedom: int, p: float = 1 - LEVEL / 2) -> float:
    """Quantile of Student's t, to 5e-5 from 7 degrees of freedom on (Abramowitz & Stegun 1964, 26.7.5)."""
    z = NormalDist().inv_cdf(p)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))
