"""The rule by which a claim holds, differs or cannot be told: where the interval of a number lies beside a bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.amounts import shortage

HOLDS, DIFFERS, CANNOT = "holds", "differs", "cannot be told"
MANY = {HOLDS: "hold", DIFFERS: "differ", CANNOT: "cannot be told"}
COUNTS = ("heads", "kinds", "layers")
FEWEST_TEXTS = 8  # an interval of fewer says more about them than about the model
FACTOR = 1.5  # times as far as a bound of ours, or as near: would the verdict be another one?
CENSUS = "counted, not estimated"
OF_ANY_TEXTS = ("bonino-direction", "bonino-subspaces", "health-cut", "health-unknown")  # of weights, or counted
OF_TREEBANKS = ("clark-syntax", "clark-probe", "clark-coreference")  # by words and documents


@dataclass(frozen=True)
class Rule:
    """Holds where the whole interval lies on the claim's side of a bound, differs where it lies on the other one.

    unit: "share", "ratio", "nats", "difference", or what is counted (COUNTS): then "above" is the bound itself, too.
    ours: the bound, or that of what is counted, is not the paper's.
    """

    side: str  # "above" or "below"
    bound: float
    unit: str
    ours: bool = True

    @property
    def counts(self) -> bool:
        return self.unit in COUNTS

    def __str__(self) -> str:
        bound = said(self.bound, self.unit)
        if self.counts and self.side == "above":
            return f"holds if the interval's lower end is {bound} or more, differs if its upper end is fewer"
        if self.counts:
            return f"holds if the interval's upper end is fewer than {bound}, differs if its lower end is not"
        opposite = "below" if self.side == "above" else "above"
        return f"holds if the whole interval lies {self.side} {bound}, differs if it lies {opposite}"


@dataclass(frozen=True)
class Measured:
    """A number of a model, with what is needed to judge it. NaN where there is none, and `why` says why.

    value, low, high: the number and its interval, which `interval` describes; n of `units` it is of. chance: what heads
    that look anywhere would give. series: curves for the chart, one value a layer, or one for each of `labels`. head:
    (layer, head) that shows it most, `head_value` with what. note: one more sentence. why: why nothing can be told.
    each: the number of every text, NaN where it has none, where the interval is by texts. ends: what low and high are,
    where they are no 95 % interval by `units`. other_bounds: of a count of what is beyond a bound, (bound, low, high)
    with one 1.5 times as far, and as near.
    """

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    units: str = "texts"
    chance: float | None = None
    series: dict[str, list[float]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    head: tuple[int, int] | None = None
    head_value: float | None = None
    note: str = ""
    why: str = ""
    each: list[float] = field(default_factory=list)
    ends: str = ""
    other_bounds: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def interval(self) -> str:
        """What low and high are."""
        return self.ends or f"95 %, by {self.units}"


def verdict(rule: Rule, measured: Measured) -> tuple[str, str]:
    """(one of HOLDS, DIFFERS, CANNOT; why, "" where it can be told)."""
    if measured.why:
        return CANNOT, measured.why
    if measured.units == "texts" and measured.n < FEWEST_TEXTS and measured.ends != CENSUS:
        return CANNOT, f"{shortage(measured.n, 'text')}: at least {FEWEST_TEXTS}"
    low, high = measured.low, measured.high
    if not (math.isfinite(low) and math.isfinite(high)):
        is_seen = measured.n > 1 and math.isfinite(measured.value)
        alike = f": all {measured.n} {measured.units} are alike" if is_seen else ""
        return CANNOT, f"the number has no interval{alike}"
    if rule.counts:
        if low >= rule.bound:
            return (HOLDS if rule.side == "above" else DIFFERS), ""
        if high < rule.bound:
            return (DIFFERS if rule.side == "above" else HOLDS), ""
    else:
        beyond = "above" if low > rule.bound else "below" if high < rule.bound else ""
        if beyond or measured.ends == CENSUS:
            return (HOLDS if beyond == rule.side else DIFFERS), ""
    least = said(low, rule.unit)
    ends = f"{least.split(' ')[0] if rule.counts else least} to {said(high, rule.unit)}"
    if measured.ends:  # which more texts need not narrow
        return CANNOT, f"the bound lies inside ({ends})"
    return CANNOT, f"{measured.n} {measured.units} are too few to say ({ends})"


def too_few(names: Sequence[str], texts: int, is_treebank: bool) -> tuple[int, str]:
    """(how many of these claims so many texts may decide; a sentence where that is not all of them).

    Known before any of them is run. is_treebank: whether the texts are one, of which some claims count words.
    """
    if texts >= FEWEST_TEXTS:
        return len(names), ""
    count = len({*names} & {*OF_ANY_TEXTS, *(OF_TREEBANKS if is_treebank else ())})
    which = f"all but {count} of {len(names)} claims" if count else "any of these claims"
    return count, f"{texts} {'text is' if texts == 1 else 'texts are'} too few for {which}: at least {FEWEST_TEXTS}"


def turn(rule: Rule, measured: Measured) -> str:
    """Where a bound is ours, and the verdict another one with it 1.5 times as far from chance, or as near: a sentence.

    Of what is counted beyond a bound it is this one that is moved. "" where the verdict stays, or cannot be told.
    """
    word, _ = verdict(rule, measured)
    if word == CANNOT or not rule.ours:
        return ""
    chance = measured.chance or 0.0
    bounds = [chance + (rule.bound - chance) * factor for factor in (FACTOR, 1 / FACTOR)]
    tried = [(said(bound, rule.unit), replace(rule, bound=bound), measured) for bound in bounds]
    if measured.other_bounds:
        tried = [(f"{at:.2g}", rule, replace(measured, low=low, high=high)) for at, low, high in measured.other_bounds]
    for (bound, with_it, of_it), how in zip(tried, ("far", "near"), strict=True):
        if (turned := verdict(with_it, of_it)[0]) != word:
            return f"A bound 1.5 times as {how}, {bound}, would turn it: {turned}."
    return ""


def census(verdicts: Mapping[str, int]) -> dict[str, str]:
    """Verdict -> "22 hold", of those that there are."""
    return {word: f"{n} {word if n == 1 else MANY[word]}" for word, n in verdicts.items() if n}


def counts_said(papers: Mapping[str, int], checks: Mapping[str, int], searches: Mapping[str, int]) -> str:
    """The verdicts of a report's groups in words, of those that it has."""
    counts = {"of the papers' claims": papers, "of the checks of the model": checks, "of those of its search": searches}
    return "; ".join(f"{name} {', '.join(census(n).values())}" for name, n in counts.items() if any(n.values()))


def said(value: Any, unit: str) -> str:
    """A number as it is read in a sentence."""
    if value is None or not math.isfinite(value):
        return "–"
    if unit == "share":
        value = _not_minus(100 * value, 0.05) / 100
        return f"{100 * value:.1f} %" if abs(value) < 0.1 else f"{100 * value:.0f} %"
    if unit in COUNTS:
        return f"{value:.0f} {unit[:-1] if value == 1 else unit}"
    if unit == "nats":
        return f"{_not_minus(value):.2f} nats"
    return f"{_not_minus(value):.2f}" if abs(value) < 100 else f"{value:,.0f}"


def _not_minus(value: float, half: float = 0.005) -> float:
    """0 for what would be read as minus nought; half: of the last digit."""
    return 0.0 if -half <= value < 0 else value


def ends_said(low: float, high: float, unit: str) -> str:
    """The two ends of an interval behind its number, without their unit; "" where there are none."""
    ends = (said(value, unit).split(" ")[0] for value in (low, high))
    return f" [{', '.join(ends)}]" if math.isfinite(low) else ""
