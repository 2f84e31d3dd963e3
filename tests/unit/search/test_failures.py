"""Failures beside naive loops, planted ones of each kind, and how often a kind is seen that judgements do not make."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens.errors import InputError
from bertlens.search.collection import Collection
from bertlens.search.exact_search import search
from bertlens.search.failure_rules import RULES
from bertlens.search.failures import failure_kinds, failure_table, failures_said
from bertlens.search.hubs import at_least
from bertlens.search.passage_limits import PassageLimit
from bertlens.search.ranked_lists import RankedLists
from bertlens.search.stages import Stages
from bertlens.search.vectors import encoded
from unit.search.test_hubs import names, ranked
from unit.tiny_encoders import encoder, words

FREQUENT = [f"often{n}" for n in range(8)]


class FirstWords:
    """What a model reads that cuts behind the 24th word."""

    def room(self, query: str) -> int:
        return 24

    def excerpts(self, texts: Sequence[str], room: int | None) -> list[str]:
        return [" ".join(text.split()[:room]) for text in texts]


def random_world(seed: int, n: int = 40, size: int = 120) -> tuple[Collection, RankedLists, RankedLists]:
    """Texts of random words, a third of which begin alike; two passages a document; vectors at random."""
    generator = np.random.default_rng(seed)

    def text(length: int) -> list[str]:
        rare = [f"Rare{word}" for word in generator.integers(160, size=length // 2 + 1)]
        return [*generator.permutation([*rare, *generator.choice(FREQUENT, length // 2)]).tolist()]

    passages = [text(int(length)) for length in generator.integers(6, 40, size=size)]
    for row in range(0, size, 3):  # a third begin alike, which of the shorter ones is most
        passages[row] = [*FREQUENT, *FREQUENT[::-1], *FREQUENT[::2], *passages[row]]
    queries = [text(int(length)) for length in generator.integers(14, 24, size=n)]
    documents = tuple(f"d{row // 2}" for row in range(size))
    grades = {
        f"q{query}": {f"d{row}": int(row % 3) for row in generator.choice(size // 2, 5, replace=False)}
        for query in range(n)
    }
    world = Collection(
        names("q", n),
        tuple(map(" ".join, queries)),
        names("p", size),
        tuple(map(" ".join, passages)),
        documents,
        grades,
    )
    questions, vectors = generator.normal(size=(n, 32)), generator.normal(size=(size, 32))
    second = ranked(questions + 0.5 * generator.normal(size=questions.shape), vectors, 60)
    return world, second, ranked(questions, vectors, 60)


def shuffled(world: Collection, seed: int) -> Collection:
    order = np.random.default_rng(seed).permutation(len(world.query_ids))
    grades = {name: world.grades[world.query_ids[at]] for name, at in zip(world.query_ids, order, strict=True)}
    return dataclasses.replace(world, grades=grades)


@cache
def document_counts(passages: tuple[str, ...]) -> Counter[str]:
    return Counter(word for passage in passages for word in set(passage.lower().split()))


def of_pair(world: Collection, query: int, wrong: int, right: int) -> dict[str, bool]:
    """What is asked of the question, what stands first and one right passage."""
    texts = [world.passages[row].lower().split() for row in (wrong, right)]
    counts = document_counts(world.passages)
    common = {word for word in world.queries[query].lower().split() if word in texts[1] and counts[word] <= 12}
    return {
        "cut": bool(common) and len(common & set(texts[1][:24])) <= len(common) / 2,
        "no_word": not common,
        "length": max(map(len, texts)) >= 2 * min(map(len, texts)),
    }


def loop(world: Collection, lists: RankedLists, first: RankedLists, query: int, judged: int) -> dict[str, Any] | None:
    """A row for one question with the right documents of another, None where what stands first is one of them."""
    right_documents = world.relevant(judged)
    order = lists.documents(query, world)
    if order[0] in right_documents:
        return None
    wrong = int(lists.rows[query, 0])
    listed = [int(row) for row in lists.passages(query) if world.documents[row] in right_documents]
    rows = [row for row, name in enumerate(world.documents) if name in right_documents]
    right = listed[0] if listed else min(rows, key=lambda row: (-right_documents[world.documents[row]], row))
    ranks = [
        min((1 + ids.index(name) for name in right_documents if name in ids), default=np.inf)
        for ids in (order, first.documents(query, world))
    ]

    def runs(text: str) -> set[tuple[str, ...]]:
        words = text.split()
        return {tuple(words[n : n + 5]) for n in range(len(words) - 4)}

    wrong_runs, near = runs(world.passages[wrong]), False
    for row in rows:
        shared, sizes = wrong_runs & runs(world.passages[row]), (len(wrong_runs), len(runs(world.passages[row])))
        near |= len(shared) >= min(sizes) / 2
    return {
        "wrong": f"p{wrong}",
        "right": f"p{right}",
        "rank_right": ranks[0] if listed else None,
        "near_duplicate": near,
        "second_stage": ranks[1] <= 10 and ranks[1] < ranks[0],
        **of_pair(world, query, wrong, right),
    }


def test_the_table_and_its_chances_are_those_of_loops() -> None:
    world, lists, first = random_world(1, n=25)
    table = failure_table(world, lists, first, FirstWords())
    rows = {query: row for query in range(25) if (row := loop(world, lists, first, query, query))}
    assert list(table["query"]) == [f"q{query}" for query in rows] and 15 < len(rows) < 25
    for record, (query, row) in zip(table.to_dict("records"), rows.items(), strict=True):
        rank = row.pop("rank_right")
        assert {name: record[name] for name in row} == row
        passages = [f"p{place}" for place in lists.rows[query]]
        assert record["score_wrong"] == lists.scores[query, 0]
        if rank is None:
            assert np.isnan([record["rank_right"], record["score_right"], record["gap"]]).all()
        else:
            assert record["rank_right"] == rank
            assert record["score_right"] == lists.scores[query, passages.index(row["right"])]
            assert record["gap"] == record["score_wrong"] - record["score_right"]
        assert record["kind"] == next((name for name in RULES if record[name]), "none")
    kinds = failure_kinds(table).set_index("kind")
    assert list(kinds.index) == list(RULES) and (kinds["n"] > 0).sum() >= 5
    answered = [query for query in range(25) if query not in rows]
    for name in ("cut", "no_word"):
        own = [of_pair(world, query, *2 * [int(lists.rows[query, 0])])[name] for query in answered]
        assert kinds.loc[name, "answered"] == pytest.approx(np.mean(own))
    drawn = {
        query: [row for other in range(25) if other != query and (row := loop(world, lists, first, query, other))]
        for query in rows
    }
    for name in set(RULES) - {"hub"}:
        chances = [np.mean([row[name] for row in others]) for others in drawn.values()]
        assert kinds.loc[name, "n"] == table[name].sum()
        assert kinds.loc[name, "chance"] == pytest.approx(np.mean(chances))
        together = [np.mean([row[name] for row in [rows[query], *others]]) for query, others in drawn.items()]
        assert kinds.loc[name, "p"] == pytest.approx(at_least(int(table[name].sum()), np.array(together)))


def test_one_failure_beside_one_other_question_tells_nothing() -> None:
    """Its right passage is one of two that it might have been: half of such cases come by chance."""
    ids = ("0", "1", "2")
    world = Collection(
        ("a", "b"), ("cat mat", "dog log"), ids, ("x y z", "cat mat now", "u v w"), ids, {"a": {"2": 1}, "b": {"1": 1}}
    )
    lists = RankedLists(np.array([[0, 1, 2], [1, 0, 2]]), np.array([[0.9, 0.8, 0.7]] * 2))
    table = failure_table(world, lists, None, FirstWords())
    kinds = failure_kinds(table).set_index("kind")
    assert table["query"].tolist() == ["a"] and kinds.loc["no_word", "n"] == 1 and kinds.loc["no_word", "chance"] == 0
    assert kinds.loc["no_word", "p"] == 0.5 and not kinds["finding"].any()
    assert "No kind is more frequent than chance has it (exact" in failures_said(table)
    alone = dataclasses.replace(world, grades={"a": {"2": 1}})
    said = failures_said(failure_table(alone, lists, None, FirstWords()))
    assert said == (
        "1 of 1 judged question has a wrong document first. What chance brings is not known: it takes right passages "
        "of other questions. For 0 no rule holds."
    )


TOPICS = [f"{letter} {letter} {letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]  # words of the tiny tokenizer


def listed(heads: Sequence[Sequence[int]], size: int) -> RankedLists:
    """Lists that begin so, the others behind in an order of chance."""
    generator = np.random.default_rng(0)
    rows = [[*head, *(row for row in generator.permutation(size) if row not in head)] for head in heads]
    return RankedLists(np.array(rows, dtype=np.int64), np.tile(np.linspace(1, 0, size), (len(rows), 1)))


def planted(
    passages: Sequence[str], heads: Sequence[Sequence[int]], queries: Sequence[str], **documents: Any
) -> tuple[Collection, RankedLists]:
    """A collection in which passage n answers question n, and its lists."""
    ids = names("p", len(passages))
    world = Collection(
        names("q", len(queries)),
        tuple(queries),
        ids,
        tuple(passages),
        documents.get("documents", ids),
        {f"q{n}": {documents.get("documents", ids)[n]: 1} for n in range(len(queries))},
    )
    return world, listed(heads, len(passages))


def test_a_planted_cut_passage() -> None:
    """The words asked for stand behind the 38 tokens of passage 3 that the model reads, of passage 5 before them."""
    lens = bl.Lens(encoder(prompts={"document": "the cat "}))
    filler = " ".join(["it was on the mat"] * 7)  # 35 tokens, 37 with the prompt
    passages = list(TOPICS)
    passages[3], passages[5] = f"{filler} x y d d", f"{filler} f f f"
    heads = [[n + 1, n] if n in (3, 5, 7) else [n] for n in range(26)]
    world, lists = planted(passages, heads, [f"{letter} and what" for letter in "abcdefghijklmnopqrstuvwxyz"])
    table = failure_table(world, lists, None, PassageLimit(lens))
    assert dict(zip(table["query"], table["cut"], strict=True)) == {"q3": True, "q5": False, "q7": False}
    assert list(table["kind"]) == ["cut", "length", "none"] and list(table["rank_right"]) == [2, 2, 2]
    kinds = failure_kinds(table).set_index("kind")
    assert list(kinds.index) == [name for name in RULES if name != "second_stage"] and not table["second_stage"].any()
    assert kinds.loc["cut", "n"] == 1 and kinds.loc["cut", "chance"] == 0 and kinds.loc["cut", "answered"] == 0


def test_a_planted_loss_of_the_second_stage() -> None:
    """Of six questions; of the last the first stage had it further down, so the second has lost nothing."""
    world, lists = planted(TOPICS, [[n + 1, n] if n < 6 else [n] for n in range(26)], TOPICS)
    first_lists = listed([[n + 2, n + 3, n] if n == 5 else [n] for n in range(26)], 26)
    table = failure_table(world, lists, first_lists, None)
    assert list(table["second_stage"]) == 5 * [True] + [False]
    kinds = failure_kinds(table)
    assert list(kinds["kind"][kinds["finding"]]) == ["second_stage"] and list(kinds["kind"]).count("cut") == 0
    assert failures_said(table).startswith(
        "6 of 26 judged questions have a wrong document first. More often than by chance: second stage 5, "
    )
    assert failures_said(table).endswith("by chance (exact tests, Holm, 5 %). For 1 no rule holds.")


def test_a_planted_near_duplicate_and_no_word_in_common() -> None:
    text = "one two three four five six seven eight nine ten".split()
    passages = [" ".join([*text, f"a{n}"]) if n < 2 else f"a{n} b{n}" for n in range(20)]
    heads = [[n + 1, n] if n in (0, 7) else [n] for n in range(20)]
    world, lists = planted(passages, heads, [f"b{n}" if n != 7 else "c" for n in range(20)])
    table = failure_table(world, lists, None, None)
    assert list(table["kind"]) == ["near_duplicate", "no_word"] and list(table["wrong"]) == ["p1", "p8"]
    assert list(table["near_duplicate"]) == [True, False]


def test_a_hub_stands_in_the_place_of_right_passages() -> None:
    generator = np.random.default_rng(0)
    questions, passages = generator.normal(size=(2, 60, 64))
    passages = np.r_[3 * questions + passages, generator.normal(size=(240, 64))]  # the first sixty are the right ones
    passages[100] = 0
    lists = ranked(np.c_[questions, np.where(np.arange(60) < 40, 9.0, 4.0)], np.c_[passages, np.arange(300) == 100])
    world, _ = planted([f"t{n}" for n in range(300)], [[0]], [f"t{n}" for n in range(60)])
    table = failure_table(world, lists, None, None)
    hits = int((lists.rows[:, 0] == 100).sum())
    assert table["hub"].sum() == hits > 30 and set(table["wrong"][table["hub"]]) == {"p100"}
    kinds = failure_kinds(table).set_index("kind")
    assert kinds.loc["hub", "n"] == hits and kinds.loc["hub", "chance"] == pytest.approx(hits / 60)
    assert np.isnan(kinds.loc["hub", "answered"])
    n = len(table)  # of the sixty; the hub is wrong wherever it is first
    assert hits <= n < 60 and kinds.loc["hub", "p"] == pytest.approx(math.comb(60 - hits, n - hits) / math.comb(60, n))


def test_the_best_passage_of_a_document_counts() -> None:
    """Passages 0 and 1 are of the right document, 2 and 3 of another: it is second, though its passage is third."""
    world, lists = planted(["x"] * 6, [[2, 3, 1, 0, 4, 5]], ["x"], documents=("a", "a", "b", "b", "c", "d"))
    (row,) = failure_table(world, lists, None, None).to_dict("records")
    assert (row["wrong"], row["right"], row["rank_right"]) == ("p2", "p1", 2)
    assert row["gap"] == pytest.approx(0.4)
    rows = np.array([[0, 2, 3, 1, 4, 5]])
    table = failure_table(world, RankedLists(rows, lists.scores), None, None)
    assert len(table) == 0 and failures_said(table) == "0 of 1 judged question have a wrong document first."
    assert np.isnan(failure_kinds(table)["share"]).all()


def test_a_list_without_a_right_passage_is_searched_to_its_end() -> None:
    lens = bl.Lens(encoder())
    passages = [words(6 + n % 5, n) for n in range(40)]
    world, _ = planted(passages, [[0]] * 8, passages[:8])
    world = dataclasses.replace(world, grades={f"q{n}": {f"p{(n + 9) % 40}": 1, f"p{n + 20}": 2} for n in range(8)})
    vectors = encoded(lens, world.passages, "document", progress=False)
    queries = encoded(lens, world.queries, "query", progress=False)
    lists = search(queries, vectors, "cosine", world.passage_order, depth=3)
    stages = Stages(lists, None, vectors, queries, "cosine")
    ended = failure_table(world, lists, None, None).set_index("query")
    table = failure_table(world, stages.to_the_end(world), None, None).set_index("query")
    assert ended["rank_right"].isna().sum() >= 4 and not table["rank_right"].isna().any()
    scores = lens.model.similarity(lens.model.encode_query(world.queries), lens.model.encode_document(world.passages))
    for name, row in table.iterrows():
        n = int(str(name)[1:])
        order = scores[n].argsort(descending=True).tolist()
        rank, right = min((order.index(place), place) for place in ((n + 9) % 40, n + 20))
        assert (row["wrong"], row["right"], row["rank_right"]) == (f"p{order[0]}", f"p{right}", rank + 1)
        assert row["gap"] == pytest.approx(float(scores[n, order[0]] - scores[n, right]), abs=1e-5)


def test_refused() -> None:
    world, lists = planted(TOPICS, [range(26)], TOPICS[:1])
    for grades in ({}, {"q0": {"p3": 0}}, {"q0": {"nowhere": 1}}):
        with pytest.raises(InputError, match="no question has a relevant passage"):
            failure_table(dataclasses.replace(world, grades=grades), lists, None, None)
    with pytest.raises(InputError, match="the table that failures"):
        failure_kinds(pd.DataFrame())


def alarms(simulations: range) -> int:
    """In how many shuffles of judgements that are random anyway a kind is seen."""
    world, lists, first = random_world(2)
    tables = (failure_table(shuffled(world, seed), lists, first, FirstWords()) for seed in simulations)
    return sum(bool(failure_kinds(table)["finding"].any()) for table in tables)


def test_false_alarms_are_few() -> None:
    assert alarms(range(40)) <= 4


@pytest.mark.long
def test_false_alarms_of_200_are_16_at_most() -> None:
    assert alarms(range(200)) <= 16
