"""Hard negatives beside a naive loop, and in the hands of what they are made for; passages to split."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens.errors import InputError
from bertlens.search import long_passages
from bertlens.search.collection import Collection
from bertlens.search.hard_negatives import HardNegatives, hard_negatives
from bertlens.search.near_duplicates import RUN
from bertlens.search.ranked_lists import RankedLists
from unit.search.test_failures import FirstWords, random_world
from unit.tiny_encoders import encoder, words


def runs(text: str) -> set[tuple[str, ...]]:
    split = text.lower().split()
    return {tuple(split[at : at + RUN]) for at in range(max(1, len(split) - RUN + 1))}


def repeats(a: str, b: str) -> bool:
    return 2 * len(runs(a) & runs(b)) >= min(len(runs(a)), len(runs(b)))


def naive(world: Collection, lists: RankedLists, n: int, judged: bool) -> tuple[list[tuple[object, ...]], int]:
    """Triplets in the order of questions, their relevant documents, the list; and how many were left out."""
    rows, left_out = [], 0
    for query, name in enumerate(world.query_ids):
        grades = world.grades.get(name, {})
        right = [document for document, grade in grades.items() if grade > 0]
        ranking = [row for row in lists.rows[query].tolist() if row >= 0]
        positives = []
        for document in right:
            of_document = [row for row in ranking if world.documents[row] == document]
            others = sorted((p for p, of in enumerate(world.documents) if of == document), key=world.passage_order.item)
            positives.append((of_document or others)[0])
        negatives: list[int] = []
        for row in ranking:
            if len(negatives) == n:
                break
            document = world.documents[row]
            if document in right or (judged and document not in grades):
                continue
            if any(repeats(world.passages[row], world.passages[positive]) for positive in positives):
                left_out += 1
            else:
                negatives.append(row)
        for positive in positives:
            for row in negatives:
                place = ranking.index(row)
                score = lists.scores[query, ranking.index(positive)] if positive in ranking else math.nan
                rows.append((name, world.passage_ids[positive], world.passage_ids[row], place + 1,
                             lists.scores[query, place] - score, world.documents[row] in grades))  # fmt: skip
    return rows, left_out


@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_triplets_are_those_of_a_naive_loop(seed: int, judged: bool) -> None:
    world, lists, _ = random_world(seed)
    mined = hard_negatives(world, lists, 4, judged)
    rows, left_out = naive(world, lists, 4, judged)
    assert len(rows) > 100 and mined.duplicates == left_out
    expected = pd.DataFrame(rows, columns=["query", "positive", "negative", "rank", "margin", "judged"])
    pd.testing.assert_frame_equal(mined.table, expected)
    texts = dict(zip(world.passage_ids, world.passages, strict=True))
    assert mined.triplets["positive"].tolist() == [texts[name] for name in expected["positive"]]
    assert mined.triplets["negative"].tolist() == [texts[name] for name in expected["negative"]]
    pairs = {(row[0], row[2]): row[5] for row in rows}
    assert mined.unjudged == len(pairs) - sum(pairs.values())
    assert (mined.unjudged == 0) == judged


def test_a_passage_that_repeats_a_right_one_is_no_negative() -> None:
    right = "of the many wings that were tried this one alone did not break in the wind"
    passages = (right, f"again {right}", "a wing of wood", "a wing of steel")
    ids = ("r", "copy", "w", "s")
    grades = {"q": {"r": 1, "w": 0}}
    world = Collection(("q",), ("which wing",), ids, passages, ids, grades)
    lists = RankedLists(np.array([[1, 2, 0, 3]]), np.array([[0.9, 0.8, 0.7, 0.6]]))
    mined = hard_negatives(world, lists, 2)
    assert mined.table["negative"].tolist() == ["w", "s"] and mined.table["rank"].tolist() == [2, 4]
    assert mined.table["margin"].tolist() == pytest.approx([0.1, -0.1])
    assert mined.said == (
        "Triplets: 2, of 1 question(s) and 2 negative(s). 1 of them nobody has judged: some may be right answers. "
        "Passages left out, for they nearly repeat a right one: 1."
    )
    assert hard_negatives(world, lists, 1, judged=True).said.startswith(
        "Triplets: 1, of 1 question(s) and 1 negative(s). All of them were judged, and are not relevant."
    )
    unknown = Collection(("q",), ("which wing",), ids, passages, ids, {"q": {"r": 1}})
    assert "Nobody has judged any of them" in hard_negatives(unknown, lists).said
    with pytest.raises(InputError, match="no question has a negative: none has a grade of 0"):
        hard_negatives(unknown, lists, judged=True)
    with pytest.raises(InputError, match="n is how many negatives"):
        hard_negatives(world, lists, 0)


@cache
def mined() -> HardNegatives:
    corpus = {f"p{at}": words(6 + at % 5, at) for at in range(40)}
    queries = {f"q{at}": words(4, 100 + at) for at in range(6)}
    lens = bl.Lens(encoder())
    return bl.retrieval(
        lens, queries, corpus, {f"q{at}": [f"p{at}"] for at in range(5)}, progress=False
    ).hard_negatives(3)


def test_a_loss_of_sentence_transformers_takes_the_columns_as_they_come() -> None:
    pytest.importorskip("datasets")
    dataset = mined().dataset()
    assert dataset.column_names == ["anchor", "positive", "negative"] and len(dataset) == 15
    assert dataset.to_pandas().equals(mined().triplets)
    model = encoder()
    features = [model.preprocess(dataset[name][:8]) for name in dataset.column_names]
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    for loss in (losses.TripletLoss(model), losses.MultipleNegativesRankingLoss(model)):
        assert loss(features, None).item() > 0


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".csv"])
def test_files_hold_the_triplets(tmp_path: Path, ending: str) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    path = mined().save(tmp_path / f"triplets{ending}")
    if ending == ".jsonl":
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert pd.DataFrame(lines).equals(mined().triplets)
    else:
        read = pd.read_parquet if ending == ".parquet" else pd.read_csv
        assert read(path).equals(mined().triplets)
    with pytest.raises(InputError, match=r"written as one of .parquet, .jsonl, .csv: t.txt is none of them"):
        mined().save(tmp_path / "t.txt")


def test_passages_to_split_are_those_that_are_cut() -> None:
    passages = ("short", " ".join(["one", *["often"] * 24, "wing"]), " ".join(["two"] * 30), " ".join(["three"] * 24))
    ids = ("a", "b", "c", "d")
    world = Collection(("q", "p"), ("wing", "x"), ids, passages, ids, {"q": {"b": 1}, "p": {"c": 1}})
    failures = pd.DataFrame({"right": ["b", "c"], "cut": [True, False]})
    table = long_passages.long_passages(world, FirstWords(), failures)
    assert table.to_dict("list") == {
        "passage": ["b", "c"], "document": ["b", "c"], "words": [26, 30], "read": [24, 24], "questions": [1, 1],
        "cut": [1.0, 0.0],
    }  # fmt: skip
    assert long_passages.sentence(table) == (
        "Of 2 of 4 passages the model reads no more than a part; 1 of them is a right passage that lost words of the "
        "question so: split these first."
    )
    bare = long_passages.long_passages(world, FirstWords())
    assert bare["passage"].tolist() == ["c", "b"] and bare["cut"].isna().all()
    assert long_passages.sentence(bare) == "Of 2 of 4 passages the model reads no more than a part."

    class Endless(FirstWords):
        def excerpts(self, texts, room):
            return [*texts]

    none = long_passages.long_passages(world, Endless(), failures)
    assert long_passages.sentence(none) == "The model reads all of each of the 4 passages."


def test_a_retrieval_lists_what_its_model_cuts_and_writes_it_all(tmp_path: Path) -> None:
    corpus = {"long": words(60, 1), "short": words(6, 2), "other": words(5, 3)}
    search = bl.retrieval(bl.Lens(encoder()), {"q": words(4, 4)}, corpus, {"q": ["long"]}, progress=False)
    table = search.long_passages()
    assert table["passage"].tolist() == ["long"] and table["read"][0] < table["words"][0]
    assert table["questions"].tolist() == [1] and table.attrs["passages"] == 3
    page = search.to_html(tmp_path / "page.html", probe=search.probe(["the cat was on the mat"], progress=False))
    assert "What small edits do" in page.read_text(encoding="utf-8")
