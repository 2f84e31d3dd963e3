"""What is asked of a model's search where relevance is given, and the rule by which each holds; their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.amounts import shortage
from ..errors import BertLensError
from ..measures.significance import count_interval
from ..search import EditProbe, Retrieval
from .claim import Claim
from .rules import Measured, Rule

GROUP = "retrieval"
SEARCH = "r = bl.retrieval(lens, queries, corpus, relevance)"  # what its lines begin with, beside `claim.SETUP`


def _edit_claim(name: str, kind: str, sentence: str) -> Claim:
    return Claim(
        f"{GROUP}-{name}",
        GROUP,
        "",
        sentence,
        "less than half expected",
        "share of the texts whose score it moves less than a filler of as many tokens does",
        Rule("below", 0.5, "share"),
        f'{SEARCH}; r.probe().table.set_index("kind").loc["{kind}", "share"]',
        on="",
    )


RETRIEVAL = (
    Claim(
        f"{GROUP}-bm25",
        GROUP,
        "",
        "Its ranking is better than one by words",
        "better expected",
        "nDCG@10 less that of BM25 on the same questions, mean",
        Rule("above", 0.0, "difference", ours=False),
        f'{SEARCH}; r.metrics().set_index("measure").loc["nDCG@10", "difference"]',
        on="",
    ),
    Claim(
        f"{GROUP}-first",
        GROUP,
        "",
        "Most questions have a relevant document first",
        "most expected",
        "share of the questions for which a relevant document is first",
        Rule("above", 0.5, "share"),
        f'{SEARCH}; (r.by_question["MRR@100"] == 1).mean()',
        on="",
    ),
    Claim(
        f"{GROUP}-hubs",
        GROUP,
        "",
        "Failures are no matter of hubs",
        "less than 1 in 10 expected",
        "share of the failures whose first passage is a hub",
        Rule("below", 0.1, "share"),
        f'{SEARCH}; r.failures()["hub"].mean()',
        on="",
    ),
    Claim(
        f"{GROUP}-last",
        GROUP,
        "",
        "The last layer is the best for ranking",
        "better expected",
        "nDCG@10 of the last layer less that of the best earlier one, which was chosen on other questions",
        Rule("above", 0.0, "difference", ours=False),
        f"{SEARCH}; -r.layers().rival.difference",
        on="",
    ),
    _edit_claim("not", "not", "“not” moves the score of a text more than a filler does"),
    _edit_claim("number", "number", "Another number moves the score of a text more than a filler does"),
    _edit_claim("name", "name", "Another name moves the score of a text more than a filler does"),
)


class SearchNumbers:
    """The numbers of RETRIEVAL, each made when it is asked for."""

    def __init__(self, search: Retrieval, seed: int, progress: bool):
        self._search, self._seed, self._progress = search, seed, progress
        self._probe: EditProbe | None = None

    def measured(self, name: str) -> Measured:
        """Of a claim by its name."""
        measures: dict[str, Callable[[], Measured]] = {
            "bm25": self._beside,
            "first": self._first,
            "hubs": self._hubs,
            "last": self._last,
        }
        kind = name.removeprefix(f"{GROUP}-")
        try:
            return measures[kind]() if kind in measures else self._edit(kind)
        except BertLensError as error:
            return Measured(why=str(error))

    def _beside(self) -> Measured:
        means = self._search.metrics()
        row: Any = means.set_index("measure").loc["nDCG@10"]
        note = f"nDCG@10 is {row['mean']:.3f}, that of BM25 {row['bm25']:.3f}."
        return _of_questions(row["difference"], row["difference_low"], row["difference_high"], int(row["n"]), note)

    def _first(self) -> Measured:
        shares = self._search.by_question["MRR@100"].to_numpy() == 1
        return _share(shares, "questions")

    def _hubs(self) -> Measured:
        failures = self._search.failures()
        if not len(failures):
            return Measured(why="no question fails")
        table = self._search.hubs()
        count = int(table["hub"].sum())
        return _share(failures["hub"].to_numpy(dtype=bool), "failures", f"Hubs among the passages: {count:,}.")

    def _last(self) -> Measured:
        sizes = self._search.layers(seed=self._seed, progress=self._progress)
        rival = sizes.rival
        if rival is None:
            return Measured(why=shortage(len(self._search.by_question), "question"))
        note = f"It gives {rival.whole:.3f}, {rival.name} {rival.mean:.3f}, chosen on {rival.chosen_on} others."
        return _of_questions(-rival.difference, -rival.high, -rival.low, rival.told_on, note)

    def _edit(self, kind: str) -> Measured:
        if self._probe is None:
            self._probe = self._search.probe(seed=self._seed, progress=self._progress)
        row: Any = self._probe.table.set_index("kind").loc[kind]
        if not np.isfinite(row["share"]):
            return Measured(why=f"{shortage(row['n'], 'text')} to edit", n=int(row["n"]))
        note = f"The edit moves it by {row['moved']:.3f}, the filler by {row['filler']:.3f} (medians). {row['rule']}"
        return Measured(
            float(row["share"]), float(row["low"]), float(row["high"]), int(row["n"]), "edits", 0.5, note=note
        )


def _of_questions(value: float, low: float, high: float, n: int, note: str) -> Measured:
    return Measured(float(value), float(low), float(high), n, "questions", note=note)


def _share(holds: np.ndarray, units: str, note: str = "") -> Measured:
    """Of yes or no, each independent."""
    low, high = count_interval(int(holds.sum()), len(holds))
    return Measured(float(holds.mean()), low, high, len(holds), units, note=note)
