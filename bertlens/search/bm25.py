"""BM25: passages ranked by the words that they share with a question. What an encoder has to be better than."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..text.plain_words import PAIRS, words_of
from .collection import Collection
from .metrics import DEPTH
from .ranked_lists import RankedLists

K1, B = 1.2, 0.75
SAID = (
    f"BM25 with k1 {K1:g}, b {B:g} and Lucene’s idf, over lower-cased words ({PAIRS}): no stemming, no list of stop "
    "words"
)
CELLS = 4_000_000  # scores at a time


def word_counts(texts: Sequence[str], places: dict[str, int], grows: bool) -> Any:
    """(n, V) float64, sparse by rows: how often each word stands in each text.

    places: word -> column; where it grows, words that it lacks are added to it, else they are left out.
    """
    from scipy.sparse import csr_matrix

    columns, ends = array("q"), array("q", [0])
    for text in texts:
        for word in words_of(text):
            place = places.setdefault(word, len(places)) if grows else places.get(word, -1)
            if place >= 0:
                columns.append(place)
        ends.append(len(columns))
    counts = csr_matrix(
        (np.ones(len(columns)), np.array(columns, dtype=np.int64), np.array(ends)), shape=(len(texts), len(places))
    )
    counts.sum_duplicates()
    return counts


def passage_frequencies(counts: Any) -> np.ndarray:
    """(V,) int64 in how many texts each word stands. counts: `word_counts`."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def bm25(collection: Collection, depth: int = 200) -> RankedLists:
    """The `depth` best passages of each question; where they are of fewer than 100 documents, behind them the best
    passages of further ones.

    The score is Σ over the words of the question, each as often as it stands there, of idf · tf / (tf + k1 (1 − b + b ·
    length / mean length)), with idf = ln(1 + (N − n + .5) / (n + .5)) where n of N passages have the word. Robertson
    and Zaragoza 2009, with Lucene's idf; words as of `words_of`. A passage without a word of the question is in no
    list.
    """
    places: dict[str, int] = {}
    counts = word_counts(collection.passages, places, grows=True)
    queries = word_counts(collection.queries, places, grows=False)
    n = passage_frequencies(counts)
    idf = np.log1p((len(collection.passages) - n + 0.5) / (n + 0.5))
    lengths = np.asarray(counts.sum(1)).ravel()
    damping = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
    counts.data = idf[counts.indices] * counts.data / (counts.data + np.repeat(damping, np.diff(counts.indptr)))
    weights = counts.T.tocsr()
    block = max(1, CELLS // len(lengths))
    lists = []
    for start in range(0, len(collection.queries), block):
        scores = (queries[start : start + block] @ weights).toarray()
        for at in range(len(scores)):
            scores[at, [*collection.namesakes.get(start + at, ())]] = 0  # the question itself
        lists += [(rows, row[rows]) for row in scores for rows in [_best(row, collection, depth)]]
    longest = max((len(rows) for rows, _ in lists), default=0)
    ranked = RankedLists(np.full((len(lists), longest), -1), np.full((len(lists), longest), np.nan))
    for query, (rows, row_scores) in enumerate(lists):
        ranked.rows[query, : len(rows)], ranked.scores[query, : len(rows)] = rows, row_scores
    return ranked


def _best(scores: np.ndarray, collection: Collection, depth: int) -> np.ndarray:
    """The places of the passages of one list, see `bm25`; scores: (P,) of one question."""
    rows = np.flatnonzero(scores)
    if len(rows) > depth and not collection.has_documents:  # all that may be among them, ties too
        rows = rows[scores[rows] >= -np.partition(-scores[rows], depth - 1)[depth - 1]]
    rows = rows[np.lexsort((collection.passage_order[rows], -scores[rows]))]
    documents = {collection.documents[row] for row in rows[:depth]}
    further: list[int] = []
    for row in rows[depth:]:
        if len(documents) >= DEPTH:
            break
        if collection.documents[row] not in documents:
            documents.add(collection.documents[row])
            further.append(row)
    return np.concatenate([rows[:depth], np.array(further, dtype=rows.dtype)])
