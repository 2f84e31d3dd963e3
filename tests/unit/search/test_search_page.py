"""The page of a retrieval says what its tables say, holds no markup of its texts, and the command writes and checks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens.cli import command_line as cli
from bertlens.errors import ModelError
from bertlens.search import metrics, paired, retrieval_command, search_page, slices
from bertlens.search.bm25 import bm25
from bertlens.search.collection import Collection
from bertlens.search.edit_probe import EditProbe
from bertlens.search.failures import failure_kinds, failure_table, failures_said
from bertlens.search.hard_negatives import HardNegatives, hard_negatives
from bertlens.search.hubs import hubs, hubs_said
from bertlens.search.ranked_lists import RankedLists
from bertlens.search.ranking_heads import RankingHeads
from unit import tiny
from unit.tasks.test_page import HOSTILE, Tables

WORDS = [f"w{at}" for at in range(60)]
HUB = "p0"


def named() -> bl.Lens:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    lens.borrowed.name = "tiny <b>"
    return lens


@dataclass(frozen=True, eq=False)
class Search:
    """A retrieval as the page and the command use it, whose lists are BM25's with a hub in them."""

    collection: Collection
    lists: RankedLists
    lens = named()
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def _table(self, name: str, table: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        if name not in self.tables:
            self.tables[name] = table()
        return self.tables[name]

    @property
    def bm25_lists(self) -> RankedLists:
        return bm25(self.collection)

    @property
    def by_question(self) -> pd.DataFrame:
        return self._table("questions", lambda: metrics.by_question(self.lists, self.collection))

    def metrics(self) -> pd.DataFrame:
        beside = self._table("BM25", lambda: metrics.by_question(self.bm25_lists, self.collection))
        return self._table("metrics", lambda: metrics.table(self.by_question, beside))

    def slices(self) -> pd.DataFrame:
        return self._table("slices", lambda: slices.slices(self.by_question, self.collection))

    def failures(self) -> pd.DataFrame:
        return self._table("failures", lambda: failure_table(self.collection, self.lists, None, None))

    def hubs(self) -> pd.DataFrame:
        return self._table("hubs", lambda: hubs(self.collection, self.lists, draws=0))

    def contrast(self, query: str, wrong: str, right: str) -> Any:
        if query == "q3":
            raise ModelError("this model has no sum over words")
        return SimpleNamespace(said=f"“a” of <i>{query}</i> prefers {wrong} to {right}.")

    def hard_negatives(self, n: int) -> HardNegatives:
        return hard_negatives(self.collection, self.lists, n)

    def probe(self) -> EditProbe:
        table = pd.DataFrame(
            {
                "kind": ["not", "name"], "n": [40, 3], "less": [30, 0], "share": [0.75, np.nan], "low": [0.588, np.nan],
                "high": [0.873, np.nan], "moved": [0.01, np.nan], "filler": [0.03, np.nan], "p": [0.001, np.nan],
                "p_holm": [0.0011, np.nan], "finding": [True, False], "rule": ["<b>Rule", "-"],
            }
        )  # fmt: skip
        return EditProbe(table, pd.DataFrame())

    def heads(self) -> RankingHeads:
        rows = [("L1·H2", -0.1, -0.2, -0.05, 0.002, 0.3, 0.4, 0.9, True), ("L0·H0", *[np.nan] * 7, False)]
        names = ["head", "ndcg", "ndcg_low", "ndcg_high", "ndcg_p", "gap", "beside", "gap_p", "finding"]
        return RankingHeads(pd.DataFrame(rows, columns=names), 40, 9, 4, 50, True)

    def save(self, path: Path) -> Path:
        return paired.to_json(path, self.by_question, self.collection, self.lens.model_name)

    def against(self, before: Path) -> pd.DataFrame:
        return paired.against(paired.from_json(before, self.collection), self.by_question)


@cache
def searched(judged: bool = True, worse: bool = False) -> Search:
    """80 questions of 3 words, 140 passages; HUB is first for every third question. worse: for all but a few."""
    dice = random.Random(0)
    ids = tuple(f"p{at}" for at in range(140))
    passages = [" ".join(dice.choices(WORDS, k=12)) for _ in ids]
    passages[0] = HOSTILE
    names = tuple(f"q{at}" for at in range(80))
    queries = [" ".join(dice.sample(passages[at + 1].split(), 3)) for at in range(80)]
    queries[0] += f" {HOSTILE}"
    grades = {name: {f"p{at + 1}": 1 + at % 2} for at, name in enumerate(names)} if judged else {}
    collection = Collection(names, tuple(queries), ids, tuple(passages), ids, grades, ("A note & <b>.",))
    lists = bm25(collection)
    for at in range(80):
        if at % 3 == 0 or (worse and at % 20):
            row = lists.rows[at]
            row[:] = [0, *[passage for passage in row.tolist() if passage != 0][: len(row) - 1]]
            lists.scores[at] = np.where(row < 0, np.nan, 9.0 - np.arange(len(row)) / 10)
    return Search(collection, lists)


def number(value: float, digits: int = 3) -> str:
    return "–" if value != value else f"{value:.{digits}f}".replace("-", "−")


def test_the_tables_are_those_of_the_retrieval() -> None:
    search = searched()
    text = search_page.page(search)
    means, kinds, failures, hub_rows, parts = Tables(text).tables
    expected = search.metrics()
    assert [row[0] for row in means[1:]] == expected["measure"].tolist()
    for row, (_, r) in zip(means[1:], expected.iterrows(), strict=True):
        assert [row[1], row[3], row[4]] == [number(r[name]) for name in ("mean", "bm25", "difference")]
        assert row[2] == f"{number(r['low'])} to {number(r['high'])}" and row[6] == "80"
        assert row[5] == f"{number(r['difference_low'])} to {number(r['difference_high'])}"
        assert row[7] == metrics.MEASURES[r["measure"]][1]
    table = search.failures()
    counts = failure_kinds(table)
    assert [row[0] for row in kinds[1:]] == [kind.replace("_", " ") for kind in counts["kind"]]
    assert [row[1] for row in kinds[1:]] == [str(n) for n in counts["n"]]
    assert [row[4] for row in kinds[1:]] == [number(chance) for chance in counts["chance"]]
    assert [row[7] for row in kinds[1:]] == counts["rule"].tolist()
    widest = table.sort_values("gap", ascending=False, kind="stable", na_position="first")
    reasons = [row[0] for row in failures if len(row) == 1]
    failures = [row for row in failures if len(row) > 1]
    assert len(table) >= 26 and [row[4] for row in failures[1:]] == [number(gap) for gap in widest["gap"]]
    for reason, (_, r) in zip(
        reasons, widest[widest["gap"].notna()].head(search_page.CONTRASTS).iterrows(), strict=True
    ):
        expected_reason = f"“a” of <i>{r['query']}</i> prefers {r['wrong']} to {r['right']}."
        assert reason == ("this model has no sum over words." if r["query"] == "q3" else expected_reason)
    for row, (_, r) in zip(failures[1:], widest.iterrows(), strict=True):
        assert [cell.split()[0] for cell in row[:3]] == [r["query"], r["wrong"], r["right"]]
        assert row[3] == number(r["rank_right"], 0) and row[5] == r["kind"].replace("_", " ")
    found = search.hubs()
    found = found[found["hub"]]
    assert [row[0].split()[0] for row in hub_rows[1:]] == found["passage"].tolist() and HUB in [*found["passage"]]
    assert [row[1] for row in hub_rows[1:]] == [str(n) for n in found["times"]]
    of = search.slices()
    assert [row[0] for row in parts[1:]] == [f"{r.kind}: {r.slice}" for r in of.itertuples()]
    assert [row[2] for row in parts[1:]] == [number(mean) for mean in of["mean"]]
    assert [row[5] for row in parts[1:]] == [number(difference) for difference in of["difference"]]
    for sentence in (metrics.sentence(expected), failures_said(table), hubs_said(search.hubs()), slices.sentence(of)):
        assert sentence in text.replace("&quot;", '"').replace("&#x27;", "'")
    assert text.count('class="finding"') == int(counts["finding"].sum() + of["finding"].sum())


def test_a_probe_and_heads_stand_on_the_page_where_they_are_given() -> None:
    search = searched()
    bare = search_page.page(search)
    text = search_page.page(search, search.probe(), search.heads())
    kinds, heads = Tables(text).tables[len(Tables(bare).tables) :]
    assert kinds[1:] == [["not", "40", "30", "0.750", "0.588 to 0.873", "0.010", "0.030", "0.001", "<b>Rule"]]
    assert heads[1:] == [["L1·H2", "−0.100", "−0.200 to −0.050", "0.002", "0.300", "0.400", "0.900"]]
    for sentence in (search.probe().said, search.heads().said):
        assert sentence in text and sentence not in bare
    assert search.heads().said.startswith(
        "Without L1·H2 nDCG@10 falls by 0.100 (0.050 to 0.200). 1 of 2 heads, each switched off, on 40 questions"
    )


def test_texts_are_text() -> None:
    text = search_page.page(searched())
    tables = Tables(text)
    assert not {"script", "img", "b", "link", "iframe"} & tables.tags and "default-src 'none'" in text
    cells = [cell for table in tables.tables for row in table for cell in row]
    assert any("<script>alert(1)</script> & <img src=x> ⟨U+202E⟩ the cat" in cell for cell in cells)
    assert "tiny &lt;b&gt;: how good at search?" in text and "A note &amp; &lt;b&gt;." in text


def test_without_judgements_there_are_hubs_alone() -> None:
    search = searched(judged=False)
    text = search_page.page(search)
    assert len(Tables(text).tables) == 1 and hubs_said(search.hubs()) in text
    assert "No question has a relevant document, so nothing tells how good it is." in text


def test_the_largest_gaps_stand_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_page, "FAILURES", 5)
    search = searched()
    text = search_page.page(search)
    assert len([row for row in Tables(text).tables[2] if len(row) > 1]) == 6
    assert f"The largest gaps stand first: 5 of {len(search.failures())}, and below some of them what" in text


def test_the_first_sentence_says_whether_bm25_is_worse() -> None:
    rows = [[1.0, 1.0, 0.6]] * 30 + [[0.0, 0.05, 0.2]] * 10
    questions = pd.DataFrame(rows, columns=["nDCG@10", "MRR@100", "recall@10"])
    first = (
        "For 30 of 40 questions a relevant document is first, for 10 none is among the first ten; nDCG@10 is 0.750 ("
    )
    assert metrics.sentence(metrics.table(questions)).startswith(first)
    same = metrics.sentence(metrics.table(questions, questions))
    assert same.endswith("), which cannot be told from the 0.750 of BM25.")
    lower = questions.assign(**{"nDCG@10": questions["nDCG@10"] / 2})
    table = metrics.table(questions, lower).iloc[0]
    ends = f"({table['difference_low']:.3f} to {table['difference_high']:.3f})"
    assert metrics.sentence(metrics.table(questions, lower)).endswith(f"), 0.375 {ends} more than the 0.375 of BM25.")
    assert metrics.sentence(metrics.table(lower, questions)).endswith(f"), 0.375 {ends} less than the 0.750 of BM25.")
    one = metrics.sentence(metrics.table(questions.iloc[:1]))
    assert one == (
        "For 1 of 1 question a relevant document is first, for 0 none is among the first ten; nDCG@10 is 1.000."
    )


# --- the command ---


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cli, "load_lens", lambda model: SimpleNamespace(model_name=model))
    monkeypatch.setattr(retrieval_command, "retrieval", lambda *_, **__: searched())
    monkeypatch.setattr(retrieval_command, "collection", lambda *_, **__: searched().collection)
    (tmp_path / "corpus").mkdir()
    return tmp_path


def command(folder: Path, output: str, *more: str) -> int:
    return cli.main(["retrieval", str(folder / "corpus"), "--model", "tiny", "-o", str(folder / output), *more])


def test_the_command_writes_the_page_and_its_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # and over its own
        assert command(folder, "page.html") == 0
    said = capsys.readouterr().out
    assert f"page.html: tiny <b>. {metrics.sentence(searched().metrics())}\n" in said
    assert "tiny &lt;b&gt;: how good at search?" in (folder / "page.html").read_text()
    questions = paired.from_json(folder / "page-numbers.json", searched().collection)
    pd.testing.assert_frame_equal(questions, metrics.by_question(searched().lists, searched().collection))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_command_writes_a_row_a_question(folder: Path, kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    for _ in range(2):
        assert command(folder, f"table.{kind}") == 0
    table = getattr(pd, f"read_{kind}")(folder / f"table.{kind}").set_index("query")
    search = searched()
    expected = metrics.by_question(search.lists, search.collection)
    beside = metrics.by_question(bm25(search.collection), search.collection)
    for name in expected:
        assert table[name].tolist() == pytest.approx(expected[name].tolist())
        assert table[f"BM25 {name}"].tolist() == pytest.approx(beside[name].tolist())
    failures = search.failures().set_index("query")
    assert table["question"].tolist() == list(search.collection.queries)
    assert table["kind"].dropna().to_dict() == failures["kind"].to_dict()
    assert table["gap"].dropna().to_dict() == pytest.approx(failures["gap"].dropna().to_dict())


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_the_command_writes_triplets(folder: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    file = folder / f"triplets.{ending}"
    options = ("--hard-negatives", str(file), "--negatives", "2", "--probe", "--heads")
    for _ in range(2):  # and over its own
        assert command(folder, "page.html", *options) == 0
    mined = searched().hard_negatives(2)
    assert f"triplets.{ending}: {mined.said}\n" in capsys.readouterr().out
    table = pd.read_parquet(file) if ending == "parquet" else pd.read_json(file, lines=True, dtype=False)
    assert table.equals(mined.triplets)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "What small edits do" in page and "Which heads the ranking needs" in page
    file.write_text("mine")
    assert command(folder, "page.html", *options) == 2 and file.read_text() == "mine"


def test_a_fall_ends_with_status_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(folder, "old.json") == 0
    old = str(folder / "old.json")
    assert command(folder, "page.html", "--check", old) == 0
    assert "none fell and none rose" in capsys.readouterr().out
    monkeypatch.setattr(retrieval_command, "retrieval", lambda *_, **__: searched(worse=True))
    assert command(folder, "page.html", "--check", old) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"Against {old}: Of 6 measures on 80 questions,") and "fell: nDCG@10 −" in said
    assert command(folder, "worse.json") == 0
    monkeypatch.setattr(retrieval_command, "retrieval", lambda *_, **__: searched())
    assert command(folder, "page.html", "--check", str(folder / "worse.json")) == 0  # it rose
    assert "rose: nDCG@10 +" in capsys.readouterr().out


def test_what_the_command_cannot_do_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(folder, "old.json") == 0
    (folder / "other.json").write_text('{"bertlens_report": 1}')
    (folder / "mine.csv").write_text("a,b\n")
    (folder / "mine.html").write_text("mine")
    calls: list[Any] = []
    monkeypatch.setattr(retrieval_command, "retrieval", lambda *_, **__: calls.append(1))
    for output, more, expected in (
        ("page.txt", (), "a retrieval is written as one of .html, .csv, .parquet, .json: page.txt is none of them"),
        ("page.html", ("--in-order",), "--in-order numbers the questions of a file: name it by --queries"),
        ("page.html", ("--check", "other.json"), "other.json holds no metrics of a retrieval"),
        ("page.html", ("--check", "none.json"), "none.json cannot be opened"),
        ("old.json", ("--check", "old.json"), "old.json is read from: name another to write to"),
        ("mine.csv", (), "mine.csv is there already, and is of no earlier bertlens retrieval"),
        ("mine.html", (), "mine.html is there already, and is of no earlier bertlens retrieval"),
        ("none/page.html", (), "make it first"),
        ("t.csv", ("--heads",), "stand on a page: name a file that ends in .html, not t.csv"),
        ("page.html", ("--hard-negatives", "t.txt"), "triplets are written as one of .parquet, .jsonl, .csv: t.txt"),
        ("new.json", ("--vectors", "new.json"), "new.json is written already: name another file for --vectors"),
        ("page.html", ("--vectors", "page-numbers.json"), "page-numbers.json is written already: name another"),
        ("page.html", ("--hard-negatives", "t.jsonl", "--vectors", "t.jsonl"), "name another file for --vectors"),
        ("page.html", ("--vectors", "old.json", "--check", "old.json"), "old.json is read from: name another to"),
        ("page.html", ("--hard-negatives", "t.jsonl", "--negatives", "0"), "--negatives is how many of a question"),
    ):
        capsys.readouterr()
        paths = [str(folder / word) if word.endswith(".json") else word for word in more]
        assert command(folder, output, *paths) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and expected in said
    assert not calls
    (folder / "other.json").write_text((folder / "old.json").read_text())
    collection = replace(searched().collection, queries=("another", *searched().collection.queries[1:]))
    monkeypatch.setattr(retrieval_command, "retrieval", lambda *_, **__: Search(collection, searched().lists))
    assert command(folder, "page.html", "--check", str(folder / "other.json")) == 2
    assert "is of another collection, its questions are not these" in capsys.readouterr().err
    monkeypatch.setattr(retrieval_command, "retrieval", lambda *_, **__: searched(judged=False))
    assert command(folder, "new.csv") == 2 and not (folder / "new.csv").exists()
    assert "give relevance" in capsys.readouterr().err
    assert command(folder, "new.html") == 0 and not (folder / "new-numbers.json").exists()
    assert "80 questions, none of them judged" in capsys.readouterr().out


def test_questions_are_numbered_in_their_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def record(lens: Any, *sources: Any, **options: Any) -> Search:
        calls.append((sources, options))
        return searched()

    monkeypatch.setattr(retrieval_command, "retrieval", record)
    (folder / "q.txt").write_text(".I 007\n.W\nwhat is it\n.I 9\n.W\nwhere\n")
    assert command(folder, "a.json", "--queries", str(folder / "q.txt"), "--in-order", "--first-stage", "small") == 0
    (questions, corpus, relevance), options = calls[0]
    assert questions == ["what is it", "where"] and corpus == folder / "corpus" and relevance is None
    assert options["first_stage"].model_name == "small" and options["batch_size"] == 32
    assert json.loads((folder / "a.json").read_text())["by"] == "written by bertlens retrieval"
