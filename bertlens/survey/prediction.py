"""The interval in which one more text of the same kind lies."""

from __future__ import annotations

import math

from .intervals import student

LEVEL = 0.05  # of texts lie outside the interval by chance
FEWEST_TEXTS = 8  # texts of one length, under which nothing is said
ROUNDING = 1e-5  # of float32 sums, relative to the larger of 1 and the mean: less is no difference


def width(n: int) -> float:
    """Half the prediction interval of n values, in their standard deviations; NaN under FEWEST_TEXTS."""
    return float(student(n - 1, 1 - LEVEL)) * math.sqrt(1 + 1 / n) if n >= FEWEST_TEXTS else math.nan
