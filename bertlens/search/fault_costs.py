"""What a fault of the vectors costs a search: the same collection ranked by the vectors that the fault makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..base.amounts import amount, verb
from ..base.dataframes import pd
from ..errors import InputError
from . import metrics, paired
from .retrieval_run import Retrieval
from .sizes.shares import MEASURE, ranked_by, single_vectors

COLUMNS = ["query", "question", "first_before", "first", "before", "now"]


@dataclass(frozen=True, eq=False, repr=False)
class Costs:
    """See `Parity.costs`. fault: its name. Prints as its sentence."""

    fault: str
    table: pd.DataFrame | None  # see `paired.against`; None without judgements
    questions: pd.DataFrame  # a row a question with another first passage; before, now: its nDCG@10, NaN if not judged
    total: int  # questions

    @property
    def said(self) -> str:
        """How many questions have another first passage, and which measures moved."""
        n, total = len(self.questions), amount(self.total, "question")
        sentence = f"With {self.fault}, {n:,} of {total} {verb(n, 'has', 'have')} another first passage."
        return sentence if self.table is None else f"{sentence} {paired.sentence(self.table)}"

    def __repr__(self) -> str:
        return self.said


def costs(retrieval: Retrieval, fault: str, encode: Callable[[list[str], str], np.ndarray]) -> Costs:
    """encode: of texts and a task, "query" or "document", their vectors (N, E) under the fault.

    Raises InputError for what is no Retrieval, ModelError for a model that makes no single vectors, and where it has
    changed since it ranked.
    """
    if not isinstance(retrieval, Retrieval):
        raise InputError(f"costs are told of what bl.retrieval gives, not {type(retrieval).__name__}")
    collection = retrieval.collection
    retrieval.check_model()
    single_vectors(retrieval.stages, "costs")
    queries, passages = encode(list(collection.queries), "query"), encode(list(collection.passages), "document")
    lists_without = retrieval.lists
    lists = ranked_by(queries, passages, retrieval.stages.function, collection, lists_without.rows.shape[1])
    table, shares = None, [pd.Series(dtype=float)] * 2
    if collection.judged:
        measures = [retrieval.by_question, metrics.by_question(lists, collection)]
        table, shares = paired.against(*measures), [of[MEASURE] for of in measures]
    firsts = [of.rows[:, 0] for of in (lists_without, lists)]
    rows = []
    for at in np.flatnonzero(firsts[0] != firsts[1]):
        name = collection.query_ids[at]
        ids = [collection.passage_ids[of[at]] if of[at] >= 0 else "" for of in firsts]
        rows.append((name, collection.queries[at], *ids, *(of.get(name, np.nan) for of in shares)))
    questions = pd.DataFrame(rows, columns=COLUMNS)
    order = (questions["now"] - questions["before"]).sort_values(kind="stable").index
    return Costs(fault, table, questions.loc[order].reset_index(drop=True), len(collection.queries))
