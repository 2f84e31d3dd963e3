"""Every interval of the package: of counts, of shares that come by text, of means, of differences, of F1, of one more
text.

`count_interval` is for yes or no, each independent of the others; `share_interval` for what comes by text, sentence,
question or document: of fractions as if the next one could be 0 or 1.
tests/unit/measures/test_intervals.py simulates how often they cover.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError

LEVEL = 0.95
FEWEST_OF_A_CLASS = 5  # examples, for an interval of macro-F1
NONE = (math.nan, math.nan)
ROUNDING = 1e-12  # of the largest value: a spread as small is none
FEWEST_TEXTS = 8  # of one length, under which nothing is said of one more text


def count_interval(right: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """(low, high) in [0, 1] for a share of which `right` of `n` were seen, each independent; both may be fractions.

    Clopper and Pearson 1934: of whole numbers it covers `level` or more, whatever the share. Where none was seen, low
    is 0 and high is not; where all were, high is 1 and low is not.
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if right <= 0 else float(betaincinv(right, n - right + 1, tail))
    high = 1.0 if right >= n else float(betaincinv(right + 1, n - right, 1 - tail))
    return low, high


def design_effect(right: np.ndarray, words: np.ndarray) -> float:
    """How many times as uncertain the share Σ right / Σ words is as one of as many independent words.

    right, words: (m,) of each text, words > 0, m ≥ 2. Variance of a ratio over texts, m / (m − 1) Σ (right − p words)²
    / n², by that of independent words, p (1 − p) / n; of counts at least 1. Kish 1965. What comes from few texts
    shows little of it: so that is averaged with the largest one, Σ words² / n, where the words of a text fall together.
    This one weighs as much as one text, less so the more evenly texts have what is rarer, and alone where none has it.
    """
    n, m = float(words.sum()), len(words)
    p, ceiling = float(right.sum()) / n, float(words @ words) / n
    spread = float(((right - p * words) ** 2).sum()) * m / (m - 1)
    effect = spread / (n * p * (1 - p)) if 0 < p < 1 else 1.0
    if (right == np.round(right)).all():  # counts: 1 of single words, at least
        effect = max(1.0, effect * (n - 1) / n)
    texts = min(_texts_of(right), _texts_of(words - right))
    uneven = max(0.0, 1 - texts * ceiling / n) ** 2
    return max(effect, (texts * effect + uneven * ceiling) / (texts + uneven))


def _texts_of(terms: np.ndarray) -> float:
    """From how many texts a sum comes, were its terms equal: (Σ x)² / Σ x², 0 for nothing."""
    return float(terms.sum()) ** 2 / float(terms @ terms) if terms.any() else 0.0


def share_interval(
    right: ArrayLike, words: ArrayLike, level: float = LEVEL, smooth: bool = False
) -> tuple[float, float]:
    """(low, high) in [0, 1] of Σ right / Σ words over texts, sentences or documents, drawn independently.

    right, words: (m,) of each one; texts without words are left out. words of 1 make it the mean of one share a text.
    Of counts it is `count_interval` with n divided by the `design_effect`, and by the square of Student's t over texts
    ÷ over words (Korn and Graubard 1998). Of fractions it is that of `_with_one_more`: the next text could be 0 or 1,
    whatever these are. smooth: each is itself a mean of so much that none is far from the others, as of a text's
    attention: then they are taken as counts are, unless half of them or more have a value that another one has too.
    NaN for fewer than two texts.
    """
    right, words = (np.asarray(array, dtype=float) for array in (right, words))
    right, words = right[words > 0], words[words > 0]
    if len(words) < 2:
        return NONE
    if not (right == np.round(right)).all() and not (smooth and _differ(right / words)):
        return _with_one_more(right / words, words, level)
    n = float(words.sum())
    texts = n * n / float(words @ words)
    independent = n / max(design_effect(right, words), 1e-12)  # independent words that tell as much
    independent *= (student(max(independent, texts) - 1, level) / student(texts - 1, level)) ** 2
    return count_interval(independent * float(right.sum()) / n, independent, level)


def _differ(shares: np.ndarray) -> bool:
    """Whether more than half of them have a value of their own, up to rounding."""
    return 2 * int((np.unique(shares.round(9), return_counts=True)[1] == 1).sum()) > len(shares)


def _with_one_more(shares: np.ndarray, words: np.ndarray, level: float) -> tuple[float, float]:
    """(low, high) of the mean of shares (m,) in [0, 1] with weights words (m,), whatever they are drawn from.

    Gaffke 2005: high is the quantile of Σ w·share, w uniform among weights of these texts and of one more that is 1;
    low the same with one that is 0. That sum is taken as a beta between the least share and 1, by its mean and
    variance: exact for 0s and 1s, where it is Clopper and Pearson's, and where all shares are equal.
    """
    shares = shares.clip(0, 1)
    mean = float(np.average(shares, weights=words))
    low, high = 1 - _highest(1 - shares, words, level), _highest(shares, words, level)
    return min(low, mean), max(high, mean)


def _highest(shares: np.ndarray, words: np.ndarray, level: float) -> float:
    from scipy.special import betaincinv

    least = float(shares.min())
    if least == 1:
        return 1.0
    n, more = float(words.sum()), float(words @ words) / float(words.sum())  # the size of one more text
    weights, heights = np.append(words, more) / (n + more), np.append((shares - least) / (1 - least), 1)
    mean = float(weights @ heights)
    variance = (float(weights @ heights**2) - mean * mean) / (n / more + 2)
    size = mean * (1 - mean) / variance - 1
    tail = (1 - level) / 2
    return least + (1 - least) * float(betaincinv(mean * size, (1 - mean) * size, 1 - tail))


def difference_interval(
    differences: ArrayLike, most: float = 1, level: float = LEVEL, smooth: bool = False
) -> tuple[float, float]:
    """(low, high) in [−most, most] of the mean of one difference a text, (m,), each in that range.

    Where most texts do not differ, the `share_interval` of what is gained and that of what is lost, put together by how
    far their ends lie from their means (Zou and Donner 2008): where none differs, the ends are not 0. Else that of (1 +
    difference) / 2. smooth: as `share_interval` has it. NaN for fewer than two texts.
    """
    changes = np.asarray(differences, dtype=float) / most
    if len(changes) < 2:
        return NONE
    if 2 * (changes != 0).sum() > len(changes):
        low, high = share_interval((1 + changes) / 2, np.ones(len(changes)), level, smooth)
        return (2 * low - 1) * most, (2 * high - 1) * most
    gains, losses = (np.maximum(sign * changes, 0) for sign in (1, -1))
    gain, loss = float(gains.mean()), float(losses.mean())
    (gain_low, gain_high), (loss_low, loss_high) = (
        share_interval(change, np.ones(len(changes)), level) for change in (gains, losses)
    )
    spread = float(gains.std() * losses.std())
    together = -gain * loss / spread if spread else 0.0  # their correlation: no text both gains and loses
    low = gain - loss - _distance(gain - gain_low, loss_high - loss, -together)
    high = gain - loss + _distance(gain_high - gain, loss - loss_low, -together)
    return max(-1.0, low) * most, min(1.0, high) * most


def group_interval(inside: ArrayLike, outside: ArrayLike, level: float = LEVEL) -> tuple[float, float]:
    """(low, high) in [−1, 1] of the mean of some shares less that of others: (n,) and (m,), one a text, in [0, 1].

    The `share_interval` of either, put together as of independent ones (Zou and Donner 2008). NaN where either has
    fewer than two texts.
    """
    shares = [np.asarray(group, dtype=float) for group in (inside, outside)]
    (low, high), (other_low, other_high) = (share_interval(group, np.ones(len(group)), level) for group in shares)
    mean, other = (float(group.mean()) for group in shares)
    return mean - other - math.hypot(mean - low, other_high - other), mean - other + math.hypot(
        high - mean, other - other_low
    )


def _distance(a: float, b: float, correlation: float) -> float:
    return math.sqrt(max(0.0, a * a + b * b + 2 * correlation * a * b))


def mean_interval(values: ArrayLike, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, low, high), each of shape (...), over the first axis of values (n, ...): one value a text, in their unit.

    low, high: mean ± t·s/√n, Student's t with n − 1 degrees of freedom, s with n − 1: where the mean over all such
    texts lies, texts drawn independently; in `level` of all cases. It says nothing about other heads or models. NaN
    where all values are equal, up to rounding: how far others lie is not in them.
    Raises InputError for fewer than two values, and for NaN and Inf.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim == 0 or len(values) < 2 or not np.isfinite(values).all():
        raise InputError("an interval takes two finite values and more, one a text: leave out texts that have none")
    mean, half = values.mean(0), _half(values, len(values) - 1, level)
    return mean, mean - half, mean + half


def positive_mean_interval(values: ArrayLike, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The `mean_interval` of values that are 0 or more, such as losses: on the logarithm, so that it is above 0 too.

    The ends are mean · exp(∓ t·s / (mean √n)), the delta method, with the degrees of `freedom` of the values. Of
    losses, most of them small and some large, it covers better than mean ± t·s/√n. NaN and errors as of
    `mean_interval`.
    """
    values = np.asarray(values, dtype=float)
    mean, _, _ = mean_interval(values, level)
    half = _half(values, freedom(values), level)
    wide = np.exp(half / np.where(mean > 0, mean, 1))
    return mean, mean / wide, mean * wide


def freedom(values: np.ndarray) -> np.ndarray:
    """(...) degrees of freedom of the variance of values (n, ...) with tails of any weight, n − 1 at most.

    2 / (Σ d⁴ / (Σ d²)² − 1/n), d from the mean: the χ² whose variance that of the variance is. Satterthwaite 1946.
    """
    squares = (values - values.mean(0)) ** 2
    total = squares.sum(0)
    share = np.divide((squares * squares).sum(0), total * total, out=np.zeros_like(total), where=total > 0)
    return np.minimum(2 / np.maximum(share - 1 / len(values), 1e-9), len(values) - 1)


def _half(values: np.ndarray, degrees: float | np.ndarray, level: float) -> np.ndarray:
    spread = values.std(0, ddof=1)
    spread = np.where(spread > ROUNDING * np.abs(values).max(0), spread, np.nan)
    return student(degrees, level) * spread / math.sqrt(len(values))


def student(degrees: float | np.ndarray, level: float) -> np.ndarray:
    """Within how many standard errors `level` of Student's t distribution lies."""
    from scipy.special import stdtrit

    return stdtrit(degrees, (1 + level) / 2)


def prediction_width(n: int) -> float:
    """Half the interval in which LEVEL of further texts of the same kind lie, in standard deviations of n values.

    NaN under FEWEST_TEXTS.
    """
    return float(student(n - 1, LEVEL)) * math.sqrt(1 + 1 / n) if n >= FEWEST_TEXTS else math.nan


def mean_text(values: ArrayLike, digits: int = 2, most: float = math.inf) -> str:
    """The `mean_interval` of one value a text, values (n,), for people: "0.52 [0.44, 0.60]". Raises as it does.

    digits: after the point. most: the largest size that such a value can have, 1 for a correlation; the interval ends
    there at the latest. Of equal values it is "0.52 (all equal: no interval)".
    """
    ends = (float(np.clip(x, -most, most)) for x in mean_interval(values))
    mean, low, high = (f"{round(x, digits) + 0.0:.{digits}f}" for x in ends)  # + 0.0: no "-0.00"
    return f"{mean} (all equal: no interval)" if low == "nan" else f"{mean} [{low}, {high}]"


def f1_interval(right: float, either: float) -> tuple[float, float]:
    """(low, high) of F1 = 2J / (1 + J), where J is a share: `right` of those that are labelled or guessed so."""
    low, high = count_interval(right, either)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def macro_f1_interval(confusion: ArrayLike) -> tuple[float, float]:
    """(low, high) of macro-F1 from counts [true, guess]: the `f1_interval` of each class, put together by how far its
    ends lie from its F1 (Zou and Donner 2008), with the covariance that F1s have in a multinomial.

    NaN where a class has fewer than FEWEST_OF_A_CLASS examples: the sample may say nothing of how they fare.
    """
    counts = np.asarray(confusion, dtype=float)
    if counts.sum(1).min() < FEWEST_OF_A_CLASS:
        return NONE
    right, sizes = np.diag(counts), counts.sum(0) + counts.sum(1)
    f1 = 2 * right / sizes
    low, high = np.array([f1_interval(hit, size - hit) for hit, size in zip(right, sizes, strict=True)]).T
    slope = f1 / sizes  # dF_k = (2 dp_kk − F_k ds_k) / s_k, of mean 0
    covariance = np.outer(slope, slope) * (counts + counts.T)
    np.fill_diagonal(covariance, slope**2 * (sizes - 2 * right) + (2 / sizes - 2 * slope) ** 2 * right)
    spread = np.sqrt(np.diag(covariance))
    spread[spread == 0] = math.inf  # a class without an error goes with no other one
    together = covariance / np.outer(spread, spread)
    np.fill_diagonal(together, 1)
    below, above = (math.sqrt(max(0.0, float(side @ together @ side))) / len(f1) for side in (f1 - low, high - f1))
    return max(0.0, float(f1.mean()) - below), min(1.0, float(f1.mean()) + above)
