"""The study of named words: its rules on small tables, and all contrasts of Cranfield."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bertlens.measures.significance import difference_interval, share_interval
from bertlens.search.collection import Collection
from bertlens.search.contrast import contrast
from studies import turned_orders as study


def test_a_failure_is_a_question_whose_first_document_is_not_relevant() -> None:
    """Of one score the smaller number is first; the right passage is the best-ranked relevant one."""
    ids = ("10", "9", "3", "4")
    grades = {"a": {"9": 1}, "b": {"4": 2, "3": 1}, "c": {"10": 1}}
    collection = Collection(("a", "b", "c"), ("x",) * 3, ids, ("y",) * 4, ids, grades)
    scores = np.array([[0.5, 0.5, 0.1, 0.2], [0.9, 0.1, 0.2, 0.2], [0.1, 0.1, 0.3, 0.4]])
    assert study.failures(scores, collection) == [study.Failure(1, 0, 2), study.Failure(2, 3, 0)]
    assert study.first_words("a b  c\nd", 3) == "a b c" and study.first_words("a b  c", None) == "a b  c"


def test_rates_are_means_over_cases_with_their_intervals() -> None:
    named, random, frequent = [True] * 5 + [False] * 4, [0, 0.25, *[0.0] * 7], [0.5, *[0.0] * 8]
    cases = pd.DataFrame({"how": "hidden", "named": named, "random": random, "as frequent": frequent})
    [row] = study.rates(cases).to_dict("records")
    low, high = share_interval(np.array(named), np.ones(9))
    assert row["n"] == 9 and row["named"] == f"0.56 [{low:.2f}, {high:.2f}]"
    low, high = difference_interval(np.array(named, dtype=float) - random)
    assert row["named − random"] == f"+0.53 [{low:+.2f}, {high:+.2f}]" and row["random"].startswith("0.03 [")


def words_of(lens: Any, text: str) -> np.ndarray:
    """(S, D) the last hidden states, float64."""
    return lens.trace(text, truncation=True).hidden_state(lens.trace("a").n_layers).double().numpy()


@pytest.mark.long
@pytest.mark.data
@pytest.mark.timeout(1800)
def test_every_contrast_of_cranfield_adds_up(data: Path, embedded_lens: Any) -> None:
    """71 of them; of 20 each row beside a float64 loop over the tokens."""
    folder = data / "cranfield"
    if not folder.exists():
        pytest.skip("no Cranfield")
    collection = study.cranfield(folder)
    cases = study.failures(study.scores(embedded_lens, collection), collection)
    assert len(cases) == 71
    for number, case in enumerate(cases):
        passages = [study.first_words(collection.passages[at], study.WORDS) for at in (case.wrong, case.right)]
        split = contrast(embedded_lens, collection.queries[case.query], *passages)
        assert split.difference > 0 and abs(split.gap) < 1e-5
        for column, table in (("wrong", split.wrong), ("right", split.right)):
            assert table["part"].sum() == pytest.approx(split.query[column].sum(), abs=1e-9)
        if number < 20:
            q, *others = (words_of(embedded_lens, text) for text in split.texts)
            for column, other in zip(("wrong", "right"), others, strict=True):
                scale = np.linalg.norm(q.mean(0)) * np.linalg.norm(other.mean(0)) * len(q) * len(other)
                rows = np.array([sum(float(i @ j) for j in other) / scale for i in q])
                np.testing.assert_allclose(split.query[column], np.add.reduceat(rows, split.query["at"]), atol=1e-5)
