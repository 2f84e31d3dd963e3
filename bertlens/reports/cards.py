"""The cards of a report, as a table and as JSON; and the card of a task."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from ..base.amounts import amount
from ..base.atomic import text_or_path
from ..base.dataframes import pd
from ..errors import BertLensError, SelectionError
from ..export import pages
from ..lens import Lens
from ..model.fingerprint import Fingerprint
from ..tasks import Task
from ..tasks.importance import FEWEST_EXAMPLES
from .claim import PAPERS, Claim
from .rules import CANNOT, CENSUS, DIFFERS, HOLDS, Measured, counts_said, ends_said, said, turn

FORMAT = 1
TASK_SITES = 4  # heads and MLPs of the card of a task, and as many at random
TASK_SCORES = 4  # of all examples
HEALTH = "health"  # the group of the checks whether the model is sound
RETRIEVAL = "retrieval"  # the group of the checks of its search
MOST_EACH = 1000  # texts whose numbers are written down one by one


@dataclass(frozen=True)
class Card:
    """A claim, this model's number, and the verdict; why: why it cannot be told, else ""."""

    claim: Claim
    measured: Measured
    verdict: str
    why: str

    @property
    def number(self) -> str:
        """The number with its interval, as it is read."""
        m, unit = self.measured, self.claim.rule.unit
        ends = "" if m.interval == CENSUS else ends_said(m.low, m.high, unit)
        return f"{said(m.value, unit)}{ends}"

    @property
    def interval(self) -> str:
        """What the interval is, "" where there is none."""
        return self.measured.interval if math.isfinite(self.measured.low) else ""

    @property
    def turn(self) -> str:
        """Whether another bound would turn the verdict, where the bound is ours: a sentence, or ""."""
        return turn(self.claim.rule, self.measured)

    @property
    def n(self) -> str:
        return f"{self.measured.n} {self.measured.units}"

    @property
    def table(self) -> pd.DataFrame:
        """What the card's chart draws, a column a curve and a row a layer, or a column and a row for each bar."""
        series = self.measured.series
        rows = self.measured.labels or [f"L{layer}" for layer in range(max(map(len, series.values()), default=0))]
        return pd.DataFrame(series, index=rows)

    def __str__(self) -> str:
        verdict = f"{self.verdict}, because {self.why}" if self.why else self.verdict
        of = f" ({self.interval})" if self.interval else ""
        return f"{self.claim.sentence}: {verdict}. {self.number}{of}, n = {self.n}; the paper: {self.claim.found}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, what its number is, the note, and the table."""
        lines = (f"<b>{escape(str(self))}</b>", escape(f"Number: {self.claim.measure}. {self.measured.note}".strip()))
        table = self.table.round(3)
        return f"<p>{'<br>'.join(lines)}</p>{'' if table.empty else table._repr_html_()}"

    def to_dict(self) -> dict[str, Any]:
        """JSON types only; numbers that are not there are None."""
        m, claim = self.measured, self.claim
        return {
            "name": claim.name,
            "sentence": claim.sentence,
            "paper": PAPERS[claim.paper],
            "place": claim.place,
            "found": claim.found,
            "on": claim.on,
            "measure": claim.measure,
            "unit": claim.rule.unit,
            "rule": str(claim.rule),
            "bound_is_ours": claim.rule.ours,
            "turn": self.turn,
            "of_training": claim.of_training,
            "verdict": self.verdict,
            "because": self.why,
            "value": number(m.value),
            "low": number(m.low),
            "high": number(m.high),
            "interval": self.interval,
            "n": m.n,
            "n_of": m.units,
            "chance": number(m.chance),
            "head": None if m.head is None else [*m.head],
            "head_value": number(m.head_value),
            "note": m.note,
            "series": {name: [number(value) for value in values] for name, values in m.series.items()},
            "labels": m.labels,
            "python": claim.python,
            "each": [number(value) for value in m.each] if len(m.each) <= MOST_EACH else [],
        }


@dataclass(frozen=True)
class ReportRecord:
    """What a report says: its cards, in the order of the table of claims, as a table and as JSON."""

    lens: Lens = field(repr=False)
    cards: tuple[Card, ...] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)  # model, corpus, seed, threads, python
    texts: list[Any] = field(repr=False)  # some of the corpus, for the live head
    made: Mapping[str, Any] = field(repr=False)  # date and time that it took
    labelled: str = field(default="", repr=False)  # markup of the card of a task
    model: Fingerprint | None = field(default=None, repr=False)  # as it was when the report was made

    @property
    def table(self) -> pd.DataFrame:
        """DataFrame(claim, verdict, value, low, high, n, n_of, chance, unit, found, on, layer, head, because,
        of_training), one row a claim."""
        rows = []
        for card in self.cards:
            record = card.to_dict()
            layer, head = record["head"] or (None, None)
            names = ("verdict", "value", "low", "high", "n", "n_of", "chance", "unit", "found", "on")
            row = {"claim": record["name"], **{name: record[name] for name in names}}
            rows.append(
                row | {"layer": layer, "head": head, "because": card.why, "of_training": card.claim.of_training}
            )
        return pd.DataFrame(rows)

    def claim(self, name: str) -> Card:
        """The card of a claim, by its name. Raises SelectionError for one that is not in the report."""
        for card in self.cards:
            if card.claim.name == name:
                return card
        raise SelectionError(
            f"no claim {name!r} in this report: there are {', '.join(c.claim.name for c in self.cards)}"
        )

    @property
    def groups(self) -> tuple[list[Card], list[Card], list[Card]]:
        """The cards of the papers' claims, of the checks whether the model is sound, and of those of its search."""
        papers = [card for card in self.cards if card.claim.group not in (HEALTH, RETRIEVAL)]
        checks, searches = ([card for card in self.cards if card.claim.group == name] for name in (HEALTH, RETRIEVAL))
        return papers, checks, searches

    @property
    def verdicts(self) -> dict[str, int]:
        """How many of the papers' claims hold, differ and cannot be told; `checks` are not among them."""
        return _verdicts(self.groups[0])

    @property
    def checks(self) -> dict[str, int]:
        """How many of the checks whether the model is sound hold, differ and cannot be told."""
        return _verdicts(self.groups[1])

    @property
    def searches(self) -> dict[str, int]:
        """How many of the checks of its search hold, differ and cannot be told; none without relevance."""
        return _verdicts(self.groups[2])

    @property
    def said(self) -> str:
        """The counts in words, as a page, a shell and a notebook say them."""
        return counts_said(self.verdicts, self.checks, self.searches)

    def to_dict(self) -> dict[str, Any]:
        """Every number of the report; what changes from run to run (date, seconds) stands under "made" alone."""
        return {
            "bertlens_report": FORMAT,
            **self.facts,
            "verdicts": self.verdicts,
            "checks": self.checks,
            **({"searches": self.searches} if self.groups[2] else {}),
            "claims": [card.to_dict() for card in self.cards],
            "made": dict(self.made),
        }

    def to_json(self, path: str | Path | None = None) -> str | Path:
        """`to_dict` as JSON: the text, or `path`, where it was written. Raises ExportError where it cannot be."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        return text_or_path(text, path)

    def __repr__(self) -> str:
        return f"Report({self.facts['model']['model']}, {amount(self.facts['corpus']['texts'], 'text')}: {self.said})"


def _verdicts(cards: Sequence[Card]) -> dict[str, int]:
    return {word: sum(card.verdict == word for card in cards) for word in (HOLDS, DIFFERS, CANNOT)}


def number(value: float | None) -> float | None:
    """A float of 6 digits for JSON, None where there is none."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def task_card(task: Task, seed: int = 0) -> str:
    """Markup of a card: an article with the scores of all examples, and what `heads` and `errors` say."""
    scores = task.metrics()
    sentences = [task.errors(1, words=False).said]
    if len(task) >= FEWEST_EXAMPLES:
        try:
            sentences.insert(0, task.heads(TASK_SITES, seed=seed).said)
        except BertLensError as error:  # a model whose heads cannot be changed
            sentences.insert(0, str(error))
    return pages.render(
        "taskcard.jinja",
        asked=task.kind.asks,
        n=len(task),
        source=task.examples.columns.source,
        scores=scores[scores["label"] == ""].head(TASK_SCORES).to_dict("records"),
        sentences=sentences,
    )
