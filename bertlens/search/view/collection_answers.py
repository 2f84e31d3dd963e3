"""What a page asks of a whole retrieval: its questions with their ranks, and the tables of how good it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from ...base.dataframes import pd
from ...base.wire import json_safe
from ...errors import InputError
from .. import metrics, paired, slices
from ..bm25 import SAID
from ..exact_search import search
from ..failure_rules import RULES
from ..failures import failure_kinds, failures_said
from ..hubs import RULE, hubs_said
from ..ranked_lists import RankedLists
from ..retrieval_run import Retrieval
from ..vectors import encoded

Row = dict[str, str | float | bool | None]
HUBS = 100  # rows of a table
TEN = 10  # passages that a case may be about
FIRST = 50  # of a question that was typed


class QuestionList(TypedDict):
    """The questions that can be opened, in columns."""

    query: list[str]
    text: list[str]
    rank: list[int | None]  # of the first right document; None: in no list
    gap: list[float | None]  # of failures
    failed: list[bool]
    kinds: list[list[int]]  # places in `rules`
    depth: int  # of the lists


class FailureKinds(TypedDict):
    """What the list of questions has beside it."""

    passages: int
    documents: int
    notes: list[str]
    rules: list[tuple[str, str, str]]  # name, label, rule
    said: str  # failures in a sentence
    kinds: list[Row]  # beside chance


class SheetTable(TypedDict):
    said: str
    about: str
    rows: list[Row]


class SheetTables(TypedDict):
    """None where there is none."""

    quality: SheetTable | None
    before: SheetTable | None
    slices: SheetTable | None
    hubs: SheetTable


class CasePassage(TypedDict):
    passage: str
    rank: int | None
    relevant: bool


class CasePassages(TypedDict):
    """The passages that may be laid beside each other for a question."""

    passages: list[CasePassage]
    wrong: str
    right: str
    judged: bool


def questions(retrieval: Retrieval, failures: pd.DataFrame | None) -> QuestionList:
    """The questions that can be opened: judged ones, the failures with the largest gap first, then by the rank of their
    first right document; without judgements all."""
    collection, lists = retrieval.collection, retrieval.lists
    order = list(collection.judged if failures is not None else range(len(collection.queries)))
    rank = {at: _rank(retrieval, at) for at in order} if failures is not None else {}
    gaps: dict[str, float] = {}
    kinds: dict[str, list[int]] = {}
    if failures is not None:
        gaps = dict(zip(failures["query"], failures["gap"], strict=True))
        flags = failures[[*RULES]].to_numpy()
        kinds = {
            name: [at for at, holds in enumerate(row) if holds]
            for name, row in zip(failures["query"], flags, strict=True)
        }

        def place(at: int) -> tuple[bool, float, float]:
            gap = gaps.get(collection.query_ids[at])
            depth = rank[at] or math.inf
            return (gap is None, depth, 0.0) if gap is None else (False, -math.inf if math.isnan(gap) else -gap, 0.0)

        order.sort(key=place)
    names = [collection.query_ids[at] for at in order]
    return {
        "query": names,
        "text": [collection.queries[at] for at in order],
        "rank": [rank.get(at) for at in order],
        "gap": [None if math.isnan(gaps.get(name, math.nan)) else round(gaps[name], 6) for name in names],
        "failed": [name in gaps for name in names],
        "kinds": [kinds.get(name, []) for name in names],
        "depth": int(lists.rows.shape[1]),
    }


def about(retrieval: Retrieval, failures: pd.DataFrame | None) -> FailureKinds:
    collection = retrieval.collection
    fields: FailureKinds = {
        "passages": len(collection.passages),
        "documents": len({*collection.documents}) if collection.has_documents else 0,
        "notes": list(collection.notes),
        "rules": [(name, name.replace("_", " "), rule) for name, rule in RULES.items()],
        "said": "Nobody has judged: the first passage of a question is laid beside another one.",
        "kinds": [],
    }
    if failures is not None:
        fields["said"], fields["kinds"] = failures_said(failures), _records(failure_kinds(failures))
    return fields


def tables(retrieval: Retrieval, before: Any = None) -> SheetTables:
    """How good the search is, and what it does to its passages."""
    hubs, judged = retrieval.hubs(), bool(retrieval.collection.judged)
    texts = dict(zip(retrieval.collection.passage_ids, retrieval.collection.passages, strict=True))
    rows = [row | {"text": texts[str(row["passage"])]} for row in _records(hubs.head(HUBS))]
    of_hubs: SheetTable = {"said": hubs_said(hubs), "about": RULE, "rows": rows}
    fields: SheetTables = {"quality": None, "before": None, "slices": None, "hubs": of_hubs}
    if judged:
        means, groups = retrieval.metrics(), retrieval.slices()
        rows = [row | {"about": metrics.MEASURES[str(row["measure"])][1]} for row in _records(means)]
        ends = "Intervals: 95 %, over questions drawn as these were; differences are paired by question"
        fields["quality"] = {"said": metrics.sentence(means), "about": f"{ends}. {SAID}.", "rows": rows}
        fields["slices"] = {
            "said": slices.sentence(groups),
            "about": f"{groups.attrs['measure']}; intervals of differences and p by Holm over the slices.",
            "rows": _records(groups),
        }
    if before is not None:
        change = retrieval.against(before)
        about = "Paired by question; interval and p by Holm over the measures."
        fields["before"] = {"said": paired.sentence(change), "about": about, "rows": _records(change)}
    return fields


def passages(retrieval: Retrieval, at: int | None, ranked: Sequence[int], wrong: int, right: int) -> CasePassages:
    """The passages that may be laid beside each other for a question: the TEN first and the two of the case; for one
    that was typed, at None, the FIRST. ranked: the rows of its list."""
    collection = retrieval.collection
    places = {row: place + 1 for place, row in enumerate(ranked)}
    relevant = {} if at is None else collection.relevant(at)
    rows = [*dict.fromkeys([*[*places][: FIRST if at is None else TEN], wrong, right])]
    return {
        "passages": [
            {
                "passage": collection.passage_ids[row],
                "rank": places.get(row),
                "relevant": collection.documents[row] in relevant,
            }
            for row in rows
        ],
        "wrong": collection.passage_ids[wrong],
        "right": collection.passage_ids[right],
        "judged": bool(relevant),
    }


def typed(retrieval: Retrieval, text: str) -> RankedLists:
    """The list of a question that was typed. Raises InputError for a cross-encoder, which ranks no collection."""
    stages, lens = retrieval.stages, retrieval.lens
    if stages.vectors is None:
        raise InputError(
            "a cross-encoder scores what a first stage ranks: bl.retrieval(lens, [question], …, first_stage=…)"
        )
    vectors = encoded(lens, [text], "query", progress=False)
    return search(vectors, stages.vectors, stages.function, retrieval.collection.passage_order)


def pair_of(retrieval: Retrieval, at: int) -> tuple[int, int] | None:
    """The best passage of a question that is not relevant and the best that is, by their places in the collection;
    of one that nobody has judged the two first. None where a list has no two such."""
    collection = retrieval.collection
    rows, relevant = retrieval.lists.passages(at).tolist(), collection.relevant(at)
    if not relevant:
        return (rows[0], rows[1]) if len(rows) > 1 else None
    wrong = next((row for row in rows if collection.documents[row] not in relevant), None)
    places = [*rows, *range(len(collection.passages))]
    right = next((row for row in places if collection.documents[row] in relevant), None)
    return None if wrong is None or right is None else (wrong, right)


def _rank(retrieval: Retrieval, at: int) -> int | None:
    """The rank of the first relevant document; None where the list has none."""
    relevant = retrieval.collection.relevant(at)
    documents = retrieval.lists.documents(at, retrieval.collection)
    return next((place for place, name in enumerate(documents, 1) if name in relevant), None)


def _records(table: pd.DataFrame) -> list[Row]:
    return json_safe(table.to_dict("records"))
