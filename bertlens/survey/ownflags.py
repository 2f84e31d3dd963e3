"""How many flags the corpus's own texts have: the mean is known, but they come in clumps, many in a few texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..measures.statistics import FLAGGED_NAMES, SURVEY_NAMES
from .headstats import HeadStats
from .prediction import FEWEST_TEXTS, ROUNDING, width

SHARE = 0.9


@dataclass(frozen=True)
class OwnFlags:
    """The number of flags that 9 of 10 texts of a length have at most, each text set among the others.

    texts (K,): of how many texts that have the statistic, 0 where nothing is known: too few, or none kept (files of
    bertlens 0.2 and older with more than 256 texts in a bin). statistics (K,): flags of one statistic among all heads;
    heads (L, H): of one head among the counted statistics; all: among both. NaN where not known.
    """

    texts: np.ndarray
    statistics: np.ndarray
    heads: np.ndarray
    all: float


def own_flags(stats: HeadStats, by: str, compared: np.ndarray) -> OwnFlags:
    """Of the texts of one length (`HeadStats.of_length`) that are kept. compared (K, L, H) bool: what is, of a text.

    A text is flagged where it lies outside the prediction interval of all other texts of the length. Of a bin of
    lengths with more texts than are kept, each kept one stands for as many as they are.
    """
    texts, statistics = np.zeros(len(SURVEY_NAMES), int), np.full(len(SURVEY_NAMES), np.nan)
    nothing = np.full(compared.shape[1:], np.nan)
    kept = _kept(stats, by)
    if kept is None:
        return OwnFlags(texts, statistics, nothing, np.nan)
    values, weights = kept
    counts, spreads = stats.counts(by), stats.spreads(by)
    of_heads, asked = np.zeros((len(values), *nothing.shape), int), compared.any((1, 2))
    known = asked & (counts > FEWEST_TEXTS)
    for k in np.flatnonzero(known):
        flags = _flags(values[:, k].astype(float), int(counts[k]), stats.values(SURVEY_NAMES[k], by), spreads[k])
        here = ~np.isnan(values[:, k]).any((1, 2))
        texts[k], statistics[k] = here.sum(), _most(flags.sum((1, 2))[here, None], weights[here])[0]
        of_heads += flags if SURVEY_NAMES[k] in FLAGGED_NAMES else 0
    if not known.any() or (known < asked).any():
        return OwnFlags(texts, statistics, nothing, np.nan)
    heads, every = (_most(counted.reshape(len(values), -1), weights) for counted in (of_heads, of_heads.sum((1, 2))))
    return OwnFlags(texts, statistics, heads.reshape(nothing.shape), float(every[0]))


def _kept(stats: HeadStats, by: str) -> tuple[np.ndarray, np.ndarray] | None:
    """(texts, K, L, H) values of single texts, (texts,) how many each stands for; None where a bin keeps none."""
    there = [part for part in stats.bins.values() if f"{by}.text" in part.sums]
    if not there or not all(by in part.values for part in there):
        return None
    values = [part.values[by] for part in there]
    each = [part.sums[f"{by}.text_count"].max() / len(some) for part, some in zip(there, values, strict=True)]
    return np.concatenate(values), np.repeat(each, [len(some) for some in values])


def _flags(values: np.ndarray, n: int, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """(texts, L, H) bool: a text's value lies outside the interval of the other n − 1; False where it has none."""
    away = values - mean
    of_others = mean - away / (n - 1)
    squares = np.maximum(0, (n - 1) * sd**2 - away**2 * n / (n - 1))
    reach = width(n - 1) * np.sqrt(squares / (n - 2)) + ROUNDING * np.maximum(1, np.abs(of_others))
    found: np.ndarray = np.abs(values - of_others) > reach
    return found


def _most(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(M,) of counts (texts, M): the least number that SHARE of the texts do not exceed."""
    order = counts.argsort(0, kind="stable")
    share = weights[order].cumsum(0) / weights.sum()
    at = (share >= SHARE - 1e-9).argmax(0)
    found: np.ndarray = np.take_along_axis(np.take_along_axis(counts, order, 0), at[None], 0)[0].astype(float)
    return found
