"""Parts of a model beside the whole. Which is best is chosen on one half of the questions and told on the other, where
the winner has left its luck behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...base.amounts import amount
from ...base.dataframes import pd
from ...base.ranking import signed
from .findings import holm_intervals
from .intervals import difference_interval

FEWEST = 8  # questions that a choice is told on


@dataclass(frozen=True)
class Winner:
    """The best of one half beside the whole, on the other half. A share is in [0, 1]."""

    name: str  # of the part
    mean: float  # on the other half
    whole: float  # the mean of the whole on the same questions
    low: float  # where the 95 % interval of mean − whole begins, paired by question
    high: float  # where that ends
    chosen_on: int  # questions of the one half
    told_on: int  # questions of the other half

    @property
    def difference(self) -> float:
        """mean − whole."""
        return self.mean - self.whole


def choice(shares: pd.DataFrame, whole: str, seed: int, rival: bool = False) -> Winner | None:
    """The column of shares (questions × candidates, in [0, 1]) with the largest mean on a half drawn by `seed`, as it
    is on the other half; `whole`, one of the columns, where it is no worse. rival: the best of the other columns alone.
    None for fewer than 16 questions."""
    if len(shares) < 2 * FEWEST:
        return None
    order = np.random.default_rng(seed).permutation(len(shares))
    first, second = shares.iloc[order[::2]], shares.iloc[order[1::2]]
    means = first.mean()
    others = means.drop(whole)
    name = str(others.idxmax()) if rival or others.max() > means[whole] else whole
    differences = (second[name] - second[whole]).to_numpy()
    low, high = difference_interval(differences) if name != whole else (0.0, 0.0)
    return Winner(name, float(second[name].mean()), float(second[whole].mean()), low, high, len(first), len(second))


def choice_said(best: Winner | None, whole: str, unit: str = "question") -> str:
    """A sentence. whole: what a choice is told beside, as it is called; unit: what is halved."""
    if best is None:
        return f"No choice is told: there are too few {unit}s for two halves."
    if best.difference == best.low == best.high == 0:
        return f"On one half of the {unit}s ({best.chosen_on}) none is better than {whole}."
    return (
        f"Best on one half of the {unit}s ({best.chosen_on}): {best.name}; on the other half ({best.told_on}) it gives "
        f"{change_said(best.difference, best.low, best.high)} beside {whole}."
    )


@dataclass(frozen=True, eq=False, repr=False)
class Sizes:
    """Parts of a model beside the whole: what `Retrieval.layers`, `Retrieval.dimensions` and `Task.layers` give, which
    say what the columns of `table` are.
    """

    table: pd.DataFrame  # a row a part
    choice: Winner | None  # the best, chosen on one half of the questions, told on the other; None where they are few
    said: str  # a few sentences
    measure: str  # what the means are of
    shares: pd.DataFrame | None = None  # what they are means of: questions × parts, in [0, 1]; None of correlations
    rival: Winner | None = None  # as `choice`, of earlier layers or fewer dimensions alone; None of a task

    def __repr__(self) -> str:
        return f"Sizes({self.said})"


def told(differences: Mapping[str, np.ndarray]) -> dict[str, tuple[float, float, float, float]]:
    """(mean, low, high, p) of each by name: paired by question, Holm over all (`findings.holm_intervals`)."""
    ends = holm_intervals([partial(_interval, each) for each in differences.values()])
    means = (float(each.mean()) if len(each) else np.nan for each in differences.values())
    return {name: (mean, *row) for name, mean, row in zip(differences, means, ends, strict=True)}


def _interval(differences: np.ndarray, level: float) -> tuple[float, float]:
    return difference_interval(differences, level=level)


def change_said(mean: float, low: float, high: float) -> str:
    """A difference and its ends: "−0.012 (−0.038 to +0.014)"."""
    change, *ends = (signed(x, "+.3f") for x in (mean, low, high))
    return change if np.isnan(low) else f"{change} ({ends[0]} to {ends[1]})"


def name_of(layer: int, centred: bool = False) -> str:
    """How a layer is called in sentences and in `Sizes.shares`."""
    return f"layer {layer}{', centred' if centred else ''}"


def layers_said(table: pd.DataFrame, measure: str, n: int, tests: int, unit: str = "question") -> list[str]:
    """Of a row a layer, in order (raw and centred where there is such a column): how good the last one is as it is,
    and which are better. n: of how many units; tests: of one family."""
    is_last = table["layer"] == table["layer"].max()
    whole = table[is_last & ~table["centred"]].iloc[0] if "centred" in table else table[is_last].iloc[0]
    others = table.drop(whole.name)
    clauses = [
        f"{name_of(int(row['layer']), bool(row.get('centred')))} by "
        f"{change_said(row['difference'], row['low'], row['high'])}"
        for _, row in others[others["better"]].iterrows()
    ]
    ways = ", raw or centred," if "centred" in table else ""
    none = f"None of the others{ways} is better" if n > 1 else f"Whether another one{ways} is better cannot be told"
    verdict = f"Better: {'; '.join(clauses)}" if clauses else none
    return [
        f"After the last of {int(whole['layer'])} layers {measure} is {whole['mean']:.3f}.",
        f"{verdict} ({over(n, tests, unit)}).",
    ]


def over(n: int, tests: int, unit: str = "question") -> str:
    """What intervals are over, or that there are none."""
    if n < 2:
        return f"one {unit}: no interval"
    return f"paired over {amount(n, unit)}, Holm, 5 %, over {amount(tests, 'test')}"
