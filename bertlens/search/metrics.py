"""How good a ranking is: of each question where its relevant documents stand, and the means over questions.

A relevant document has a grade above 0. Those that a list does not hold count as missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..base.amounts import amount
from ..base.dataframes import pd
from ..errors import InputError
from ..measures.significance import difference_interval, share_interval
from .collection import Collection
from .ranked_lists import RankedLists

DEPTH = 100  # documents: further down nothing counts, so lists of other lengths compare
GRADED = "graded nDCG@10"


def dcg(gains: np.ndarray, depth: int) -> float:
    """Discounted cumulative gain: Σ gain / log2(rank + 1), ranks from 1. Järvelin and Kekäläinen 2002."""
    top = gains[:depth]
    return float((top / np.log2(np.arange(2, len(top) + 2))).sum())


def ndcg(gains: np.ndarray, grades: np.ndarray, depth: int = 10) -> float:
    """The `dcg` of gains (n,) in the order of a list by that of the best order of all grades (R,), in [0, 1].

    grades: those above 0, one or more. Järvelin and Kekäläinen 2002, gain = grade.
    """
    return dcg(gains, depth) / dcg(-np.sort(-grades), depth)


def reciprocal_rank(gains: np.ndarray, depth: int = DEPTH) -> float:
    """1 / rank of the first relevant document, 0 where there is none; gains (n,) in the order of the list. Its mean is
    MRR, Voorhees 1999."""
    hits = np.flatnonzero(gains[:depth] > 0)
    return 1 / (1 + float(hits[0])) if len(hits) else 0.0


def average_precision(gains: np.ndarray, relevant: int, depth: int = DEPTH) -> float:
    """The precision at the rank of each of the `relevant` documents, 0 where the list has it not; their mean,
    in [0, 1]. Buckley and Voorhees 2000."""
    ranks = 1 + np.flatnonzero(gains[:depth] > 0)
    return float((np.arange(1, len(ranks) + 1) / ranks).sum()) / relevant


def recall(gains: np.ndarray, relevant: int, depth: int) -> float:
    """The share of the `relevant` documents, one or more, that stand among the first `depth`, in [0, 1]."""
    return float((gains[:depth] > 0).sum()) / relevant


# name -> its value for gains (n,) in the order of a list and the grades (R,) of all relevant documents, and what it is
MEASURES: dict[str, tuple[Callable[[np.ndarray, np.ndarray], float], str]] = {
    "nDCG@10": (
        lambda gains, grades: ndcg((gains > 0).astype(float), np.ones(len(grades))),
        "binary gains: each relevant document counts 1, less the further down it stands",
    ),
    GRADED: (ndcg, "a relevant document counts as much as its grade"),
    f"MRR@{DEPTH}": (
        lambda gains, grades: reciprocal_rank(gains),
        "1 by the rank of the first relevant document",
    ),
    f"MAP@{DEPTH}": (
        lambda gains, grades: average_precision(gains, len(grades)),
        "the precision at the rank of each relevant document, its mean",
    ),
    "recall@10": (
        lambda gains, grades: recall(gains, len(grades), 10),
        "the share of the relevant documents that stand among the first ten",
    ),
    f"recall@{DEPTH}": (
        lambda gains, grades: recall(gains, len(grades), DEPTH),
        f"the share of the relevant documents that stand among the first {DEPTH}",
    ),
}


def by_question(lists: RankedLists, collection: Collection) -> pd.DataFrame:
    """A row a judged question (index: its id), a column a measure, in [0, 1]; see MEASURES.

    A document stands where its best passage does. nDCG with graded gains is there where a grade is above 1. Raises
    InputError where no question has a relevant document.
    """
    if not collection.judged:
        raise InputError("no question has a relevant document, so there is no metric: give relevance")
    judged = {query: collection.relevant(query) for query in collection.judged}
    is_graded = any(grade > 1 for grades in judged.values() for grade in grades.values())
    measures = {name: measure for name, (measure, _) in MEASURES.items() if is_graded or name != GRADED}
    rows = []
    for query, grades in judged.items():
        order = lists.documents(query, collection)[:DEPTH]
        gains = np.array([grades.get(name, 0) for name in order], dtype=float)
        ideal = np.array([*grades.values()], dtype=float)
        rows.append([measure(gains, ideal) for measure in measures.values()])
    ids = pd.Index([collection.query_ids[query] for query in judged], name="query")
    return pd.DataFrame(rows, columns=[*measures], index=ids)


def table(questions: pd.DataFrame, bm25: pd.DataFrame | None = None) -> pd.DataFrame:
    """DataFrame(measure, mean, low, high, n), a row a measure of `by_question`; low, high: the 95 % interval of the
    mean over questions that are drawn as these were, in [0, 1], NaN for one question.

    bm25: the same of another list; then also its mean (bm25), the mean difference to it, paired by question
    (difference), and the 95 % interval of that (difference_low, difference_high), NaN for one question. attrs: for how
    many questions a relevant document is first ("first") and among the first ten ("ten").
    """
    n = len(questions)
    rows = []
    for measure in questions.columns:
        shares = questions[measure].to_numpy()
        row = {"measure": measure, "mean": shares.mean()}
        row["low"], row["high"] = share_interval(shares, np.ones(n))
        if bm25 is not None:
            differences = shares - bm25[measure].to_numpy()
            row |= {"bm25": bm25[measure].mean(), "difference": differences.mean()}
            row["difference_low"], row["difference_high"] = difference_interval(differences)
        rows.append(row | {"n": n})
    means = pd.DataFrame(rows)
    ranks = questions[f"MRR@{DEPTH}"]
    means.attrs = {"first": int((ranks == 1).sum()), "ten": int((ranks >= 0.1).sum())}
    return means


def sentence(means: pd.DataFrame) -> str:
    """What a `table` says: for how many questions a relevant document is first, and nDCG@10 beside that of BM25."""
    row, counts = means.set_index("measure").loc["nDCG@10"], means.attrs
    n = int(row["n"])
    clause = (
        f"For {counts['first']:,} of {amount(n, 'question')} a relevant document is first, for {n - counts['ten']:,} "
        f"none is among the first ten; nDCG@10 is {row['mean']:.3f}{_ends(row['low'], row['high'])}"
    )
    if "bm25" not in row:
        return f"{clause}."
    word, low, high = "more", row["difference_low"], row["difference_high"]
    if row["difference"] < 0:
        word, low, high = "less", -high, -low
    if not (low > 0):
        return f"{clause}, which cannot be told from the {row['bm25']:.3f} of BM25."
    return f"{clause}, {abs(row['difference']):.3f}{_ends(low, high)} {word} than the {row['bm25']:.3f} of BM25."


def _ends(low: float, high: float) -> str:
    return "" if math.isnan(low) else f" ({low:.3f} to {high:.3f})"
