"""How many flags the corpus's own texts have: they come in clumps, many in a few texts, and most of all in texts whose
length lies at the edge of those that are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..measures.significance import FEWEST_TEXTS, prediction_width
from ..measures.statistics import FLAGGED_NAMES, SURVEY_NAMES
from .headstats import HeadStats
from .textlength import STEPS, LengthBin, step_of

SHARE = 0.9
ROUNDING = 1e-5  # of float32 sums, relative to the larger of 1 and the mean: less is no difference


@dataclass(frozen=True)
class ExpectedFlags:
    """How many flags texts of nearly one length have, each set among all that are compared: mean, and 9 of 10 at most.

    shortest, longest: tokens of these texts. texts (K,): how many of them have the statistic, 0 where nothing is known:
    too few. statistics (2, K): mean and most flags of one statistic among all heads; heads (2, L, H): of one head among
    the counted statistics; overall (2,): among both. NaN where not known.
    """

    shortest: int
    longest: int
    texts: np.ndarray
    statistics: np.ndarray
    heads: np.ndarray
    overall: np.ndarray


def expected_flags(stats: HeadStats, by: str, compared: np.ndarray, tokens: int) -> ExpectedFlags:
    """Of those kept texts of `HeadStats.of_length(tokens)` that are nearest in length: of the bin of `tokens`, and of
    those around it until there are FEWEST_TEXTS. compared (K, L, H) bool: what is, of a text.

    A text is flagged where it lies outside the prediction interval of all other texts of the length. Of a bin of
    lengths with more texts than are kept, each kept one stands for as many as they are.
    """
    texts, statistics = np.zeros(len(SURVEY_NAMES), int), np.full((2, len(SURVEY_NAMES)), np.nan)
    nothing = np.full((2, *compared.shape[1:]), np.nan)
    sample = _nearest_sample(stats, by, tokens)
    if sample is None:
        return ExpectedFlags(0, 0, texts, statistics, nothing, nothing[:, 0, 0])
    values, weights, ends = sample
    counts, spreads = stats.counts(by), stats.spreads(by)
    of_heads, in_text = np.zeros((len(values), *compared.shape[1:]), int), compared.any((1, 2))
    countable = in_text & (counts > FEWEST_TEXTS)
    for k in np.flatnonzero(countable):
        flags = _flags(values[:, k].astype(float), int(counts[k]), stats.values(SURVEY_NAMES[k], by), spreads[k])
        valid = ~np.isnan(values[:, k]).any((1, 2))
        texts[k] = valid.sum()
        if texts[k]:
            statistics[:, k] = _summary(flags.sum((1, 2))[valid, None], weights[valid])[:, 0]
        of_heads += flags if SURVEY_NAMES[k] in FLAGGED_NAMES else 0
    if not countable.any() or (countable < in_text).any():
        return ExpectedFlags(*ends, texts, statistics, nothing, nothing[:, 0, 0])
    heads, overall = (_summary(n.reshape(len(values), -1), weights) for n in (of_heads, of_heads.sum((1, 2))))
    return ExpectedFlags(*ends, texts, statistics, heads.reshape(nothing.shape), overall[:, 0])


def _nearest_sample(stats: HeadStats, by: str, tokens: int) -> tuple[np.ndarray, np.ndarray, tuple[int, int]] | None:
    """(texts, K, L, H) values of single texts, (texts,) how many each stands for, and the shortest and longest length;
    None without texts."""
    bins = {place: tally for place, tally in stats.bins.items() if by in tally.values}
    if not bins:
        return None
    places: list[LengthBin] = []
    for reach in range(STEPS):
        places = [place for place in bins if abs(place.step - step_of(tokens)) <= reach]
        if sum(len(bins[place].values[by]) for place in places) >= FEWEST_TEXTS:
            break
    values = [bins[place].values[by] for place in places]
    weights = [bins[at].sums[f"{by}.text_count"].max() / len(texts) for at, texts in zip(places, values, strict=True)]
    ends = min(place.tokens[0] for place in places), max(place.tokens[-1] for place in places)
    return np.concatenate(values), np.repeat(weights, [len(texts) for texts in values]), ends


def _flags(values: np.ndarray, n: int, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """(texts, L, H) bool: a text's value lies outside the interval of the other n − 1; False where it has none."""
    away = values - mean
    of_others = mean - away / (n - 1)
    squares = np.maximum(0, (n - 1) * sd**2 - away**2 * n / (n - 1))
    reach = prediction_width(n - 1) * np.sqrt(squares / (n - 2)) + ROUNDING * np.maximum(1, np.abs(of_others))
    return np.abs(values - of_others) > reach


def _summary(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(2, M) of counts (texts, M): their mean, and the least number that SHARE of the texts do not exceed."""
    order = counts.argsort(0, kind="stable")
    share = weights[order].cumsum(0) / weights.sum()
    at = (share >= SHARE - 1e-9).argmax(0)
    quantile = np.take_along_axis(np.take_along_axis(counts, order, 0), at[None], 0)[0]
    return np.stack([np.average(counts, 0, weights), quantile])
