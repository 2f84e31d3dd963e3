"""Metrics: equal to what ir_measures gives and to naive loops; intervals inside of 0 and 1; BM25 against a loop."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens.errors import InputError
from bertlens.measures.significance import difference_interval, share_interval
from bertlens.search import bm25 as bm25_file
from bertlens.search import metrics
from bertlens.search.bm25 import bm25
from bertlens.search.collection import Collection
from bertlens.search.ranked_lists import RankedLists
from unit.search import cranfield

GRADES = {"a": {"d1": 3, "d4": 1, "d9": 2, "d0": 0}, "b": {"d2": 1}, "c": {"d5": 2, "d6": 2, "d7": 4}, "x": {"d1": 0}}
ORDER = {
    "a": "d4 d2 d9 d0 d8 d3 d5 d6 d7 x1 x2 d1".split(),
    "b": "d1 d3 d2".split(),
    "c": "d1 d2".split(),
    "x": ["d1"],
}
IR_MEASURES = {  # 0.4.3, of these judgements and this order
    "nDCG@10": (0.7039180890341347, 0.5, 0.0),
    "graded nDCG@10": (0.42000399150792816, 0.5, 0.0),
    "MRR@100": (1.0, 0.3333333333333333, 0.0),
    "MAP@100": (0.6388888888888888, 0.3333333333333333, 0.0),
    "recall@10": (0.6666666666666666, 1.0, 0.0),
    "recall@100": (1.0, 1.0, 0.0),
}
WORDS = "the cat sat on a mat it was warm very dog ran far away from big house".split()


def listed(order: dict[str, list[str]], names: tuple[str, ...]) -> RankedLists:
    longest = max(map(len, order.values()))
    rows = np.full((len(order), longest), -1)
    for query, documents in enumerate(order.values()):
        rows[query, : len(documents)] = [names.index(name) for name in documents]
    return RankedLists(rows, np.where(rows < 0, np.nan, -np.arange(longest, dtype=float)))


def small() -> tuple[Collection, RankedLists]:
    names = tuple(sorted({name for names in [*ORDER.values(), *GRADES.values()] for name in names}))
    texts = tuple(f"text {name}" for name in names)
    return Collection(tuple(GRADES), ("?",) * 4, names, texts, names, GRADES), listed(ORDER, names)


def drawn(seed: int, queries: int = 12, passages: int = 60, parts: int = 1) -> Collection:
    """Random texts; passages in turn are parts of documents."""
    dice = random.Random(seed)
    names = tuple(f"p{at}" for at in range(passages))
    documents = tuple(f"d{at // parts}" for at in range(passages)) if parts > 1 else names
    texts = tuple(" ".join(dice.choices(WORDS, k=dice.randint(0, 30))) for _ in names)
    ids = tuple(str(at) for at in range(queries))
    grades = {name: {dice.choice(documents): dice.randint(0, 3) for _ in range(4)} for name in ids}
    questions = tuple(" ".join([*dice.choices(WORDS, k=4), "unheard-of"]).title() for _ in ids)
    return Collection(ids, questions, names, texts, documents, grades)


def naive(order: list[str], grades: dict[str, int]) -> dict[str, float]:
    gains = [grades.get(name, 0) for name in order]
    relevant = [grade for grade in grades.values() if grade > 0]

    def ndcg(gain):
        ideal = sum(gain(g) / math.log2(at + 2) for at, g in enumerate(sorted(relevant, reverse=True)[:10]))
        return sum(gain(g) / math.log2(at + 2) for at, g in enumerate(gains[:10])) / ideal

    hits = [at for at, gain in enumerate(gains, 1) if gain and at <= 100]
    return {
        "nDCG@10": ndcg(lambda grade: float(grade > 0)),
        "graded nDCG@10": ndcg(float),
        "MRR@100": 1 / hits[0] if hits else 0.0,
        "MAP@100": sum((count + 1) / at for count, at in enumerate(hits)) / len(relevant),
        "recall@10": sum(at <= 10 for at in hits) / len(relevant),
        "recall@100": len(hits) / len(relevant),
    }


def test_metrics_are_those_of_ir_measures() -> None:
    collection, lists = small()
    questions = metrics.by_question(lists, collection)
    assert questions.index.tolist() == ["a", "b", "c"]  # x has no relevant document
    for measure, expected in IR_MEASURES.items():
        assert questions[measure].tolist() == pytest.approx(expected, abs=1e-9)
    assert [*questions.columns] == [*metrics.MEASURES]


@pytest.mark.parametrize("parts", [1, 3])
def test_a_document_stands_where_its_best_passage_does(parts: int) -> None:
    collection = drawn(parts, parts=parts)
    lists = bm25(collection)
    questions = metrics.by_question(lists, collection)
    for query in collection.judged:
        order: list[str] = []
        for row in lists.rows[query]:
            if row >= 0 and collection.documents[row] not in order:
                order.append(collection.documents[row])
        expected = naive(order, dict(collection.grades[collection.query_ids[query]]))
        assert questions.loc[collection.query_ids[query]].to_dict() == pytest.approx(expected, abs=1e-12)


def test_without_grades_there_is_one_ndcg_and_without_judgements_none() -> None:
    collection, lists = small()
    plain = {query: {name: min(grade, 1) for name, grade in of.items()} for query, of in GRADES.items()}
    ids, texts = collection.passage_ids, collection.passages
    same = Collection(collection.query_ids, collection.queries, ids, texts, ids, plain)
    questions = metrics.by_question(lists, same)
    assert "graded nDCG@10" not in questions and questions["nDCG@10"].tolist() == pytest.approx(
        IR_MEASURES["nDCG@10"], abs=1e-9
    )
    unjudged = Collection(collection.query_ids, collection.queries, ids, texts, ids, {})
    with pytest.raises(InputError, match=r"no question has a relevant document.*give relevance"):
        metrics.by_question(lists, unjudged)


def test_the_table_has_means_and_paired_differences_within_their_range() -> None:
    collection, lists = drawn(5), None
    questions = metrics.by_question(bm25(collection), collection)
    backwards = bm25(collection)
    lists = RankedLists(backwards.rows[:, ::-1].copy(), backwards.scores[:, ::-1].copy())
    other = metrics.by_question(lists, collection)
    table = metrics.table(questions, other).set_index("measure")
    for measure in questions:
        row, values = table.loc[measure], questions[measure].to_numpy()
        differences = values - other[measure].to_numpy()
        assert row["mean"] == pytest.approx(values.mean()) and row["bm25"] == pytest.approx(other[measure].mean())
        assert (row["low"], row["high"]) == share_interval(values, np.ones(len(values)))
        assert row["difference"] == pytest.approx(row["mean"] - row["bm25"])
        assert (row["difference_low"], row["difference_high"]) == difference_interval(differences)
        assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1 and row["n"] == len(collection.judged)
    assert "bm25" not in metrics.table(questions)
    assert np.isnan(metrics.table(questions.iloc[:1])["low"]).all()


# --- BM25 ---


def naive_bm25(collection: Collection, queries: Iterable[int]) -> list[list[tuple[str, float]]]:
    texts = [re.findall(r"\w+", text.lower()) for text in collection.passages]
    mean = sum(map(len, texts)) / len(texts)
    frequency = Counter(word for text in texts for word in set(text))
    lists = []
    for query in queries:
        scores: dict[int, float] = {}
        for at, text in enumerate(texts):
            for word in re.findall(r"\w+", collection.queries[query].lower()):
                if tf := text.count(word):
                    n = frequency[word]
                    idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
                    length = 1.2 * (1 - 0.75 + 0.75 * len(text) / mean)
                    scores[at] = scores.get(at, 0) + idf * tf / (tf + length)
        order = sorted(scores, key=lambda at: (-round(scores[at], 11), collection.passage_order[at]))
        lists.append([(collection.passage_ids[at], scores[at]) for at in order])
    return lists


@pytest.mark.parametrize("block", [bm25_file.CELLS, 100])
def test_bm25_is_the_loop(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25_file, "CELLS", block)
    collection = drawn(1)
    for depth in (200, 7):
        lists = bm25(collection, depth)
        for query, full in enumerate(naive_bm25(collection, range(len(collection.queries)))):
            expected = full[:depth]
            rows = lists.passages(query)
            assert [collection.passage_ids[row] for row in rows] == [name for name, _ in expected]
            scores = lists.scores[query, : len(rows)]
            assert scores.tolist() == pytest.approx([score for _, score in expected], abs=1e-12)
            assert (lists.rows[query, len(rows) :] == -1).all() and np.isnan(lists.scores[query, len(rows) :]).all()


def test_passages_of_one_score_stand_by_id_and_those_without_a_common_word_nowhere() -> None:
    ids = ("10", "9", "b", "a", "7")
    collection = Collection(("1", "2"), ("cat", "bird"), ids, ("a cat", "a cat", "a cat", "a cat", ""), ids, {})
    lists = bm25(collection)
    assert [ids[row] for row in lists.passages(0)] == ["9", "10", "a", "b"] and not len(lists.passages(1))


def test_behind_the_best_passages_stand_further_documents() -> None:
    """120 documents of 3 passages: 10 passages are not 100 documents."""
    collection = drawn(2, 3, 360, 3)
    deep, lists = bm25(collection, 360), bm25(collection, 10)
    for query in range(3):
        rows = lists.passages(query)
        assert rows[:10].tolist() == deep.passages(query)[:10].tolist()
        assert lists.documents(query, collection) == deep.documents(query, collection)[:100]
        assert len(rows) < 110


@pytest.mark.data
@pytest.mark.long
def test_cranfield_has_the_numbers_of_its_readme(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = cranfield.collection(data)
    ours = metrics.table(metrics.by_question(bm25(collection), collection)).set_index("measure")["mean"]
    assert round(ours["nDCG@10"], 3) == 0.495
    monkeypatch.setattr(bm25_file, "words_of", lambda text: re.findall(r"\w+", text.lower()))  # as the README's did
    readme = metrics.by_question(bm25(collection), collection)
    assert round(readme["nDCG@10"].mean(), 3) == 0.494
    lists, sample = bm25(collection), range(0, 225, 25)
    for query, expected in zip(sample, naive_bm25(collection, sample), strict=True):
        names = [collection.passage_ids[row] for row in lists.passages(query)]
        assert names == [name for name, _ in expected[:200]]


@pytest.mark.data
@pytest.mark.long
@pytest.mark.timeout(1200)  # minutes, where other work runs beside it
def test_the_embedded_model_has_the_numbers_of_the_readme(data: Path, embedded_lens: Any, tmp_path: Path) -> None:
    """Texts cut at 180 words; of its vectors, scores in a float64 loop; and a second run that makes none of them."""
    of = cranfield.collection(data, 180)
    passages = dict(zip(of.passage_ids, of.passages, strict=True))
    sources = (list(of.queries), passages, {name: dict(grades) for name, grades in of.grades.items()})
    run = bl.retrieval(embedded_lens, *sources, keep=tmp_path / "vectors", progress=False)
    means = run.metrics().set_index("measure")["mean"]
    assert means[["nDCG@10", "graded nDCG@10"]].round(3).tolist() == [0.516, 0.506]
    assert len(run.failures()) == 71 and (run.by_question["recall@10"] == 0).sum() == 15
    assert "For 154 of 225 questions a relevant document is first, for 15 none" in metrics.sentence(run.metrics())
    assert run.stages.vectors is not None and run.stages.query_vectors is not None
    vectors = [numbers.numbers(slice(None)) for numbers in (run.stages.query_vectors, run.stages.vectors)]
    for query in range(0, 225, 9):
        question = vectors[0][query]
        cosines = [
            float(question @ row) / math.sqrt(float(question @ question) * float(row @ row)) for row in vectors[1]
        ]
        order = sorted(range(1400), key=lambda row: (-cosines[row], int(of.passage_ids[row])))[:200]
        assert run.lists.rows[query].tolist() == order
    again = bl.retrieval(embedded_lens, *sources, keep=tmp_path / "vectors", progress=False)
    pd.testing.assert_frame_equal(again.by_question, run.by_question, check_exact=True)
