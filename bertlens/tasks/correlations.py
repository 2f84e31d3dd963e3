"""How numbers agree with labels that are numbers: correlations and errors, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..base.dataframes import pd
from ..measures.ranks import ranks, spearman
from ..measures.significance import LEVEL, NONE, freedom, student
from .scores import FEWEST, FEWEST_OF_ALL, mean_ends, score_table, scored

ROUNDING = 1e-6  # of float32 answers, relative to the largest: a smaller range is no difference
SKEWED = 2.0  # skewness of guesses or labels from which Pearson's correlation hangs on a few of them


def guesses_of(records: Sequence[np.ndarray]) -> np.ndarray:
    """(n,) guesses; all equal where only rounding tells them apart, so that nothing ranks it."""
    guesses = np.array(records)
    is_level = np.ptp(guesses) <= ROUNDING * np.abs(guesses).max()
    return np.full_like(guesses, guesses[0]) if is_level else guesses


def pearson(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's r in [-1, 1]; NaN for fewer than three or where one is constant."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))


def pearson_interval(guesses: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """(low, high) of Pearson's r of pairs drawn alike: on artanh, by the jackknife, whatever the distribution.

    NaN where one is constant. Of numbers whose skewness is above `SKEWED` it covers less than it says.
    """
    value, n = pearson(guesses, labels), len(guesses)
    if not abs(value) < 1:
        return value, value
    a, b = guesses - guesses.mean(), labels - labels.mean()
    factor = n / (n - 1)  # what the sums of squares and products lose without a pair, ÷ that pair's own
    with np.errstate(invalid="ignore", divide="ignore"):
        jackknifed = (a @ b - factor * a * b) / np.sqrt((a @ a - factor * a * a) * (b @ b - factor * b * b))
    if not np.isfinite(jackknifed).all():  # without one pair the others are constant
        return NONE
    return _on_artanh(value, (1 - n) * np.arctanh(jackknifed.clip(1e-12 - 1, 1 - 1e-12)))


def spearman_interval(guesses: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """(low, high) of Spearman's ρ of pairs drawn alike: on artanh, by its influence function (Croux and Dehon 2010,
    doi 10.1007/s10260-010-0142-z), whatever the distribution. NaN where one is constant."""
    value = spearman(guesses, labels)
    if not abs(value) < 1:
        return value, value
    return _on_artanh(value, _pulls(guesses, labels) / (1 - value * value))


def spearman_difference(
    guesses: np.ndarray, others: np.ndarray, labels: np.ndarray, level: float = LEVEL
) -> tuple[float, float]:
    """(low, high) of Spearman's ρ of guesses less that of others, of the same labels: by both influence functions, pair
    by pair. NaN where one is constant."""
    value = spearman(guesses, labels) - spearman(others, labels)
    if math.isnan(value):
        return NONE
    pulls = _pulls(guesses, labels) - _pulls(others, labels)
    half = float(student(freedom(pulls), level)) * float(pulls.std(ddof=1)) / math.sqrt(len(pulls))
    return max(-2.0, value - half), min(2.0, value + half)


def _pulls(guesses: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n,) how each pair moves Spearman's ρ, × n, up to what is the same for all."""
    a, b = (numbers.numpy() / len(numbers) for numbers in (ranks(guesses), ranks(labels)))
    a, b = a - a.mean(), b - b.mean()
    pulls: np.ndarray = (a * b + _above(a, b) + _above(b, a)) / (a.std() * b.std())
    return pulls


def _above(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n,) the sum of b over those whose a is larger, half of it where it is equal, ÷ n. b has the mean 0."""
    order = np.argsort(a)
    sums = np.concatenate([[0.0], np.cumsum(b[order])])
    below, right = (sums[np.searchsorted(a[order], a, side)] for side in ("left", "right"))
    return (below + right) / (-2 * len(a))


def _on_artanh(value: float, pulls: np.ndarray) -> tuple[float, float]:
    """pulls: (n,) how each pair moves artanh of the value, × n."""
    half = float(student(freedom(pulls), LEVEL)) * float(pulls.std(ddof=1)) / math.sqrt(len(pulls))
    middle = math.atanh(value)
    return math.tanh(middle - half), math.tanh(middle + half)


def numbers_table(labels: np.ndarray, guesses: np.ndarray, errors: bool) -> pd.DataFrame:
    """DataFrame(measure, label, value, low, high, n, note). errors: guesses are in the unit of the labels."""
    n = len(labels)
    skewness = max(map(_skewness, (guesses, labels)))
    skewed = f"no interval: a skewness of {skewness:.1f}, above {SKEWED:.0f}" if skewness > SKEWED else ""
    ends = NONE if skewed else pearson_interval(guesses, labels)
    rows = [
        scored("Pearson", "", pearson(guesses, labels), ends, n, FEWEST_OF_ALL, note=skewed),
        scored("Spearman", "", spearman(guesses, labels), spearman_interval(guesses, labels), n, FEWEST_OF_ALL),
    ]
    for name, gaps in (("mean squared error", (guesses - labels) ** 2), ("mean absolute error", abs(guesses - labels))):
        if errors:
            rows.append(scored(name, "", float(gaps.mean()), mean_ends(gaps), n, FEWEST))
    return score_table(rows)


def _skewness(values: np.ndarray) -> float:
    """Without its sign; 0 where all are equal."""
    away = values - values.mean()
    return abs(float((away**3).mean())) / float(away.std()) ** 3 if away.any() else 0.0
