"""Exact search over sparse vectors: of each word the passages that have it, so that a question costs what it shares.

Each score is summed by itself in float64, word by word in the order of the vocabulary, whatever other passages there
are: equal passages have equal scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..sentences.encoders import COSINE, DOT, EUCLIDEAN
from .ranked_lists import RankedLists
from .vectors import PassageVectors

LEAST_NORM = 1e-12  # torch's own, below which it does not divide


class Postings:
    """P passages by word: which have it, with which weight."""

    def __init__(self, vectors: PassageVectors):
        from scipy.sparse import csr_matrix

        assert vectors.columns is not None and vectors.offsets is not None
        shape = len(vectors), int(vectors.columns.max(initial=-1)) + 1
        table = csr_matrix((vectors.rows[:, 0], vectors.columns, vectors.offsets), shape=shape).tocsc()
        self.passages, self.weights, self.starts = table.indices, table.data, table.indptr
        self.size = len(vectors)
        self._sums: dict[int, np.ndarray] = {}

    def of(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All (n,): the passages that have one of these words, word by word; which word; float64 the weight there."""
        columns = np.flatnonzero(words < len(self.starts) - 1)
        starts, ends = self.starts[words[columns]], self.starts[words[columns] + 1]
        lengths = ends - starts
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        return self.passages[places], np.repeat(columns, lengths), self.weights[places].astype(np.float64)

    def summed(self, passages: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """(P,) the sum of the terms (n,) of each passage, in their order."""
        return np.bincount(passages, terms, self.size).astype(np.float64, copy=False)  # of nothing it is of int64

    def power_sums(self, power: int) -> np.ndarray:
        """(P,) the sum of each passage's weights to a power."""
        if power not in self._sums:
            self._sums[power] = self.summed(self.passages, self.weights.astype(np.float64) ** power)
        return self._sums[power]

    def scores(self, words: np.ndarray, weights: np.ndarray, function: str) -> np.ndarray:
        """(P,) float64 similarities with a question's words (m,) and their weights (m,) float64."""
        passages, at, shared = self.of(words)
        query_weights = weights[at]
        if function in (DOT, COSINE):
            products = self.summed(passages, query_weights * shared)
            if function == DOT:
                return products
            norms = np.maximum(np.sqrt(self.power_sums(2)), LEAST_NORM)
            return products / (norms * max(float(np.sqrt((weights**2).sum())), LEAST_NORM))
        power = 2 if function == EUCLIDEAN else 1
        # what both have, what the passage alone has, what the question alone has
        distances = self.summed(passages, np.abs(query_weights - shared) ** power)
        distances += np.maximum(0, self.power_sums(power) - self.summed(passages, shared**power))
        total = np.cumsum(weights**power)[-1:].sum()  # in the same order
        distances += np.maximum(0, total - self.summed(passages, query_weights**power))
        return -np.sqrt(distances) if function == EUCLIDEAN else -distances


def sparse_search(
    queries: PassageVectors, vectors: PassageVectors, function: str, order: Any, depth: int
) -> RankedLists:
    """As `exact_search.search`, of sparse vectors. Weights are not negative."""
    assert queries.columns is not None
    postings = Postings(vectors)
    rows = np.empty((len(queries), depth), dtype=np.int64)
    scores = np.empty((len(queries), depth))
    for question in range(len(queries)):
        span = queries.span(question, question + 1)
        all_scores = postings.scores(queries.columns[span], queries.numbers(span)[:, 0], function)
        threshold = np.partition(all_scores, len(all_scores) - depth)[len(all_scores) - depth]
        candidates = np.flatnonzero(all_scores >= threshold)
        best = candidates[np.lexsort((order[candidates], -all_scores[candidates]))[:depth]]
        rows[question], scores[question] = best, all_scores[best]
    return RankedLists(rows, scores)
