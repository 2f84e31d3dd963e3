"""Two rankings beside each other: a planted fall is seen, chance is not; a file is of this collection or refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bertlens.errors import InputError
from bertlens.search import paired
from bertlens.search.collection import Collection
from bertlens.search.metrics import MEASURES

N = 80


def collection() -> Collection:
    ids = tuple(f"d{at}" for at in range(5))
    queries = tuple(f"q{at}" for at in range(N))
    grades = {query: {ids[at % 5]: 1 + at % 2} for at, query in enumerate(queries)}
    return Collection(queries, tuple(f"question {at}" for at in range(N)), ids, ids, ids, grades)


def questions(seed: int, shift: float = 0.0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    shares = {name: np.clip(random.beta(2, 2, N) + shift, 0, 1) for name in MEASURES}
    return pd.DataFrame(shares, index=pd.Index([f"q{at}" for at in range(N)], name="query"))


def moved(before: pd.DataFrame, shifts: dict[str, float], seed: int = 0) -> pd.DataFrame:
    """The same with noise of mean 0, and shifts of some measures."""
    noise = np.random.default_rng(seed).normal(0, 0.1, before.shape)
    noise -= noise.mean(0)
    return (before + noise + pd.Series(shifts).reindex(before.columns).fillna(0)).clip(0, 1)


def test_a_planted_fall_is_the_only_one() -> None:
    before = questions(0)
    now = moved(before, {"nDCG@10": -0.08, "recall@10": 0.08})
    table = paired.against(before, now.sample(frac=1, random_state=1)).set_index("measure")  # in any order
    for name in MEASURES:
        row = table.loc[name]
        assert row["difference"] == pytest.approx((now[name] - before[name]).mean())
        assert (row["before"], row["now"]) == pytest.approx((before[name].mean(), now[name].mean()))
        assert row["falls"] == (row["high"] < 0) and row["low"] <= row["difference"] <= row["high"]
        assert (row["p"] <= 0.05) == (row["falls"] or row["low"] > 0) and row["n"] == N
    assert table.index[table["falls"]].tolist() == ["nDCG@10"] and table.index[table["low"] > 0].tolist() == [
        "recall@10"
    ]
    said = paired.sentence(table.reset_index())
    fall, rise = table.loc["nDCG@10"], table.loc["recall@10"]
    numbers = [f"{x:.3f}".replace("-", "−") for x in fall[["difference", "low", "high"]]]
    assert f"Of 6 measures on 80 questions, 1 fell: nDCG@10 {numbers[0]} ({numbers[1]} to {numbers[2]}); " in said
    assert f"1 rose: recall@10 +{rise['difference']:.3f} (+{rise['low']:.3f} to +{rise['high']:.3f})" in said


def test_against_itself_nothing_fell() -> None:
    before = questions(0)
    table = paired.against(before, before.copy())
    assert not table["falls"].any() and (table["difference"] == 0).all() and (table["p"] == 1).all()
    assert "none fell and none rose by more than chance gives" in paired.sentence(table)


@pytest.mark.parametrize(("runs", "most"), [(30, 5), pytest.param(200, 16, marks=pytest.mark.long)])
def test_chance_makes_few_alarms(runs: int, most: int) -> None:
    """Measures of one ranking go together; which of two rankings is the earlier one is drawn for each question."""
    alarms = 0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        change = random.normal(0, 0.15, (N, 1)) + random.normal(0, 0.1, (N, len(MEASURES)))
        change[random.random(N) < 0.3] = 0
        before = questions(seed)
        now = (before + change * random.choice([-1, 1], (N, 1))).clip(0, 1)
        flips = random.random(N) < 0.5
        first, second = (a.where(~pd.Series(flips, index=a.index), b) for a, b in ((before, now), (now, before)))
        table = paired.against(first, second)
        alarms += bool((table["falls"] | (table["low"] > 0)).any())
    assert alarms <= most


def test_other_questions_and_measures_are_refused() -> None:
    before = questions(0)
    with pytest.raises(InputError, match="of the same questions: these are of others"):
        paired.against(before, before.rename({"q0": "other"}))
    with pytest.raises(InputError, match="by the same measures"):
        paired.against(before[["nDCG@10"]], before[["MRR@100"]])


def test_a_file_gives_the_same_table(tmp_path: Path) -> None:
    before, of = questions(3), collection()
    file = paired.to_json(tmp_path / "a.json", before, of, "tiny \ud83d")
    read = paired.from_json(file, of)
    pd.testing.assert_frame_equal(read, before, check_exact=True)
    assert read.attrs["model"] == "tiny \ud83d"
    cut = replace(of, passages=tuple("short" for _ in of.passages))
    pd.testing.assert_frame_equal(paired.from_json(file, cut), before)  # what cutting does can be compared


def test_a_file_of_another_collection_or_none_is_refused(tmp_path: Path) -> None:
    of = collection()
    file = paired.to_json(tmp_path / "a.json", questions(3), of, "tiny")
    others = {
        "questions": replace(of, queries=("another", *of.queries[1:])),
        "judgements": replace(of, grades={**of.grades, "q0": {"d0": 2}}),
        "documents": replace(of, documents=("other", *of.documents[1:])),
    }
    for kind, other in others.items():
        with pytest.raises(InputError, match=f"a.json is of another collection, its {kind} are not these"):
            paired.from_json(file, other)
    record = json.loads(file.read_text())
    for measures in (
        {},
        {"nDCG@10": {"q0": 0.5}},
        {"nDCG@10": dict.fromkeys(of.query_ids, 2)},
        {"nDCG@10": dict.fromkeys(of.query_ids, 10**400)},
        [1],
        None,
    ):
        file.write_text(json.dumps(record | {"measures": measures}))
        with pytest.raises(InputError, match="json is damaged"):
            paired.from_json(file, of)
    for text in ("", "[]", "{}", file.read_text()[:99], '{"bertlens_report": 1}'):
        file.write_text(text)
        with pytest.raises(InputError, match="json holds no metrics of a retrieval"):
            paired.from_json(file, of)
    with pytest.raises(InputError, match="cannot be opened"):
        paired.from_json(tmp_path / "none.json", of)
