"""Rankings against a loop over all pairs in exact sums; blocks, threads, equal vectors, int8; what is refused."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bertlens.errors import InputError
from bertlens.search import exact_search
from bertlens.search.exact_search import FUNCTIONS, MAXSIM, MEAN_MAXSIM, search
from bertlens.search.vectors import PassageVectors, offsets_of

LATE = (MAXSIM, MEAN_MAXSIM)
WIDTH, PASSAGES, DEPTH = 24, 90, 20


def drawn(lengths: list[int], int8: bool, seed: int) -> PassageVectors:
    """Vectors of one size for each text, of lengths other than 1 a matrix each; int8 with scales that differ."""
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((sum(lengths), WIDTH)).astype(np.float32)
    rows *= draw.uniform(0.2, 3, (len(rows), 1)).astype(np.float32)
    scales = None
    if int8:
        scales = (np.abs(rows).max(1) / 127).astype(np.float32)
        rows = np.rint(rows / scales[:, None]).astype(np.int8)
    return PassageVectors(rows, scales, None if set(lengths) == {1} else offsets_of(lengths))


def with_equal_ones(vectors: PassageVectors, seed: int) -> PassageVectors:
    """A third of the texts stand three times, at drawn places."""
    draw = np.random.default_rng(seed)
    texts = np.concatenate([np.arange(len(vectors)), np.repeat(np.arange(0, len(vectors), 3), 2)])
    return vectors.take(draw.permutation(texts))


def matrices(vectors: PassageVectors) -> list[list[list[float]]]:
    """Of each text its rows as numbers, without a method of the class."""
    offsets = range(len(vectors.rows) + 1) if vectors.offsets is None else vectors.offsets.tolist()
    scales = np.ones(len(vectors.rows)) if vectors.scales is None else vectors.scales
    rows = [[float(x) * float(scale) for x in row] for row, scale in zip(vectors.rows, scales, strict=True)]
    return [rows[start:end] for start, end in pairwise(offsets)]


def score(query: Any, passage: Any, function: str) -> float:
    """By its definition; sums are rounded once."""
    if function in LATE:
        if not passage:
            return -1e9 / (len(query) if function == MEAN_MAXSIM else 1)
        total = math.fsum(max(math.fsum(map(float.__mul__, q, p)) for p in passage) for q in query)
        return total / len(query) if function == MEAN_MAXSIM else total
    [q], [p] = query, passage
    if function in ("euclidean", "manhattan"):
        steps = [abs(a - b) for a, b in zip(q, p, strict=True)]
        return -math.fsum(steps) if function == "manhattan" else -math.sqrt(math.fsum(x * x for x in steps))
    product = math.fsum(map(float.__mul__, q, p))
    return product / (math.hypot(*q) * math.hypot(*p)) if function == "cosine" else product


def loop(queries: PassageVectors, vectors: PassageVectors, function: str, order: Any, depth: int) -> Any:
    """Places and scores, sorted by score and then by order."""
    passages = matrices(vectors)
    rows, scores = [], []
    for query in matrices(queries):
        row = [score(query, passage, function) for passage in passages]
        best = sorted(range(len(row)), key=lambda place: (-row[place], order[place]))[:depth]
        rows.append(best)
        scores.append([row[place] for place in best])
    return np.array(rows), np.array(scores)


def vectors_for(function: str, int8: bool) -> tuple[PassageVectors, PassageVectors, np.ndarray]:
    draw = np.random.default_rng(5)
    lengths = draw.integers(1, 6, PASSAGES // 2).tolist() if function in LATE else [1] * (PASSAGES // 2)
    passages = with_equal_ones(drawn(lengths, int8, 1), 2)
    queries = drawn([3, 1, 4, 2, 2] if function in LATE else [1] * 5, int8, 3)
    return queries, passages, draw.permutation(len(passages))


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_rankings_are_those_of_a_loop_whatever_blocks_and_threads_there_are(function: str, int8: bool) -> None:
    threads = pytest.importorskip("threadpoolctl")
    queries, passages, order = vectors_for(function, int8)
    rows, scores = loop(queries, passages, function, order, DEPTH)
    assert any(a == b for row in scores.tolist() for a, b in pairwise(row))  # equal ones are among the best
    first = None
    for block in (1, 7, 1000, None):
        for count in (1, 2, 4):
            with threads.threadpool_limits(count):
                lists = search(queries, passages, function, order, DEPTH, block)
            np.testing.assert_array_equal(lists.rows, rows)
            np.testing.assert_allclose(lists.scores, scores, rtol=1e-13)
            first = lists if first is None else first
            np.testing.assert_array_equal(lists.scores, first.scores)  # to the bit


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_float32_cannot_tell_apart_is_ranked_by_float64(function: str) -> None:
    """The same numbers in other orders, one of them some steps of float32 larger: float32 sums are wrong by more."""
    draw = np.random.default_rng(0)
    length, count = 3 if function in LATE else 1, 60
    numbers = draw.standard_normal(300).astype(np.float32)
    rows = np.array([draw.permutation(numbers) for _ in range(count * length)])
    near = np.abs(rows - 0.3).argmin(1)  # a number whose steps are 2^-25
    rows[np.arange(len(rows)), near] += draw.permutation(len(rows)) * np.float32(2**-25)
    offsets = offsets_of([length] * count) if function in LATE else None
    passages = PassageVectors(rows, None, offsets)
    query = PassageVectors(np.full((length, 300), 0.37, np.float32), None, None if offsets is None else offsets[:2])
    expected, scores = loop(query, passages, function, np.arange(count), 5)
    for block in (16, 60):
        lists = search(query, passages, function, np.arange(count), 5, block)
        np.testing.assert_array_equal(lists.rows, expected)
        np.testing.assert_allclose(lists.scores, scores, rtol=1e-13)


def test_a_passage_without_scored_tokens_is_last() -> None:
    passages = drawn([2, 0, 3, 0], False, 0)
    queries = drawn([2, 3], False, 1)
    for function in LATE:
        rows, scores = loop(queries, passages, function, np.arange(4), 4)
        for block in (1, 2, None):
            lists = search(queries, passages, function, np.arange(4), block=block)
            np.testing.assert_array_equal(lists.rows, rows)
            np.testing.assert_allclose(lists.scores, scores, rtol=1e-13)
        assert rows[:, 2:].tolist() == [[1, 3], [1, 3]]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_equal_passages_have_one_score_and_the_order_of_their_ids(function: str) -> None:
    """As many as a product of matrices would give several scores to."""
    for count in (7, 203, 211):
        one = drawn([2] if function in LATE else [1], False, 4)
        queries = drawn([2] if function in LATE else [1], False, count)
        order = np.random.default_rng(1).permutation(count)
        lists = search(queries, one.take(np.zeros(count, dtype=np.int64)), function, order, count)
        np.testing.assert_array_equal(order[lists.rows[0]], np.arange(count))
        assert len(set(lists.scores[0])) == 1


def test_zeros_many_questions_and_few_passages() -> None:
    passages = PassageVectors(np.zeros((3, WIDTH), np.float32))
    queries = drawn([1] * 600, False, 0)
    lists = search(queries, passages, "cosine", np.array([2, 0, 1]))
    assert lists.rows.shape == (600, 3) and (lists.rows == [1, 2, 0]).all() and (lists.scores == 0).all()
    passages = drawn([1] * 50, False, 1)
    rows, _ = loop(queries, passages, "dot", np.arange(50), 7)
    np.testing.assert_array_equal(search(queries, passages, "dot", np.arange(50), 7, 8).rows, rows)


def test_candidates_are_sorted_out_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_search, "PAIRS", 30)
    queries, passages, order = vectors_for("dot", False)
    rows, _ = loop(queries, passages, "dot", order, 3)
    for block in (1, 2, 11):
        np.testing.assert_array_equal(search(queries, passages, "dot", order, 3, block).rows, rows)


def test_what_cannot_be_searched_is_refused_in_a_sentence() -> None:
    one, tokens, order = drawn([1] * 4, False, 0), drawn([2, 3, 1, 1], False, 0), np.arange(4)
    narrow = PassageVectors(one.rows[:, :5])
    for queries, passages, function, words in (
        (one, one, "jaccard", "no similarity function 'jaccard' is searched by: there are cosine, dot"),
        (one, one, "maxsim", "maxsim is of a vector for each token"),
        (tokens, one, "cosine", "cosine is of one vector for each text"),
        (narrow, one, "dot", "vectors of questions have 5 numbers and those of passages 24: they are of two models"),
    ):
        with pytest.raises(InputError, match=words):
            search(queries, passages, function, order)
    for settings, words in (({"depth": 0}, "depth is how many"), ({"block": 0}, "block is how many")):
        with pytest.raises(InputError, match=words):
            search(one, one, "dot", order, **settings)


def test_what_is_no_number_is_refused_before_it_is_ranked() -> None:
    rows = np.ones((5, 3), dtype=np.float32)
    for fault in (np.nan, np.inf):
        damaged = rows.copy()
        damaged[3, 1] = fault
        for function in FUNCTIONS[:4]:
            with pytest.raises(InputError, match=r"vectors hold what is no number \(NaN or infinite\): delete"):
                search(PassageVectors(rows[:2]), PassageVectors(damaged), function, np.arange(5), 2)
