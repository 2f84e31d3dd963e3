"""Exact search: the best passages of each question, by the model's own function, whatever blocks or threads there are.

Blocks of passages are scored in float32, with a bound on what rounding can do. Whatever may be among the best within it
is scored again in float64, each pair by itself in one order of adding, and sorted by that score, then by id.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, check_number
from ..sentences.encoders import COSINE, DOT, EUCLIDEAN, MANHATTAN
from .ranked_lists import RankedLists
from .sparse_search import LEAST_NORM, sparse_search
from .vectors import PassageVectors

DEPTH = 200
MAXSIM, MEAN_MAXSIM = "maxsim", "meanmaxsim"
POOLED = (COSINE, DOT, EUCLIDEAN, MANHATTAN)
FUNCTIONS = (*POOLED, MAXSIM, MEAN_MAXSIM)
NO_NUMBER = "vectors hold what is no number (NaN or infinite): delete the file they were read from"
UNSCORED = -1e9  # what sentence-transformers gives a passage of whose tokens none is scored
BLOCK, LATE_BLOCK = 1024, 64  # passages: what stays near the processor
QUESTION_ROWS = 256
PAIRS = 1 << 16  # candidates of all questions that are sorted out at once, at least
UNIT = 2.0**-24  # what one step of float32 rounds by, at most, as a share


class Bounded(NamedTuple):
    """(n, b) float32 scores of n questions and b passages, and what they may be wrong by, (n, b) or (n, 1)."""

    scores: np.ndarray
    errors: np.ndarray


class Candidates(NamedTuple):
    """Pairs of a question and a passage, all (n,): by place, and between what the score is."""

    questions: np.ndarray
    passages: np.ndarray
    low: np.ndarray
    high: np.ndarray


def search(
    queries: PassageVectors,
    vectors: PassageVectors,
    function: str,
    order: np.ndarray,
    depth: int = DEPTH,
    block: int | None = None,
) -> RankedLists:
    """The `depth` best of P passages for each of Q questions: the highest score first, of one score by `order`.

    function: of FUNCTIONS; distances are less than 0, maxsim is of Khattab and Zaharia 2020. order: (P,) see
    `Collection.passage_order`. Scores are float64 of the vectors as they are, of int8 rows of what these stand for.
    block: how many passages are scored at once; it changes no rank. Raises InputError for an unknown function, vectors
    of two sizes or kinds or with what is no number, and a depth or block below 1.
    """
    _check(queries, vectors, function)
    depth = min(check_number(depth, "depth is how many passages to rank,", 1), len(vectors))
    if vectors.columns is not None:
        if not np.isfinite(vectors.rows).all():
            raise InputError(NO_NUMBER)
        return sparse_search(queries, vectors, function, order, depth)
    is_late = vectors.offsets is not None
    block = (LATE_BLOCK if is_late else BLOCK) if block is None else block
    block = check_number(block, "block is how many passages to score at once,", 1)
    rows = np.full((len(queries), depth), -1, dtype=np.int64)
    scores = np.full((len(queries), depth), np.nan)
    longest = 1 if queries.offsets is None else max(1, int(np.diff(queries.offsets).max(initial=0)))
    step = max(1, QUESTION_ROWS // longest)
    for start in range(0, len(queries), step):
        batch = queries.take(np.arange(start, min(start + step, len(queries))))
        pairs = _candidates(batch, vectors, function, depth, block)
        for question in range(len(batch)):
            passages = pairs.passages[pairs.questions == question]
            exact = _exact(batch.matrix(question), vectors, passages, function)
            best = np.lexsort((order[passages], -exact))[:depth]
            rows[start + question], scores[start + question] = passages[best], exact[best]
    return RankedLists(rows, scores)


def _check(queries: PassageVectors, vectors: PassageVectors, function: str) -> None:
    if function not in FUNCTIONS:
        raise InputError(f"no similarity function {function!r} is searched by: there are {', '.join(FUNCTIONS)}")
    if vectors.columns is not None and queries.columns is not None and function in POOLED:
        return
    is_late = function in (MAXSIM, MEAN_MAXSIM)
    if is_late != (vectors.offsets is not None) or is_late != (queries.offsets is not None):
        raise InputError(f"{function} is of {'a vector for each token' if is_late else 'one vector for each text'}")
    if queries.rows.shape[1] != vectors.rows.shape[1]:
        sizes = f"{queries.rows.shape[1]:,} numbers and those of passages {vectors.rows.shape[1]:,}"
        raise InputError(f"vectors of questions have {sizes}: they are of two models")


def _candidates(queries: PassageVectors, vectors: PassageVectors, function: str, depth: int, block: int) -> Candidates:
    """Pairs among which are the best `depth` of each question, and all of the last one's score."""
    rows = queries.numbers(slice(None))
    n = len(queries)
    least = np.full(n, -np.inf)  # `depth` passages of the question have this score for sure
    pairs: list[Candidates] = []
    count, limit = 0, PAIRS
    for start in range(0, len(vectors), block):
        end = min(start + block, len(vectors))
        passages = vectors.numbers(vectors.span(start, end), np.float32)
        if function in (MAXSIM, MEAN_MAXSIM):
            scores, errors = _maxsims(rows, passages, queries.offsets, vectors.offsets, start, end, function)
        else:
            scores, errors = _similarities(rows, passages, function)
        if not np.isfinite(scores).all():
            raise InputError(NO_NUMBER)
        if end - start >= depth and np.isinf(least).any():
            low = scores - errors
            least = np.maximum(least, np.partition(low, end - start - depth, axis=1)[:, end - start - depth])
        places = np.flatnonzero(scores >= least[:, None] - errors)
        questions, columns = np.divmod(places, end - start)
        margins = np.broadcast_to(errors, scores.shape)[questions, columns]
        middle = scores[questions, columns].astype(np.float64)
        pairs.append(Candidates(questions, columns + start, middle - margins, middle + margins))
        count += len(places)
        if count > limit or end == len(vectors):
            pairs = [_possible(Candidates(*map(np.concatenate, zip(*pairs, strict=True))), least, depth)]
            count = len(pairs[0].questions)
            limit = max(PAIRS, 2 * count)
    return pairs[0]


def _possible(pairs: Candidates, least: np.ndarray, depth: int) -> Candidates:
    """Those that may still be among the best; `least` rises to what is known now."""
    order = np.lexsort((-pairs.low, pairs.questions))
    starts = np.searchsorted(pairs.questions[order], np.arange(len(least) + 1))
    full = np.flatnonzero(np.diff(starts) >= depth)
    least[full] = np.maximum(least[full], pairs.low[order[starts[full] + depth - 1]])
    keep = pairs.high >= least[pairs.questions]
    return Candidates(*(array[keep] for array in pairs))


def _share(width: int) -> float:
    """What a float32 sum of so many products may be wrong by, as a share of the two norms: Higham 2002, section 3.1.

    Twice that, for the steps before and behind it: a vector or a norm that is rounded, a division, a last sum.
    """
    return (2 * width + 16) * UNIT


@np.errstate(invalid="ignore")  # of what is no number, which `_candidates` refuses
def _similarities(queries: np.ndarray, passages: np.ndarray, function: str) -> Bounded:
    """Of (n, E) float64 and (b, E) float32 vectors. The Euclidean distance as 2q·p − ‖p‖², which orders alike."""
    share = _share(passages.shape[1])
    if function == MANHATTAN:
        from scipy.spatial.distance import cdist

        distances = cdist(queries, passages, "cityblock")
        return Bounded(-distances, share * distances)
    norms = np.sqrt(np.einsum("ij,ij->i", passages, passages))
    lengths = np.sqrt((queries**2).sum(1))[:, None]
    if function == COSINE:
        unit = (queries / np.maximum(lengths, LEAST_NORM)).astype(np.float32)
        return Bounded(_product(unit, passages) / np.maximum(norms, LEAST_NORM), np.full_like(lengths, share))
    products = _product(queries.astype(np.float32), passages)
    if function == DOT:
        return Bounded(products, share * lengths * norms.max(initial=0))
    return Bounded(2 * products - norms**2, share * (lengths + norms.max(initial=0)) ** 2)


def _product(queries: np.ndarray, passages: np.ndarray) -> np.ndarray:
    """(n, b). Of few questions the other way round, which is twice as quick."""
    return queries @ passages.T if len(queries) > 32 else (passages @ queries.T).T


def _maxsims(
    queries: np.ndarray, passages: np.ndarray, of_queries: Any, of_passages: Any, start: int, end: int, function: str
) -> Bounded:
    """Σᵢ maxⱼ qᵢ·pⱼ of the rows of n questions and of passages from `start` to before `end`, by their offsets."""
    sims = _product(queries.astype(np.float32), passages)
    tops = _segments(np.maximum, sims, of_passages[start : end + 1] - of_passages[start], axis=1)
    scores = _segments(np.add, tops, of_queries, axis=0).astype(np.float64)
    counts = np.diff(of_queries)[:, None]
    lengths = np.sqrt((queries**2).sum(1))[:, None]
    longest = np.sqrt(np.einsum("ij,ij->i", passages, passages).max(initial=0))
    errors = _share(passages.shape[1] + int(counts.max())) * _segments(np.add, lengths, of_queries, axis=0) * longest
    if function == MEAN_MAXSIM:
        scores, errors = scores / np.maximum(counts, 1), errors / np.maximum(counts, 1)
    scores[:, np.diff(of_passages[start : end + 1]) == 0] = _unscored(counts, function)
    return Bounded(scores, errors)


def _unscored(counts: Any, function: str) -> Any:
    return UNSCORED / np.maximum(counts, 1) if function == MEAN_MAXSIM else UNSCORED


def _segments(reduction: np.ufunc, array: np.ndarray, offsets: np.ndarray, axis: int) -> np.ndarray:
    """Sums or maxima over each segment of an axis; 0 of an empty one."""
    filled = np.flatnonzero(np.diff(offsets))
    shape = list(array.shape)
    shape[axis] = len(offsets) - 1
    reduced = np.zeros(shape, dtype=array.dtype)
    if len(filled):
        at = (slice(None),) * axis + (filled,)
        reduced[at] = reduction.reduceat(array, offsets[filled], axis=axis)
    return reduced


def _exact(query: np.ndarray, vectors: PassageVectors, passages: np.ndarray, function: str) -> np.ndarray:
    """(n,) float64 scores of a question's rows (m, E) and these passages.

    Each is summed by itself, by numpy's pairwise sum of contiguous numbers: a product of matrices would add in an order
    that depends on what else is in them, and equal passages would differ.
    """
    if function in (MAXSIM, MEAN_MAXSIM):
        return _exact_maxsim(query, vectors, passages, function)
    rows = vectors.numbers(passages)
    if function == MANHATTAN:
        return -np.abs(rows - query).sum(1)
    if function == EUCLIDEAN:
        return -np.sqrt(((rows - query) ** 2).sum(1))
    products = (rows * query).sum(1)
    if function == DOT:
        return products
    norm, norms = np.sqrt((query**2).sum()), np.sqrt((rows**2).sum(1))
    return products / (max(norm, LEAST_NORM) * np.maximum(norms, LEAST_NORM))


def _exact_maxsim(query: np.ndarray, vectors: PassageVectors, passages: np.ndarray, function: str) -> np.ndarray:
    """As `_exact`: of each token of the question those that may be its best one are multiplied again."""
    places = vectors.places(passages)
    assert vectors.offsets is not None
    lengths = np.diff(vectors.offsets)[passages]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    owner = np.repeat(np.arange(len(passages)), lengths)
    rows = vectors.numbers(places, np.float32)
    sims = query.astype(np.float32) @ rows.T
    longest = np.sqrt(np.einsum("ij,ij->i", rows, rows).max(initial=0))
    margins = 2 * _share(rows.shape[1]) * np.sqrt((query**2).sum(1))[:, None] * longest
    tops = _segments(np.maximum, sims, offsets, axis=1)
    tokens, columns = np.nonzero(sims >= tops[:, owner] - margins)
    products = (query[tokens] * vectors.numbers(places[columns])).sum(1)
    best = np.full((len(passages), len(query)), -np.inf)
    np.maximum.at(best, (owner[columns], tokens), products)
    best[lengths == 0] = 0
    scores: np.ndarray = best.sum(1)
    if function == MEAN_MAXSIM:
        scores = scores / max(len(query), 1)
    scores[lengths == 0] = _unscored(len(query), function)
    return scores
