"""Hubs beside naive loops, planted ones, and how often one is seen where there is none."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bertlens.errors import InputError
from bertlens.search.collection import Collection
from bertlens.search.hubs import NEAREST, RULE, TEN, at_least, hubs, hubs_said
from bertlens.search.ranked_lists import RankedLists


def names(prefix: str, n: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(n))


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def ranked(questions: np.ndarray, passages: np.ndarray, depth: int = 200) -> RankedLists:
    """By the cosine: of dot products the longer passages would be hubs."""
    scores = unit(questions) @ unit(passages).T
    rows = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    return RankedLists(rows, np.take_along_axis(scores, rows, axis=1))


def collection(n: int, size: int, grades: dict[str, dict[str, int]] | None = None) -> Collection:
    passages = names("p", size)
    return Collection(names("q", n), names("question ", n), passages, names("text ", size), passages, grades or {})


def world(seed: int, n: int = 60, size: int = 300, width: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Vectors without a direction in common."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, width)), generator.normal(size=(size, width))


def judged(seed: int, n: int, size: int) -> dict[str, dict[str, int]]:
    generator = np.random.default_rng(seed)
    return {f"q{query}": {f"p{row}": 1 for row in generator.choice(size, 5, replace=False)} for query in range(n)}


@pytest.mark.parametrize("chances", [[0.1] * 9, [0.1, 0.5, 0.9, 0.3, 1.0, 0.0, 0.5], []])
def test_the_tail_is_that_of_all_outcomes(chances: list[float]) -> None:
    for count in range(len(chances) + 2):
        total = sum(
            math.prod(chance if happens else 1 - chance for chance, happens in zip(chances, outcome, strict=True))
            for outcome in itertools.product([True, False], repeat=len(chances))
            if sum(outcome) >= count
        )
        assert at_least(count, np.array(chances)) == pytest.approx(total, abs=1e-12)


def test_counts_are_those_of_a_loop() -> None:
    questions, passages = world(3)
    lists = ranked(questions, passages)
    rows = lists.rows.copy()
    rows[0, 50:] = -1  # lists that end: of 50, and of four passages
    rows[1, 4:] = -1
    lists = RankedLists(rows, lists.scores)
    grades = judged(4, 60, 300)
    del grades["q9"]  # a question without judgements does not count
    table = hubs(collection(60, 300, grades), lists, draws=400)
    assert (np.diff(table["p"]) >= 0).all()
    lists_of_names = {q: [f"p{place}" for place in rows[q, :NEAREST] if place >= 0] for q in range(60) if q != 9}
    for row in table.itertuples():
        chances, times = [], 0
        for query, near in lists_of_names.items():
            if row.passage in near and row.passage not in grades[f"q{query}"]:
                chances.append(min(TEN, len(near)) / len(near))
                times += row.passage in near[:TEN]
        assert (row.times, row.questions) == (times, len(chances))
        assert row.chance == pytest.approx(sum(chances))
        assert row.p == pytest.approx(at_least(times, np.array(chances)))
    # what was drawn agrees with what is exact, but for its own spread
    spread = np.sqrt(table["p"] * (1 - table["p"]) / 400) + 1 / 400
    assert (abs(table["p_drawn"] - table["p"]) < 4.5 * spread).all()
    assert len(table) == len({f"p{place}" for place in rows[:, :NEAREST].ravel() if place >= 0})


def test_equal_chances_take_the_short_way_to_the_same() -> None:
    table = hubs(collection(60, 300), ranked(*world(5)), draws=0)
    exact = [at_least(row.times, np.full(row.questions, 0.1)) for row in table.itertuples()]
    assert table["p"].to_numpy() == pytest.approx(np.array(exact)) and table["p_drawn"].isna().all()


def test_a_planted_hub() -> None:
    """It has what all questions have in common, and no other passage."""
    questions, passages = world(6)
    passages[17] = 0
    lists = ranked(np.c_[questions, np.full(60, 2.5)], np.c_[passages, np.arange(300) == 17])
    table = hubs(collection(60, 300), lists)
    assert list(table["passage"][table["hub"]]) == ["p17"]
    first = table.iloc[0]
    assert first["p_drawn"] == 1 / 1001 and first["p_holm"] < 0.001 < 0.05 < first["p_drawn"] * len(table)
    assert hubs_said(table) == (
        f"1 of the {len(table)} passages that are among the 100 nearest of a question (60 questions) is a hub: p17 is "
        f"among the first 10 for {first['times']} questions, {first['chance']:.1f} by chance."
    )
    # where it is the answer of each of them, it is none
    grades = {f"q{query}": {"p17": 1} for query in range(60)}
    table = hubs(collection(60, 300, grades), lists, draws=0)
    assert "p17" not in set(table["passage"]) and not table["hub"].any()
    said = f"None of the {len(table)} passages that are among the 100 nearest of a question that they are "
    said += "not relevant to (60 questions) is a hub."
    assert hubs_said(table) == said and "10 best" in RULE and "100 nearest" in RULE


def test_a_passage_is_relevant_by_its_document() -> None:
    lists = ranked(*world(6))
    grades = {f"q{query}": {"book": 2, "p3": 0} for query in range(60)}
    plain = collection(60, 300)
    documents = ("book", "book", *plain.passage_ids[2:])
    of_books = Collection(plain.query_ids, plain.queries, plain.passage_ids, plain.passages, documents, grades)
    assert {"p0", "p1", "p3"} & set(hubs(of_books, lists, draws=0)["passage"]) == {"p3"}


def test_few_passages_are_no_hubs() -> None:
    """Where all of them are among ten, they are so by chance too."""
    questions, passages = world(7, size=8)
    table = hubs(collection(60, 8), ranked(questions, passages))
    assert (table["p"] == 1).all() and (table["p_drawn"] == 1).all() and (table["times"] == 60).all()


def test_refused() -> None:
    lists = ranked(*world(8))
    with pytest.raises(InputError, match="no question has a relevant document: leave relevance out"):
        hubs(collection(60, 300, {"q1": {"p1": 0}}), lists)
    with pytest.raises(InputError, match="draws is a whole number"):
        hubs(collection(60, 300), lists, draws=-1)


def alarms(simulations: range) -> int:
    """In how many worlds without a direction in common a hub is seen: the questions' vectors rotated at random."""
    questions, passages = world(0, 100, 400)
    count = 0
    for seed in simulations:
        rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(64, 64)))
        table = hubs(collection(100, 400, judged(seed, 100, 400)), ranked(questions @ rotation, passages, 100), draws=0)
        count += bool(table["hub"].any())
    return count


def test_false_alarms_are_few() -> None:
    assert alarms(range(40)) <= 4


@pytest.mark.long
def test_false_alarms_of_200_are_16_at_most() -> None:
    assert alarms(range(200)) <= 16
