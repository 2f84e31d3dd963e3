"""Scores of a classifier, which are scikit-learn's, and their intervals: over examples drawn as these were."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from ..base.dataframes import pd
from ..base.quotes import isolate
from ..base.scikit_learn import scikit_learn
from ..measures.significance import (
    FEWEST_OF_A_CLASS,
    LEVEL,
    NONE,
    count_interval,
    f1_interval,
    macro_f1_interval,
    positive_mean_interval,
    share_interval,
)

FEWEST, FEWEST_OF_ALL = 50, 200  # examples for an interval of a share, and of macro-F1, Matthews and a log loss
FEWEST_WRONG = 3  # answers, for an interval of a log loss: else it hangs on the few that are nearly wrong
BINS = 10
UNDEFINED = {  # why a score is NaN
    "precision": "no value: nothing was guessed to be so",
    "recall": "no value: nothing is labelled so",
    "F1": "no value: nothing is labelled or guessed so",
    "Pearson": "no value: guesses or labels do not vary",
    "Spearman": "no value: guesses or labels do not vary",
}
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)


def sklearn_metrics() -> Any:
    """scikit-learn's metrics. Raises InputError where it is not installed."""
    return scikit_learn("metrics", "the metrics of a task need")


def matthews_interval(confusion: np.ndarray) -> tuple[float, float]:
    """(low, high) of Matthews' correlation (R_K, Gorodkin 2004) from counts [true, guess]: delta method, on artanh.

    NaN where labels or guesses are all one class.
    """
    p = confusion / confusion.sum()
    true, guess = p.sum(1), p.sum(0)
    covariance = float(np.trace(p) - true @ guess)
    of_true, of_guess = 1 - float(true @ true), 1 - float(guess @ guess)
    if of_true <= 0 or of_guess <= 0:
        return NONE
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


def mean_ends(each: np.ndarray) -> tuple[float, float]:
    """(low, high) of the mean of what cannot be below 0, (n,); NaN for one."""
    if len(each) < 2:
        return NONE
    _, low, high = positive_mean_interval(each)
    return float(low), float(high)


def metrics_table(labels: np.ndarray, logits: np.ndarray, names: list[str]) -> pd.DataFrame:
    """DataFrame(measure, label, value, low, high, n, note), see `Task.metrics`."""
    m = sklearn_metrics()
    guesses, chances = logits.argmax(1), softmax(logits)
    n, classes = len(labels), list(range(len(names)))
    confusion = m.confusion_matrix(labels, guesses, labels=classes)
    rows: list[tuple[Any, ...]] = []

    def add(
        measure: str, label: str, value: float, ends: tuple[float, float], of: int, fewest: int, why: str = ""
    ) -> None:
        rows.append(scored(measure, label, value, NONE if why else ends, of, fewest, note=why))

    right, sizes = int((labels == guesses).sum()), confusion.sum(1)
    add("accuracy", "", m.accuracy_score(labels, guesses), count_interval(right, n), n, FEWEST)
    macro = m.f1_score(labels, guesses, average="macro", zero_division=0)
    rare = rarity(int(sizes.min()), f"of {isolate(names[sizes.argmin()])}")
    add("macro-F1", "", macro, macro_f1_interval(confusion), n, FEWEST_OF_ALL, rare)
    rare = rarity(n - int(sizes.max()), "beside the largest class")
    matthews = m.matthews_corrcoef(labels, guesses)
    add("Matthews", "", matthews, matthews_interval(confusion), n, FEWEST_OF_ALL, rare)
    losses = losses_of(labels, logits)
    rows.append(loss_row(m.log_loss(labels, chances, labels=classes), losses, n - right))
    rows.append(("calibration error", "", calibration_error(labels, chances), math.nan, math.nan, n, "of 10 bins"))
    by_class = m.precision_recall_fscore_support(labels, guesses, labels=classes, zero_division=np.nan)
    for k, (name, precision, recall, f1, support) in enumerate(zip(names, *by_class, strict=True)):
        hit, guessed = int(confusion[k, k]), int(confusion[:, k].sum())
        add("precision", name, precision, count_interval(hit, guessed), guessed, FEWEST)
        add("recall", name, recall, count_interval(hit, support), int(support), FEWEST)
        union = int(support) + guessed - hit
        add("F1", name, f1, f1_interval(hit, union), union, FEWEST)
    return score_table(rows)


def rarity(examples: int, which: str) -> str:
    """Why there is no interval, "" where there are enough examples of a class."""
    return f"no interval: {examples} examples {which}, fewer than {FEWEST_OF_A_CLASS}" * (examples < FEWEST_OF_A_CLASS)


def loss_row(value: float, losses: np.ndarray, wrong: int) -> tuple[Any, ...]:
    """The row of a log loss, with its interval where `wrong` answers are enough to see it from."""
    why = f"no interval: {wrong} wrong, fewer than {FEWEST_WRONG}" if wrong < FEWEST_WRONG else ""
    ends = NONE if why else mean_ends(losses)
    return scored("log loss", "", value, ends, len(losses), FEWEST_OF_ALL, note=why)


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
    is_rare = of < fewest
    low, high = NONE if is_rare else ends
    if math.isnan(value):
        note = UNDEFINED.get(measure.removeprefix("entity "), note)
    elif is_rare:
        note = f"too few for an interval: {of} of {fewest}{f' {what}' if what else ''}"
    elif low == high:
        low, high, note = math.nan, math.nan, "no interval: the examples show no spread"
    return measure, label, float(value), low, high, of, note


def score_table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["measure", "label", "value", "low", "high", "n", "note"])


def confusion_table(labels: np.ndarray, guesses: np.ndarray, names: list[str]) -> pd.DataFrame:
    """(C, C) counts, see `Task.confusion`."""
    counts = sklearn_metrics().confusion_matrix(labels, guesses, labels=list(range(len(names))))
    return pd.DataFrame(counts, index=pd.Index(names, name="label"), columns=pd.Index(names, name="guess"))


def softmax(logits: np.ndarray) -> np.ndarray:
    """(n, C) probabilities."""
    exponents = np.exp(logits - logits.max(1, keepdims=True))
    return exponents / exponents.sum(1, keepdims=True)


def losses_of(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """(n,) cross-entropy of each example, −log p(label), in nats."""
    peaks = logits.max(1)
    of_label = logits[np.arange(len(labels)), labels]
    return peaks + np.log(np.exp(logits - peaks[:, None]).sum(1)) - of_label


def margins_of(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """(n,) the label's logit less the highest other one: below 0 where the answer is wrong."""
    of_label = logits[np.arange(len(labels)), labels]
    rivals = logits.copy()
    rivals[np.arange(len(labels)), labels] = -np.inf
    return of_label - rivals.max(1)


def calibration_table(labels: np.ndarray, logits: np.ndarray, rows: np.ndarray, bins: int = BINS) -> pd.DataFrame:
    """DataFrame(from, to, n, confidence, accuracy, low, high), see `Task.calibration`. rows: the example of each."""
    chances = softmax(logits)
    sure, right = chances.max(1), labels == chances.argmax(1)
    number = np.minimum((sure * bins).astype(int), bins - 1)
    table = []
    for k in range(bins):
        inside = number == k
        n, hits = int(inside.sum()), int(right[inside].sum())
        ends = share_interval(np.bincount(rows, inside & right), np.bincount(rows, inside)) if n >= FEWEST else NONE
        share = (float(sure[inside].mean()), hits / n) if n else NONE
        table.append((k / bins, (k + 1) / bins, n, *share, *ends))
    return pd.DataFrame(table, columns=["from", "to", "n", "confidence", "accuracy", "low", "high"])


def calibration_error(labels: np.ndarray, chances: np.ndarray) -> float:
    """Σ over ten bins of confidence, n_bin / n · |accuracy − confidence|, in [0, 1] (Guo et al. 2017, eq. 3)."""
    sure, right = chances.max(1), (labels == chances.argmax(1)).astype(float)
    number = np.minimum((sure * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(number, sure - right)).sum() / len(labels))
