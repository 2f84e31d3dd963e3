"""Scores of a classifier, and how far the numbers of other examples drawn in the same way would lie from them.

The scores are scikit-learn's. An interval is Wilson's for a share, and by the delta method for what is no share.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..survey.intervals import positive_mean_interval

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.95
FEWEST, FEWEST_OF_ALL = 50, 200  # examples for an interval of a share, and of macro-F1, Matthews and a log loss
BINS = 10
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)


def sklearn_metrics() -> Any:
    """scikit-learn's metrics. Raises InputError where it is not installed."""
    try:
        import sklearn.metrics
    except ImportError:
        raise InputError("the metrics of a task need scikit-learn: pip install scikit-learn") from None
    return sklearn.metrics


def wilson(right: float, n: float) -> tuple[float, float]:
    """(low, high) in [0, 1] for a share of which `right` of n were seen, at 95 %. Wilson 1927; NaN for n = 0."""
    if n <= 0:
        return math.nan, math.nan
    middle = (right + Z * Z / 2) / (n + Z * Z)
    half = Z / (n + Z * Z) * math.sqrt(right * (n - right) / n + Z * Z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def f1_interval(true_positive: int, false_positive: int, false_negative: int) -> tuple[float, float]:
    """(low, high) of F1 = 2J / (1 + J), where J = TP / (TP + FP + FN) is a share: Wilson's ends of J."""
    low, high = wilson(true_positive, true_positive + false_positive + false_negative)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def macro_f1_interval(confusion: np.ndarray) -> tuple[float, float]:
    """(low, high) of macro-F1 from counts [true, guess]: delta method on the cells of a multinomial, on the logit.

    The mean is over classes that occur, as label or as guess. Takahashi et al. 2022 (doi 10.1007/s10489-021-02635-5).
    """
    p = confusion / confusion.sum()
    s = p.sum(0) + p.sum(1)  # F_k = 2 p_kk / s_k, dF_k = (2 dp_kk − F_k ds_k) / s_k
    occurs = s > 0
    f = np.divide(2 * np.diag(p), s, out=np.zeros_like(s), where=occurs)
    ratio = np.divide(f, s, out=np.zeros_like(s), where=occurs)
    slope = -(ratio[:, None] + ratio[None, :])
    slope[np.diag_indices_from(slope)] += np.divide(2.0, s, out=np.zeros_like(s), where=occurs)
    value, error = float(f[occurs].mean()), _error(p, slope / occurs.sum(), confusion.sum())
    return _on_logit(value, error)


def matthews_interval(confusion: np.ndarray) -> tuple[float, float]:
    """(low, high) of Matthews' correlation (R_K, Gorodkin 2004) from counts [true, guess]: delta method, on artanh.

    NaN where labels or guesses are all one class.
    """
    p = confusion / confusion.sum()
    true, guess = p.sum(1), p.sum(0)
    covariance = float(np.trace(p) - true @ guess)
    of_true, of_guess = 1 - float(true @ true), 1 - float(guess @ guess)
    if of_true <= 0 or of_guess <= 0:
        return math.nan, math.nan
    value = covariance / math.sqrt(of_true * of_guess)
    d_covariance = np.eye(len(p)) - (true[None, :] + guess[:, None])
    slope = d_covariance / math.sqrt(of_true * of_guess)
    slope = slope + value * (guess[None, :] / of_guess + true[:, None] / of_true)
    error = _error(p, slope, confusion.sum())
    if abs(value) >= 1:
        return value, value
    middle, half = math.atanh(value), Z * error / (1 - value * value)
    return math.tanh(middle - half), math.tanh(middle + half)


def _error(p: np.ndarray, slope: np.ndarray, n: float) -> float:
    """Standard error of a function of the cells of a multinomial."""
    mean = float((p * slope).sum())
    return math.sqrt(max(0.0, float((p * slope * slope).sum()) - mean * mean) / n)


def _on_logit(value: float, error: float) -> tuple[float, float]:
    if not 0 < value < 1:
        return value, value
    middle, half = math.log(value / (1 - value)), Z * error / (value * (1 - value))
    return 1 / (1 + math.exp(half - middle)), 1 / (1 + math.exp(-half - middle))


def mean_ends(each: np.ndarray) -> tuple[float, float]:
    """(low, high) of the mean of what cannot be below 0, (n,); NaN for one."""
    if len(each) < 2:
        return math.nan, math.nan
    _, low, high = positive_mean_interval(each)
    return float(low), float(high)


def metrics_table(labels: np.ndarray, logits: np.ndarray, names: list[str]) -> pd.DataFrame:
    """DataFrame(measure, label, value, low, high, n, note), see `Task.metrics`."""
    m = sklearn_metrics()
    guesses, chances = logits.argmax(1), softmax(logits)
    n, classes = len(labels), list(range(len(names)))
    confusion = m.confusion_matrix(labels, guesses, labels=classes)
    rows: list[tuple[Any, ...]] = []

    def add(measure: str, label: str, value: float, ends: tuple[float, float], of: int, fewest: int) -> None:
        rows.append(scored(measure, label, value, ends, of, fewest))

    right = int((labels == guesses).sum())
    add("accuracy", "", m.accuracy_score(labels, guesses), wilson(right, n), n, FEWEST)
    macro = m.f1_score(labels, guesses, average="macro", zero_division=0)
    add("macro-F1", "", macro, macro_f1_interval(confusion), n, FEWEST_OF_ALL)
    add("Matthews", "", m.matthews_corrcoef(labels, guesses), matthews_interval(confusion), n, FEWEST_OF_ALL)
    losses = losses_of(labels, logits)
    add("log loss", "", m.log_loss(labels, chances, labels=classes), mean_ends(losses), n, FEWEST_OF_ALL)
    rows.append(("calibration error", "", calibration_error(labels, chances), math.nan, math.nan, n, "of 10 bins"))
    each = m.precision_recall_fscore_support(labels, guesses, labels=classes, zero_division=np.nan)
    for k, (name, precision, recall, f1, support) in enumerate(zip(names, *each, strict=True)):
        hit, guessed = int(confusion[k, k]), int(confusion[:, k].sum())
        add("precision", name, precision, wilson(hit, guessed), guessed, FEWEST)
        add("recall", name, recall, wilson(hit, support), int(support), FEWEST)
        either = int(support) + guessed - hit
        add("F1", name, f1, f1_interval(hit, guessed - hit, int(support) - hit), either, FEWEST)
    return score_table(rows)


def scored(
    measure: str,
    label: str,
    value: float,
    ends: tuple[float, float],
    of: int,
    fewest: int,
    what: str = "",
    note: str = "",
) -> tuple[Any, ...]:
    """A row of a table of scores; below `fewest` without an interval, and it says why. what: is counted by `of`."""
    few = of < fewest
    low, high = (math.nan, math.nan) if few else ends
    if few:
        note = f"too few for an interval: {of} of {fewest}{f' {what}' if what else ''}"
    elif low == high:
        low, high, note = math.nan, math.nan, "no interval: every answer is alike"
    return measure, label, float(value), low, high, of, note


def score_table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=["measure", "label", "value", "low", "high", "n", "note"])


def confusion_table(labels: np.ndarray, guesses: np.ndarray, names: list[str]) -> pd.DataFrame:
    """(C, C) counts, see `Task.confusion`."""
    import pandas as pd

    counts = sklearn_metrics().confusion_matrix(labels, guesses, labels=list(range(len(names))))
    return pd.DataFrame(counts, index=pd.Index(names, name="label"), columns=pd.Index(names, name="guess"))


def softmax(logits: np.ndarray) -> np.ndarray:
    """(n, C) probabilities."""
    exponents = np.exp(logits - logits.max(1, keepdims=True))
    chances: np.ndarray = exponents / exponents.sum(1, keepdims=True)
    return chances


def losses_of(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """(n,) cross-entropy of each example, −log p(label), in nats."""
    most = logits.max(1)
    own = logits[np.arange(len(labels)), labels]
    losses: np.ndarray = most + np.log(np.exp(logits - most[:, None]).sum(1)) - own
    return losses


def margins_of(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """(n,) the label's logit less the highest other one: below 0 where the answer is wrong."""
    own = logits[np.arange(len(labels)), labels]
    others = logits.copy()
    others[np.arange(len(labels)), labels] = -np.inf
    margins: np.ndarray = own - others.max(1)
    return margins


def calibration_table(labels: np.ndarray, logits: np.ndarray, bins: int = BINS) -> pd.DataFrame:
    """DataFrame(from, to, n, confidence, accuracy, low, high), see `Task.calibration`."""
    import pandas as pd

    chances = softmax(logits)
    sure, right = chances.max(1), labels == chances.argmax(1)
    number = np.minimum((sure * bins).astype(int), bins - 1)
    rows = []
    for k in range(bins):
        inside = number == k
        n, hits = int(inside.sum()), int(right[inside].sum())
        ends = wilson(hits, n) if n >= FEWEST else (math.nan, math.nan)
        share = (float(sure[inside].mean()), hits / n) if n else (math.nan, math.nan)
        rows.append((k / bins, (k + 1) / bins, n, *share, *ends))
    return pd.DataFrame(rows, columns=["from", "to", "n", "confidence", "accuracy", "low", "high"])


def calibration_error(labels: np.ndarray, chances: np.ndarray) -> float:
    """Σ over ten bins of confidence, n_bin / n · |accuracy − confidence|, in [0, 1] (Guo et al. 2017, eq. 3)."""
    sure, right = chances.max(1), (labels == chances.argmax(1)).astype(float)
    number = np.minimum((sure * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(number, sure - right)).sum() / len(labels))
