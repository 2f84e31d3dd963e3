"""Intervals for a share of words that come by the sentence, and for a mean over texts. Nothing but math, no scipy."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError

LEVEL = 0.95
TINY = 1e-300


def jeffreys(right: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """(low, high) in [0, 1] for a share of which `right` of `n` were seen; both may be broken numbers.

    The middle `level` of the Beta(right + ½, n − right + ½) distribution; low is 0 where none was right, high 1 where
    all were. It does not collapse there, as a bootstrap does. It covers `level` on average over shares; at a
    single share and n of 20 and more, .88 to .99 where .95 is meant. Brown, Cai & DasGupta 2001.
    """
    wrong = n - right
    tail = (1 - level) / 2
    low = 0.0 if right <= 0 else beta_quantile(tail, right + 0.5, wrong + 0.5)
    high = 1.0 if wrong <= 0 else beta_quantile(1 - tail, right + 0.5, wrong + 0.5)
    return low, high


def design_effect(right: np.ndarray, words: np.ndarray) -> float:
    """How many times as uncertain the share Σ right / Σ words is as one of single words; at least 1.

    right, words: (m,) of each sentence, words > 0. Variance of a ratio over sentences, m / (m − 1) Σ (right − p
    words)² / n², by the binomial p (1 − p) / n. Where all words are right, or none, it cannot be seen: then the words
    of a sentence count as one, Σ words² / n. Kish 1965.
    """
    n, sentences = float(words.sum()), len(words)
    p = float(right.sum()) / n
    if sentences == 1 or right.sum() in (0, words.sum()):
        return max(1.0, float((words**2).sum()) / n)
    spread = float(((right - p * words) ** 2).sum()) * sentences / (sentences - 1)
    return max(1.0, spread / (n * p * (1 - p)))


def share_interval(right: np.ndarray, words: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """(low, high) of Σ right / Σ words over sentences: `jeffreys` with n divided by the `design_effect`."""
    n = float(words.sum()) / design_effect(right, words)
    return jeffreys(n * float(right.sum() / words.sum()), n, level)


def mean_interval(values: np.ndarray, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, low, high), each of shape (...), over the first axis of values (n, ...): one value a text, in their unit.

    low, high: mean ± t·s/√n, Student's t with n − 1 degrees of freedom, s with n − 1: where the mean over all such
    texts lies, texts drawn independently; in 95 of 100 cases. It says nothing about other heads or models.
    Raises InputError for fewer than two values, and for NaN and Inf.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim == 0 or len(values) < 2 or not np.isfinite(values).all():
        raise InputError("an interval takes two finite values and more, one a text: leave out texts that have none")
    freedom = len(values) - 1
    x = beta_quantile(level, 0.5, freedom / 2)  # t² / (t² + freedom) has this distribution
    half = math.sqrt(freedom * x / (1 - x)) * values.std(0, ddof=1) / math.sqrt(len(values))
    mean = values.mean(0)
    return mean, mean - half, mean + half


def positive_mean_interval(values: np.ndarray, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The `mean_interval` of values that are 0 or more, such as losses: on the logarithm, so that it is above 0 too.

    low, high: mean · exp(∓ t·s / (mean √n)), the delta method. Of losses, most of them small and some large, it covers
    better than mean ± t·s/√n. Where all values are 0, so are the ends. Raises as `mean_interval` does.
    """
    mean, _, high = mean_interval(values, level)
    wide = np.exp(np.divide(high - mean, mean, out=np.zeros_like(mean), where=mean > 0))
    return mean, mean / wide, mean * wide


def mean_text(values: ArrayLike, digits: int = 2, most: float = math.inf) -> str:
    """The `mean_interval` of one value a text, values (n,), for people: "0.52 [0.44, 0.60]". Raises as it does.

    most: the largest size that such a value can have, 1 for a correlation; the interval ends there at the latest.
    """
    ends = (float(np.clip(x, -most, most)) for x in mean_interval(np.asarray(values, dtype=float)))
    mean, low, high = (f"{round(x, digits) + 0.0:.{digits}f}" for x in ends)  # + 0.0: no "-0.00"
    return f"{mean} [{low}, {high}]"


@lru_cache(maxsize=4096)
def beta_quantile(share: float, a: float, b: float) -> float:
    """Where the Beta(a, b) distribution, a, b > 0, has so large a share below it: by halving, to 1e-15."""
    low, high = 0.0, 1.0
    while high - low > 1e-15:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_share(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_share(x: float, a: float, b: float) -> float:
    """I_x(a, b), the share of the Beta(a, b) distribution below x: by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the fraction converges fast for the other end
        return 1 - beta_share(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d, fraction = 1.0, 0.0, 1.0
    for k in range(1, 2000):  # modified Lentz; about as many steps as the root of a + b
        m = k // 2
        if k % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d or TINY)
        c = (1 + term / c) or TINY
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(front) / a / fraction
