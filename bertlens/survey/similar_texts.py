"""Does the story hold? One text among the texts of its length: what lies where 95 % of such texts do not.

Length alone explains most of what differs from text to text: R² .8 to .9 for entropy, self and k90 of a BERT.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..base.dataframes import pd
from ..errors import InputError, SelectionError
from ..measures.significance import FEWEST_TEXTS, prediction_width
from ..measures.statistics import FLAGGED_NAMES, SURVEY_NAMES
from ..trace.trace import Trace
from .expected_flags import ROUNDING, ExpectedFlags, expected_flags
from .headstats import HeadStats
from .sums import BY
from .text_statistics import TextStatistics, text_statistics
from .textlength import segments_of, span


@dataclass(frozen=True)
class SimilarTexts:
    """One text among the texts of a corpus that are of its length: HeadStats.of_length. L layers, H heads, K numbers.

    tokens, segments: of the text; shortest, longest: tokens of the texts that it is compared with; texts: how many
    these are; counts (K,): how many of them have the statistic. values (K, L, H): the text's, NaN where it has none;
    mean, sd (n − 1) of the others, and reach, half the interval around the mean in which a further text of the same
    kind lies with probability LEVEL: t((1 + LEVEL)/2, n − 1)·sd·√(1 + 1/n); NaN under FEWEST_TEXTS texts. lower
    (2, K, L, H) int: at least and at most so many texts lie lower. expected: how many flags texts of the corpus
    nearest in length have, in the statistics that this text has.
    """

    tokens: int
    segments: int
    shortest: int
    longest: int
    texts: int
    counts: np.ndarray
    values: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    reach: np.ndarray
    lower: np.ndarray
    expected: ExpectedFlags

    @property
    def z(self) -> np.ndarray:
        """(K, L, H) the text less the mean, in standard deviations; NaN where all texts have one value."""
        rounding = ROUNDING * np.maximum(1, np.abs(self.mean))
        return (self.values - self.mean) / np.where(self.sd > rounding, self.sd, np.nan)

    @property
    def unusual(self) -> np.ndarray:
        """(K, L, H) bool: outside the interval; never where there is none, nor by rounding."""
        rounding = ROUNDING * np.maximum(1, np.abs(self.mean))
        with np.errstate(invalid="ignore"):
            outside: np.ndarray = np.abs(self.values - self.mean) > self.reach + rounding
        return outside


def similar_texts(stats: HeadStats, trace: Trace, text: TextStatistics, by: str = "weight") -> SimilarTexts:
    """A trace with its statistics among the texts of its length.

    Raises SelectionError for another `by` than "weight" and "norm", InputError where there are no norms.
    """
    if by not in BY:
        raise SelectionError(f"by is 'weight' or 'norm', not {by!r}")
    if by not in text.numerators:
        raise InputError(f"the text has no statistics by {by}: see measures.offers(trace)['norms']")
    tokens, segments = trace.n_tokens, segments_of(trace)
    denominators = torch.where(text.denominators > 0, text.denominators, torch.nan)  # 0: the text has no such tokens
    values = (text.numerators[by] / denominators[:, None, None]).numpy()
    peers = stats.of_length(tokens, segments)
    nothing = np.full(values.shape, np.nan)
    counts, mean, sd, lower = np.zeros(len(SURVEY_NAMES)), nothing, nothing, np.zeros((2, *values.shape), int)
    if peers.n_texts and (by == "weight" or peers.has_norms):
        counts, lower = peers.counts(by), peers.lower(values, by)
        enough = (counts >= FEWEST_TEXTS)[:, None, None]
        mean = np.where(enough, np.stack([peers.values(name, by) for name in SURVEY_NAMES]), np.nan)
        sd = np.where(enough, peers.spreads(by), np.nan)
    widths = np.array([prediction_width(int(n)) for n in counts])
    flags = expected_flags(peers, by, ~np.isnan(values - mean), tokens)
    reach = widths[:, None, None] * sd
    return SimilarTexts(tokens, segments, *span(tokens), peers.n_texts, counts, values, mean, sd, reach, lower, flags)


def story(stats: HeadStats, trace: Trace, by: str = "weight") -> pd.DataFrame:
    """Does a text do what texts of its length do? DataFrame, one row per head and statistic.

    Columns: layer, head, statistic, value (in the text), texts (of its length that have the statistic), mean, sd, z,
    lower_least and lower_most (so many of them lie lower), unusual (outside the interval in which 95 % of texts of
    this kind lie, whatever the corpus), counted (False for three of the four entropies, which are nearly one
    statistic). Texts of its length: `HeadStats.of_length`. NaN and False under 8 of them.
    attrs: tokens, segments, shortest, longest, texts; unusual: how many of the counted are; compared: of how many;
    chance: how many the corpus's texts nearest in length have on average, each set among the others; most: 9 of 10 of
    them have at most so many, as flags come in clumps; most_of: of how many texts that is; most_shortest, most_longest:
    their tokens. NaN and 0 where these are too few.
    by: "weight" or "norm". Raises SelectionError for another, InputError for statistics of another shape, and where
    there are no norms.
    """
    if (trace.n_layers, trace.n_heads) != stats.shape:
        raise InputError(f"statistics of {stats.shape} (layers, heads) say nothing of a trace of another model")
    text = similar_texts(stats, trace, text_statistics(trace), by)
    of, layer, head = np.indices(text.values.shape).reshape(3, -1)
    flagged = np.array([name in FLAGGED_NAMES for name in SURVEY_NAMES])[of]
    table = pd.DataFrame(
        {
            "layer": layer,
            "head": head,
            "statistic": np.array(SURVEY_NAMES)[of],
            "value": text.values.ravel(),
            "texts": text.counts.astype(int)[of],
            "mean": text.mean.ravel(),
            "sd": text.sd.ravel(),
            "z": text.z.ravel(),
            "lower_least": text.lower[0].ravel(),
            "lower_most": text.lower[1].ravel(),
            "unusual": text.unusual.ravel(),
            "counted": flagged,
        }
    )
    compared = int((flagged & (table["value"] - table["mean"]).notna()).sum())
    table.attrs = {name: getattr(text, name) for name in ("tokens", "segments", "shortest", "longest", "texts")}
    table.attrs |= {"unusual": int((flagged & table["unusual"]).sum()), "compared": compared}
    mean, limit = text.expected.overall.tolist()
    table.attrs |= {"chance": mean, "most": limit, "most_of": int(text.expected.texts.max())}
    table.attrs |= {"most_shortest": text.expected.shortest, "most_longest": text.expected.longest}
    return table
