"""The statistics of a head: each is one record with its words, its function and where it is shown.

A statistic is a numerator per head and one denominator, so that texts can be averaged one by one or token by token.
Shares are Σ over the pairs ÷ n tokens; rows of special tokens count, also for previous and next. Clark et al. 2019,
sections 3.1 to 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..base.vocabulary import Word
from .rows import Rows

Fraction = tuple[Tensor, int]  # numerator (H,), denominator; 0 says that the text has no such tokens or pairs


@dataclass(frozen=True)
class Statistic(Word):
    """A number of a head: the words for it, what computes it, and where it is shown.

    function: from the rows of a block. The numerator is the block's part of the sum (or the block's largest, where
    `join` is torch.maximum), the denominator that of the whole text. None: made elsewhere, of two measures.
    unit: "share" of the attention, "nats", "keys", or "weight". atlas: among the numbers of every trace.
    survey: counted over a corpus. flags: its flags are counted there; not where another one says nearly the same.
    finds: what heads with much of it do, after "Find heads that …"; {first} and {separator} stand for those tokens.
    """

    function: Callable[[Rows], Fraction] | None
    unit: str = "share"
    atlas: bool = False
    survey: bool = True
    flags: bool = True
    join: Callable[[Tensor, Tensor], Tensor] = torch.add
    finds: str = ""


_RECORDS = [
    Statistic(
        "previous",
        "to the previous token",
        "Share of the attention that goes to the token before.",
        lambda rows: rows.diagonal(-1),
        atlas=True,
        finds="look at the previous word",
    ),
    Statistic(
        "next",
        "to the next token",
        "Share of the attention that goes to the token after.",
        lambda rows: rows.diagonal(1),
        atlas=True,
        finds="look at the next word",
    ),
    Statistic(
        "self",
        "to the token itself",
        "Share of the attention that tokens give themselves.",
        lambda rows: rows.diagonal(0),
        atlas=True,
        finds="look at the word itself",
    ),
    Statistic(
        "same_word",
        "to the same word",
        "Share that goes to other occurrences of the query's word.",
        lambda rows: rows.pairs(rows.roles.same_word(rows.queries, rows.keys)),
        finds="look at the same word elsewhere",
    ),
    Statistic(
        "first",
        "to the first token",
        "Share that goes to the first token.",
        Rows.to_first,
        atlas=True,
        finds="rest on {first}",
    ),
    Statistic(
        "separator",
        "to separators",
        "Share that goes to the separators of the template.",
        lambda rows: rows.column("separator", bool(rows.roles.separator.any())),
        atlas=True,
        finds="rest on {separator}",
    ),
    Statistic(
        "special",
        "to special tokens",
        "Share that goes to all tokens of the template.",
        lambda rows: rows.column("special"),
        atlas=True,
        survey=False,
        finds="rest on special tokens",
    ),
    Statistic(
        "punctuation",
        "to . and ,",
        "Share that goes to “.” and “,” (as Clark et al. 2019 count).",
        lambda rows: rows.column("punctuation"),
        finds="look at . and ,",
    ),
    Statistic(
        "punctuation_all",
        "to punctuation",
        "Share that goes to tokens of Unicode punctuation.",
        lambda rows: rows.column("punctuation_all"),
        atlas=True,
        finds="look at punctuation",
    ),
    Statistic(
        "same_segment",
        "within the own sentence",
        "Share that stays in the query's own sentence.",
        lambda rows: rows.pairs(rows.roles.same_segment(rows.queries, rows.keys)),
        atlas=True,
        survey=False,
        finds="stay in their own sentence",
    ),
    Statistic(
        "separator_to_separator",
        "separator to separator",
        "Share of the separators' own attention that goes to separators (Clark et al. 2019).",
        lambda rows: rows.separators(from_separators=True),
        finds="let separators look at separators",
    ),
    Statistic(
        "rest_to_separator",
        "rest to separator",
        "Share of the other tokens' attention that goes to separators (Clark et al. 2019).",
        lambda rows: rows.separators(from_separators=False),
        finds="let words rest on separators",
    ),
    Statistic(
        "entropy",
        "entropy",
        "Mean entropy of a row, in nats: 0 on one key, ln K even.",
        lambda rows: (rows.entropies.sum(-1), rows.n),
        "nats",
        atlas=True,
        finds="spread over many words",
    ),
    Statistic(
        "entropy_first",
        "entropy, first row",
        "Entropy of the first token's row, in nats.",
        lambda rows: rows.of_first(rows.entropies),
        "nats",
        flags=False,
        finds="spread the first row over many words",
    ),
    Statistic(
        "entropy_smoothed",
        "entropy, smoothed",
        "Mean entropy of 0.9999 α + 0.0001 / n, in nats (as Clark et al. 2019 have it).",
        lambda rows: (rows.smoothed.sum(-1), rows.n),
        "nats",
        flags=False,
    ),
    Statistic(
        "entropy_first_smoothed",
        "entropy, first row, smoothed",
        "Smoothed entropy of the first token's row, in nats.",
        lambda rows: rows.of_first(rows.smoothed),
        "nats",
        flags=False,
    ),
    Statistic(
        "k90",
        "keys that hold 90 %",
        "Least number of keys that hold 90 % of a row, mean over rows (Ramsauer et al. 2021).",
        Rows.k90,
        "keys",
        atlas=True,
        finds="need many words for 90 % of a row",
    ),
    Statistic(
        "max",
        "largest weight",
        "The largest weight of the head.",
        lambda rows: (rows.values.amax((1, 2)), 1),
        "weight",
        atlas=True,
        survey=False,
        join=torch.maximum,
        finds="have one very strong link",
    ),
    Statistic(
        "variation",
        "weight ≠ norm",
        "Share of a row that lies elsewhere by norm ‖αf(x)‖ than by weight α (total variation), mean over rows.",
        None,  # measures.byhead
        survey=False,
        finds="take from other words than they look at",
    ),
]
STATISTICS = {record.name: record for record in _RECORDS}
ATLAS_NAMES = tuple(name for name, record in STATISTICS.items() if record.atlas)
SURVEY_NAMES = tuple(name for name, record in STATISTICS.items() if record.survey)
FLAGGED_NAMES = tuple(name for name in SURVEY_NAMES if STATISTICS[name].flags)


def fractions(names: Sequence[str], rows: Rows, before: Sequence[Fraction] = ()) -> list[Fraction]:
    """The statistics `names` of a block of rows, joined with those of the blocks before."""
    sums: list[Fraction] = []
    for name in names:
        function = STATISTICS[name].function
        if function is None:
            raise KeyError(name)
        sums.append(function(rows))
    if not before:
        return sums
    return [
        (STATISTICS[name].join(sum_before, numerator), denominator)
        for name, (sum_before, _), (numerator, denominator) in zip(names, before, sums, strict=True)
    ]


def means(totals: Sequence[Fraction]) -> Tensor:
    """float32 (H, names) numerators by denominators of `totals`, NaN where there are no such tokens or pairs."""
    return torch.stack([numerator.float() / (denominator or torch.nan) for numerator, denominator in totals], -1)
