"""Does the story hold? One text among the texts of its length: what lies where 95 % of such texts do not.

Length alone explains most of what differs from text to text: R² .8 to .9 for entropy, self and k90 of a BERT.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..errors import InputError, SelectionError
from ..trace import Trace
from .headstats import HeadStats
from .statistics import COUNTED, NAMES, TextStatistics, text_statistics
from .tally import BY
from .textlength import segments_of, span

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05  # of texts lie outside the interval by chance
FEWEST = 8  # texts of one length, under which nothing is said
ROUNDING = 1e-5  # of float32 sums, relative to the larger of 1 and the mean: less is no difference


@dataclass(frozen=True)
class Alike:
    """One text among the texts of a corpus that are of its length: HeadStats.of_length. L layers, H heads, K NAMES.

    tokens, segments: of the text; shortest, longest: tokens of the texts that it is compared with; texts: how many
    these are; counts (K,): how many of them have the statistic. values (K, L, H): the text's, NaN where it has none;
    mean, sd (n − 1) of the others, and reach, half the interval around the mean in which a further text of the same
    kind lies with probability 1 − LEVEL: t(1 − LEVEL/2, n − 1)·sd·√(1 + 1/n); NaN under FEWEST texts. lower
    (2, K, L, H) int: at least and at most so many texts lie lower.
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


def alike(stats: HeadStats, trace: Trace, text: TextStatistics, by: str = "weight") -> Alike:
    """A trace with its statistics among the texts of its length.

    Raises SelectionError for another `by` than "weight" and "norm", InputError where there are no norms.
    """
    if by not in BY:
        raise SelectionError(f"by is 'weight' or 'norm', not {by!r}")
    if by not in text.numerators:
        raise InputError(f"the text has no statistics by {by}: see measures.offers(trace)['norms']")
    tokens, segments = trace.n_tokens, segments_of(trace)
    known = torch.where(text.denominators > 0, text.denominators, torch.nan)  # 0: the text has no such tokens
    values = (text.numerators[by] / known[:, None, None]).numpy()
    some = stats.of_length(tokens, segments)
    nothing = np.full(values.shape, np.nan)
    counts, mean, sd, lower = np.zeros(len(NAMES)), nothing, nothing, np.zeros((2, *values.shape), int)
    if some.n_texts and (by == "weight" or some.has_norms):
        counts, lower = some.counts(by), some.lower(values, by)
        enough = (counts >= FEWEST)[:, None, None]
        mean = np.where(enough, np.stack([some.values(name, by) for name in NAMES]), np.nan)
        sd = np.where(enough, some.spreads(by), np.nan)
    widths = np.array([_width(int(n)) for n in counts])
    return Alike(
        tokens, segments, *span(tokens), some.n_texts, counts, values, mean, sd, widths[:, None, None] * sd, lower
    )


def story(stats: HeadStats, trace: Trace, by: str = "weight") -> pd.DataFrame:
    """Does a text do what texts of its length do? DataFrame, one row per head and statistic.

    Columns: layer, head, statistic, value (in the text), texts (of its length that have the statistic), mean, sd, z,
    lower_least and lower_most (so many of them lie lower), unusual (outside the interval in which 95 % of texts of
    this kind lie, whatever the corpus), counted (False for three of the four entropies, which are nearly one
    statistic). Texts of its length: `HeadStats.of_length`. NaN and False under 8 of them.
    attrs: tokens, segments, shortest, longest, texts; unusual: how many of the counted are; compared: of how many;
    chance: 5 % of these, what a text of the corpus's own kind gives.
    by: "weight" or "norm". Raises SelectionError for another, InputError for statistics of another shape, and where
    there are no norms.
    """
    import pandas as pd

    if (trace.n_layers, trace.n_heads) != stats.shape:
        raise InputError(f"statistics of {stats.shape} (layers, heads) say nothing of a trace of another model")
    found = alike(stats, trace, text_statistics(trace), by)
    of, layer, head = np.indices(found.values.shape).reshape(3, -1)
    counted = np.array([name in COUNTED for name in NAMES])[of]
    table = pd.DataFrame(
        {
            "layer": layer,
            "head": head,
            "statistic": np.array(NAMES)[of],
            "value": found.values.ravel(),
            "texts": found.counts.astype(int)[of],
            "mean": found.mean.ravel(),
            "sd": found.sd.ravel(),
            "z": found.z.ravel(),
            "lower_least": found.lower[0].ravel(),
            "lower_most": found.lower[1].ravel(),
            "unusual": found.unusual.ravel(),
            "counted": counted,
        }
    )
    compared = int((counted & (table["value"] - table["mean"]).notna()).sum())
    table.attrs = {name: getattr(found, name) for name in ("tokens", "segments", "shortest", "longest", "texts")}
    table.attrs |= {"unusual": int((counted & table["unusual"]).sum()), "compared": compared}
    table.attrs["chance"] = LEVEL * compared
    return table


def _width(n: int) -> float:
    """Half the prediction interval of n values, in their standard deviations; NaN under FEWEST."""
    return t_quantile(n - 1) * math.sqrt(1 + 1 / n) if n >= FEWEST else math.nan


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
