"""Words of a task since: a file of words that is checked, and a second model on the same texts."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats as st

import bertlens as bl
from bertlens.errors import InputError, ModelError
from bertlens.tasks.words import gained, read_words, words_file
from bertlens.tasks.words.part_effects import effects_of
from unit.tasks.classifier import labelled, lens_of


@pytest.fixture(scope="module")
def task() -> bl.Task:
    return bl.task(lens_of(1), labelled(40, seed=1), progress=False)


@pytest.fixture(scope="module")
def words(task: bl.Task) -> bl.tasks.TaskWords:
    return task.words()


def test_a_file_of_words_says_what_has_gained(task, words, tmp_path):
    path = words.save(tmp_path / "words.json", 3)
    rows = read_words(path)
    assert len({row["word"] for row in rows}) == 3 and len(rows) == 6
    table = gained(task, rows)
    assert table["change"].abs().max() < 1e-6 and not table["gained"].any()  # the same model, the same texts
    [earlier] = [row for row in rows if row["word"] == rows[0]["word"] and row["effect"] > 0]
    texts = [text for (text,) in task.examples.texts if earlier["word"].split()[0] in text.split()]
    assert len(earlier["by"]) == earlier["texts"] <= len({*texts})
    named = {
        "words": 1,
        "rows": [{name: earlier[name] for name in ("word", "class", "kind", "of")}, {"word": "dog", "class": "cold"}],
    }
    (tmp_path / "own.json").write_text(json.dumps(named))
    [line] = gained(task, read_words(tmp_path / "own.json")).to_dict("records")
    assert line["gained"] and (line["low"], line["high"]) == pytest.approx((earlier["low"], earlier["high"]), abs=1e-6)
    for bad in ("none.json", "old.json"):  # none, and one without the effects by text
        (tmp_path / "old.json").write_text(json.dumps({"words": 1, "rows": [{"word": "a", "class": "b", "effect": 1}]}))
        with pytest.raises(InputError, match="no file of words"):
            read_words(tmp_path / bad)
    with pytest.raises(InputError, match="the class 'hot'"):
        gained(task, [earlier | {"class": "hot"}])
    with pytest.raises(InputError, match="no word of the file stands in two of its texts"):
        gained(task, [earlier | {"by": dict([*earlier["by"].items()][:1])}])


def test_a_gain_is_of_the_same_texts(task, words, tmp_path, monkeypatch):
    """Paired: the interval of the differences, at 95 % for all words of the file; an analytic case, chance, a shift."""
    run = cache(lambda sample: effects_of(task, *given[sample]))
    given: dict[str, Any] = {}  # what each plan is of: a text is run once

    def once(_: bl.Task, *asked: Any) -> Any:
        given.setdefault(str(asked[1].sample), asked)
        return run(str(asked[1].sample))

    monkeypatch.setattr(words_file, "effects_of", once)
    rows = read_words(words.save(tmp_path / "words.json", 400))
    rows = [row for row in rows if row["effect"] > 0 and row["kind"] == "word"]
    assert len(rows) > 3
    random = np.random.default_rng(0)

    def before(row: dict[str, Any], noise: float, less: float = 0.0) -> dict[str, Any]:
        return row | {"by": {key: value - less + random.normal(0, noise) for key, value in row["by"].items()}}

    own = [before(row, 0.02, 0.6 * row["effect"]) for row in rows]
    for row, line, new in zip(rows, gained(task, own).to_dict("records"), own, strict=True):
        differences = np.array([row["by"][key] - new["by"][key] for key in row["by"]])
        spread, level = st.sem(differences), 1 - 0.05 / len(rows)
        ends = st.t.interval(level, len(differences) - 1, differences.mean(), spread)
        assert (line["change"], line["low"], line["high"]) == pytest.approx((differences.mean(), *ends), abs=1e-5)
        assert line["before"] == pytest.approx(np.mean([*new["by"].values()])) and line["texts"] == len(differences)
        assert line["gained"] == (ends[0] > 0)
    turned = [before(row, 1e-4, 0.9 * row["effect"]) for row in rows]  # was weak, or is weaker and the other way
    turned += [row | {"by": {key: -10 * value for key, value in row["by"].items()}} for row in rows]
    assert gained(task, turned)["gained"].tolist() == [True] * len(rows) + [False] * len(rows)
    chance = sum(gained(task, [before(row, 0.3) for row in rows])["gained"].any() for _ in range(60))
    assert chance <= 6  # of 60 without a change; 1.5 are to be expected
    large = max(rows, key=lambda row: np.std([*row["by"].values()]))
    lines = gained(task, [before(row, 0.01, 0.1 * (row is large)) for row in rows])
    assert lines[lines["gained"]]["word"].tolist() == [large["word"]]
    assert np.std([*large["by"].values()]) > 0.1  # of which the mean alone would tell nothing


def odds(lens: bl.Lens, text: str) -> float:
    with torch.no_grad():
        cold, warm = lens.model(**lens.tokenizer(text, return_tensors="pt")).logits[0].double().tolist()
    return warm - cold


def test_two_models_by_their_words(task, words):
    """Effects of either, on the same texts, paired."""
    other = lens_of(2)
    both = task.words(against=other).changes
    alone = bl.task(other, labelled(40, seed=1), progress=False).words().table.set_index(["class", "kind", "word"])
    own = words.table.set_index(["class", "kind", "word"])
    assert len(both) == len(own)
    for row in both.itertuples():
        key = row._1, row.kind, row.word
        assert (row.now, row.before) == pytest.approx((own.loc[key, "effect"], alone.loc[key, "effect"]), abs=1e-5)
        assert row.change == pytest.approx(row.now - row.before, abs=1e-9) and row.low <= row.change <= row.high
    assert [*both["change"].abs()] == sorted(both["change"].abs(), reverse=True)
    line = both[both["word"] == "cat"].query("kind == 'word' and `class` == 'warm'").iloc[0]
    texts = [text for text, _ in labelled(40, seed=1) if "cat" in text.split()]
    first, second = (
        np.array([odds(lens, text) - odds(lens, text.replace("cat", "[MASK]")) for text in texts])
        for lens in (task.lens, other)
    )
    assert line["p"] == pytest.approx(st.ttest_rel(first, second).pvalue, abs=1e-4)
    with pytest.raises(ModelError, match="has the classes"):
        task.words(against=lens_of(0, 3))
