"""Slices of questions: counted by hand, a planted weakness is found, chance makes few."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens.errors import InputError
from bertlens.measures.significance import share_interval
from bertlens.search.collection import Collection
from bertlens.search.passage_limits import PassageLimit
from bertlens.search.slices import FEWEST, sentence, slices
from bertlens.text import Fertility
from unit import tiny

WORDS = [f"w{at}" for at in range(400)]


class FirstWords:
    """A model that reads so many words of a passage."""

    def __init__(self, words: int):
        self.words = words

    def room(self, query: str) -> int:
        return self.words

    def excerpts(self, texts: Sequence[str], room: int) -> list[str]:
        return [" ".join(text.split()[:room]) for text in texts]


def collection(n: int, seed: int = 0) -> Collection:
    dice = random.Random(seed)
    words = [WORDS[int(len(WORDS) * dice.random() ** 3)] for _ in range(9999)]
    passages = tuple(" ".join(dice.choices(words, k=dice.randint(5, 60))) for _ in range(2 * n))
    ids = tuple(f"p{at}" for at in range(2 * n))
    queries = tuple(f"q{at}" for at in range(n + 1))
    texts = tuple(" ".join(dice.choices(words, k=dice.randint(1, 12))) for _ in queries)
    documents = tuple(f"d{at // 2}" for at in range(2 * n))
    grades = {query: {f"d{at}": 1, f"d{(at + 1) % n}": at % 2} for at, query in enumerate(queries[:-1])}
    return Collection(queries, texts, ids, passages, documents, grades)  # the last question is not judged


def scores(of: Collection, seed: int = 0) -> pd.DataFrame:
    index = pd.Index([of.query_ids[query] for query in of.judged], name="query")
    return pd.DataFrame({"nDCG@10": np.random.default_rng(seed).beta(1, 1, len(index))}, index=index)


def right(of: Collection, query: str) -> list[str]:
    names = [name for name, grade in of.grades[query].items() if grade]
    return [text for text, document in zip(of.passages, of.documents, strict=True) if document in names]


def bounds(name: str) -> tuple[float, float]:
    words = name.removeprefix("in ").split()
    if name.startswith(("more", "in more")):
        return int(words[2]) + 1, np.inf
    if "most" in name:
        return 0, int(words[2])
    return int(words[0]), int(words[2] if words[1] == "to" else words[0])


def test_slices_hold_what_their_names_say() -> None:
    of = collection(60)
    questions = scores(of)
    limit: Any = FirstWords(40)
    table = slices(questions, of, limit)
    texts = dict(zip(of.query_ids, of.queries, strict=True))
    sets = [set(text.split()) for text in of.passages]
    counts = {
        "question": {query: len(texts[query].split()) for query in questions.index},
        "right passages": {
            query: int(np.median([len(text.split()) for text in right(of, query)])) for query in questions.index
        },
        "rarest word of the question": {
            query: min(sum(word in bag for bag in sets) for word in texts[query].split()) for query in questions.index
        },
    }
    covered: dict[str, set[str]] = {kind: set() for kind in counts}
    for row in table.itertuples():
        if row.slice == "one or more of them cut":
            inside = [any(len(text.split()) > 40 for text in right(of, query)) for query in questions.index]
        else:
            low, high = bounds(row.slice)
            inside = [low <= counts[row.kind][query] <= high for query in questions.index]
            covered[row.kind] |= set(questions.index[inside])
        shares, others = questions["nDCG@10"][inside], questions["nDCG@10"][~np.array(inside)]
        assert row.n == sum(inside) >= FEWEST and row.mean == pytest.approx(shares.mean())
        assert (row.low, row.high) == pytest.approx(share_interval(shares, np.ones(len(shares))))
        assert row.outside == pytest.approx(others.mean()) and row.difference == pytest.approx(row.mean - row.outside)
        assert -1 <= row.difference_low <= row.difference <= row.difference_high <= 1
        assert row.finding == (row.p <= 0.05) == (row.difference_low > 0 or row.difference_high < 0)
    assert {*table["kind"]} == {*counts} and (table["slice"] == "one or more of them cut").sum() == 1
    assert covered["question"] == set(questions.index)  # quarters are all of them
    assert "one or more of them cut" not in [*slices(questions, of)["slice"]]


def test_what_a_model_reads_of_passages_is_its_own() -> None:
    of = collection(60)
    lens = bl.Lens(tiny.bert(), tiny.wordpiece(model_max_length=40))
    limit = PassageLimit(lens)
    table = slices(scores(of), of, limit)
    inside = [limit.excerpts(right(of, query), 38) != right(of, query) for query in scores(of).index]
    cut = table[table["slice"] == "one or more of them cut"]
    assert 10 <= sum(inside) <= 50 and cut["n"].tolist() == [sum(inside)]


def test_a_planted_weakness_is_found_and_said() -> None:
    of = collection(120)
    questions = scores(of)
    long_ones = [len(of.queries[at].split()) > 9 for at in of.judged]
    questions["nDCG@10"] *= np.where(long_ones, 0.3, 1)
    table = slices(questions, of)
    best = table.loc[table["p"].idxmin()]
    assert best["kind"] == "question" and best["slice"].startswith("more than") and best["finding"]
    said = sentence(table)
    assert said.startswith(f"In {table['finding'].sum()} of {len(table)} slices nDCG@10 differs")
    assert f"{best['mean']:.3f}, else {best['outside']:.3f}" in said and said.endswith("(Holm, 5 %).")


@pytest.mark.parametrize(("runs", "most"), [(6, 2), pytest.param(200, 16, marks=pytest.mark.long)])
def test_chance_makes_few_findings(runs: int, most: int) -> None:
    of = collection(100)
    alarms = sum(bool(slices(scores(of, seed), of)["finding"].any()) for seed in range(runs))
    assert alarms <= most


def test_few_questions_are_halved_and_too_few_have_no_slices() -> None:
    of = collection(30)
    table = slices(scores(of), of)
    assert len(table) == table["kind"].nunique() and (2 * table["n"] >= 30 - 5).all()
    assert "In none of 3 slices nDCG@10 differs" in sentence(table)
    few = collection(15)
    assert sentence(slices(scores(few), few)) == "No slice has 10 questions inside and 10 outside."
    with pytest.raises(InputError, match="no measure 'precision': there are nDCG@10"):
        slices(scores(few), few, measure="precision")


def test_a_slice_of_words_that_no_passage_has_says_so() -> None:
    ids = tuple(map(str, range(40)))
    queries = tuple("cat" if at % 2 else "dog" for at in range(40))
    of = Collection(ids, queries, ids, ("a cat",) * 40, ids, {name: {name: 1} for name in ids})
    table = slices(scores(of), of)
    assert table["slice"][0] == "in no passages" and table["n"][0] == 20


def test_questions_in_small_pieces_are_told_from_the_others() -> None:
    of = collection(60)
    cut = dict(zip(of.queries, (Fertility(9 if at % 3 else 4, 4, 40) for at in range(61)), strict=True))
    fine = np.array([cut[of.queries[at]].pieces == 9 for at in of.judged])
    questions = scores(of)
    questions["nDCG@10"] = np.where(fine, 0.2, 0.7) + 0.2 * questions["nDCG@10"]

    def pieces(texts: Sequence[str]) -> list[Fertility]:
        return [cut[text] for text in texts]

    table = slices(questions, of, pieces=pieces)
    assert len(table) == len(slices(questions, of)) + 1  # in pieces of two characters is none
    [row] = table[table["kind"] == "questions"].to_dict("records")
    shares = questions["nDCG@10"].to_numpy()
    assert row["n"] == fine.sum() and row["finding"] and row["slice"] == "in more than 2 pieces a word"
    assert row["mean"] == pytest.approx(shares[fine].mean()) and row["outside"] == pytest.approx(shares[~fine].mean())
    said = f"Questions in more than 2 pieces a word: nDCG@10 {shares[fine].mean():.3f} over {fine.sum()}, others "
    low, high = (f"{row[end]:+.3f}".replace("-", "−") for end in ("difference_low", "difference_high"))
    assert f"{said}{shares[~fine].mean():.3f} (difference {low} to {high} by Holm)." in sentence(table)
    even = slices(scores(of), of, pieces=pieces)
    assert sentence(even).endswith("by Holm: may be chance).") and "pieces" not in sentence(slices(questions, of))


def test_a_retrieval_has_slices_of_its_own_tokenizer() -> None:
    """Half of the questions are words that it has whole, half are those words written as one."""
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    known = [word for word in tiny.WORDS if word.isalpha() and len(word) > 2][:6]
    texts = [f"{a} {b}" for a in known for b in known if a != b]
    questions = [text.replace(" ", "") if at % 2 else text for at, text in enumerate(texts)]
    ids = [f"d{at}" for at in range(len(texts))]
    corpus, asked = (dict(zip(ids, of, strict=True)) for of in (texts, questions))
    judged = {name: {name: 1} for name in ids}
    table = bl.retrieval(lens, asked, corpus, judged, keep=False, progress=False).slices()
    fine = [len(lens.tokenizer.tokenize(text)) / len(text.split()) > 2 for text in questions]
    assert 10 <= sum(fine) <= len(fine) - 10
    assert table[table["slice"] == "in more than 2 pieces a word"]["n"].tolist() == [sum(fine)]
    short = [sum(map(str.isalpha, text)) / len(lens.tokenizer.tokenize(text)) < 2 for text in questions]
    assert table[table["slice"] == "in pieces of fewer than 2 characters"]["n"].tolist() == [sum(short)]
