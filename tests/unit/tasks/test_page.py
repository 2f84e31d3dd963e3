"""The page of a task says what the task says, holds no markup of its texts, and the command writes it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape, unescape
from html.parser import HTMLParser
from typing import Any

import pytest
import torch
from tqdm import tqdm

import bertlens as bl
from bertlens.cli import main
from bertlens.errors import InputError
from bertlens.export import html
from bertlens.tasks import labelled_task, task_page
from bertlens.tasks.task_page import page_of
from bertlens.whatif.strongest_heads import strongest_heads
from bertlens.widgets.questions import Question
from unit.asking import answered_once
from unit.tasks.classifier import labelled, lens_of

HOSTILE = "<script>alert(1)</script> & <img src=x> \u202e the cat"


class Tables(HTMLParser):
    """The texts of the cells of each table, row by row; every tag that was seen; ids and where links lead."""

    def __init__(self, page: str):
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self._open = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name == "href"]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._open = True

    def handle_endtag(self, tag):
        self._open &= tag not in ("td", "th")

    def handle_data(self, data):
        if self._open:
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def task() -> bl.Task:
    return bl.task(
        lens_of(4, 3),
        [*labelled(80, 3), (HOSTILE, 2), ("the cat sat on it", 0), ("The cat sat, on it", 1)],
        progress=False,
    )


@pytest.fixture(scope="module")
def heads(task: bl.Task) -> bl.tasks.Heads:
    return task.heads(3)


@pytest.fixture
def once() -> Iterator[None]:
    with answered_once():
        yield


def test_the_tables_are_those_of_the_task(task, heads):
    errors = task.errors(5)
    found = Tables(page_of(task, heads, errors))
    cells = sum(name.startswith("cell-") for name in found.ids)
    slices, wrong, twins, whole, each, counts = found.tables[:6]
    scores = task.metrics().set_index(["measure", "label"])
    for name, value, interval, n, _ in whole[1:]:
        one = scores.loc[(name, "")]
        assert float(value.replace("−", "-")) == pytest.approx(one["value"], abs=5e-4) and int(n) == one["n"]
        assert (
            interval == "–" if one["low"] != one["low"] else interval.startswith(f"{one['low']:.3f}".replace("-", "−"))
        )
    for name, n, *values in each[1:]:
        assert int(n) == scores.loc[("recall", name), "n"]
        shown = [values[0], values[2], values[4]]
        expected = [scores.loc[(measure, name), "value"] for measure in ("precision", "recall", "F1")]
        assert shown == ["–" if x != x else f"{x:.3f}" for x in expected]
    assert [[int(x) for x in row[1:]] for row in counts[1:]] == task.confusion().to_numpy().tolist()
    assert {link.removeprefix("#") for link in found.links} == set(found.ids) - {"tables"}
    parts, _, examples = found.tables[6 + cells :]
    run = heads.table[heads.table["effect"].notna()]
    assert [row[0] for row in parts[1:]] == run["part"].tolist()
    assert [row[1] for row in parts[1:]] == [f"{x:.4f}".replace("-", "−") for x in run["effect"]]
    assert [row[1] for row in slices[1:]] == [str(n) for n in errors.slices["n"].head(15)]
    assert [int(row[0]) for row in wrong[1:]] == errors.table["row"].tolist()
    assert [row[5] for row in wrong[1:]] == errors.table["words"].tolist()
    pairs = [f"{a}, {b}" for a, b in errors.duplicates[["row", "twin"]].to_numpy()[:20]]
    assert "81, 82" in pairs and [row[0] for row in twins[1:]] == pairs
    assert [int(row[0]) for row in examples[1:]] == task.table.sort_values("loss", ascending=False)["row"].tolist()


def test_a_text_is_text(task):
    page = page_of(task)
    found = Tables(page)
    assert not {"script", "img", "link", "iframe"} & found.tags and "default-src 'none'" in page
    texts = [row[-1] for row in found.tables[-1]]
    assert any("<script>alert(1)</script> & <img src=x> ⟨U+202E⟩ the cat" in text for text in texts)


def test_a_notebook_shows_a_task_as_a_card_and_runs_nothing_for_it(task, monkeypatch):
    lens = lens_of(3)
    fresh = bl.task(lens, [*labelled(60), (HOSTILE, 1)], progress=False)
    monkeypatch.setattr(type(lens), "run", lambda *_, **__: pytest.fail("a card ran the model"))
    before = fresh._repr_html_()
    assert "61 examples" in before and "Not run yet" in before and "<table" not in before
    monkeypatch.undo()
    _ = fresh.losses
    shown = fresh._repr_html_()
    scores, counts = Tables(shown).tables
    expected = fresh.metrics()
    expected = expected[expected["label"] == ""]
    assert [row[0] for row in scores[1:]] == expected["measure"].tolist()
    assert [row[1] for row in scores[1:]] == [f"{x:.3f}".replace("-", "−") for x in expected["value"]]
    assert [[int(x) for x in row[1:]] for row in counts[1:]] == fresh.confusion().to_numpy().tolist()
    assert f"{int(fresh.wrong.sum())} {'is' if fresh.wrong.sum() == 1 else 'are'} wrong" in shown
    assert Tables(shown).tags <= {"div", "p", "b", "small", "code", "table", "thead", "tbody", "tr", "th", "td"}
    with torch.no_grad():
        next(lens.model.parameters()).add_(1)
    assert fresh._repr_html_() == f"<p>{escape(repr(fresh))}</p>"


def of_two(*given: Any) -> str:
    """The page for which ten texts were wanted, of two: that of ten is tested below."""
    *others, texts, words = given
    assert texts == 10
    return page_of(*others, 2, words)


def of_heads(question: Question, *asked: Any, of: Callable[..., Any] = Question.reply, **named: Any) -> Any:
    """The answer of a head; no other one is compared."""
    return of(question, *asked, **named) if question.name in ("head", "matters") else ({}, [])


def test_the_heads_of_ten_texts_are_there_once_opened(task, heads, once, monkeypatch):
    page = page_of(task, heads, live=10)
    above, _, below = page.partition('<main id="bertlens">')
    assert "How good is " in above and "<table" not in above and "<table" in below  # the view first, tables below it
    held = dict(re.findall(r'<script type="application/json" id="([^"]*)">(.*?)</script>', page))
    data = json.loads(held["bertlens-data"])
    run = heads.table[(heads.table["head"] >= 0) & heads.table["effect"].notna()]
    findings = run[run["finding"]]
    first = findings.loc[findings["effect"].abs().idxmax()]
    at = data["state"]["layer"], data["state"]["head"]
    assert at == (first["layer"], first["head"])
    rows = task.table.sort_values("loss", ascending=False, kind="stable")["row"].head(10).tolist()
    shown_by = [one["shown_by"] for one in (data, *data["others"])]
    assert shown_by == [html.question_name({"op": "task_open", "row": row}) for row in rows]
    for row, known in zip(rows[1:], data["others"], strict=True):
        view = task.lens.trace(*task.examples.texts[row]).explore(layer=at[0], head=at[1])
        own = view.overview["header"]
        assert (known["trace"], known["text"]) == (own["trace"], task.examples.texts[row][0])
        with monkeypatch.context() as patch:
            patch.setattr(Question, "reply", of_heads)
            answers = list(view.page().answers)
        for question, (fields, _) in answers:
            name = escape(f"{known['trace']} {html.question_name(question)}")
            if question["op"] == "head" or (name in held and question["op"] == "matters"):
                assert json.loads(held[name])["header"] == fields
    chance = replace(heads, table=heads.table.assign(finding=False))
    said = f"; of the {len(run)} that were run none has an effect that can be told from chance."
    state = json.loads(re.search(r'id="bertlens-data">(.*?)</script>', page_of(task, chance, live=1))[1])["state"]
    assert said in unescape(page_of(task, chance, live=1))
    worst = task.lens.trace(*task.examples.texts[rows[0]])
    assert (state["layer"], state["head"]) == strongest_heads(worst).heads[0][:2]
    largest = run.loc[run["effect"].abs().idxmax()]
    for sign, does in ((1, "loses"), (-1, "wins")):
        effects = heads.table["effect"].where(heads.table["part"] != largest["part"], sign * abs(largest["effect"]))
        told = replace(heads, table=heads.table.assign(effect=effects, finding=heads.table["head"] >= 0))
        said = f"opened at {largest['part']}: without it the task {does} most, of the {len(run)} that were run."
        page_told = unescape(page_of(task, told, live=1))
        state = json.loads(re.search(r'id="bertlens-data">(.*?)</script>', page_told)[1])["state"]
        assert said in page_told and (state["layer"], state["head"]) == (largest["layer"], largest["head"])
    assert len(re.findall("script-src", page)) == 1 and len(page) < 12_000_000 and "bertlens-data" not in page_of(task)
    few = json.loads(re.search(r'id="bertlens-data">(.*?)</script>', page_of(task, live=3))[1])
    assert len(few["others"]) == 2


def test_the_bar_says_which_text_it_is_at_and_ends_full(task, once, monkeypatch):
    bars: list[tqdm] = []
    titles: list[str] = []

    class Shown(tqdm):
        def set_description(self, desc: str | None = None, refresh: bool | None = True) -> None:
            titles.append(f"{desc}")
            super().set_description(desc, refresh)

    def bar(shown: bool) -> tqdm:
        assert shown is task.progress
        bars.append(Shown(desc="page", file=io.StringIO()))
        return bars[-1]

    monkeypatch.setattr(task_page, "page_bar", bar)
    page_of(task, live=3)
    assert titles == ["page, text 2 of 3", "page, text 3 of 3"]
    assert [bar.n == bar.total > 0 for bar in bars] == [True]


def test_a_page_of_larger_runs_holds_of_each_the_layer_that_is_opened(task, once, monkeypatch):
    monkeypatch.setattr(html, "BESIDE", 1)
    own = task.explore(layer=1, head=2).page()
    first = next(iter(own.others))
    assert (own.layers, own.holds) == ([0, 1, 2], "all layers")
    assert (first.layers, first.holds) == ([1], "layers 1")
    assert len(json.loads(re.search(r'id="bertlens-data">(.*?)</script>', html.to_html(own))[1])["others"]) == 0
    with pytest.raises(InputError, match="live is how many"):
        task.to_html("task.html", live=-1)


def interrupt(*_: object) -> str:
    raise KeyboardInterrupt


def test_the_command_writes_the_page(tmp_path, capsys, monkeypatch):
    lens = lens_of()
    lens.model.save_pretrained(tmp_path / "model")
    lens.tokenizer.save_pretrained(tmp_path / "model")
    rows = "\n".join(f"{text};{'warm' if label else 'cold'}" for text, label in labelled(40))
    (tmp_path / "a.csv").write_text(f"words;class\n{rows}\n", encoding="utf-8-sig")
    output = tmp_path / "task.html"
    command = ["task", str(tmp_path / "model"), str(tmp_path / "a.csv"), "--text", "words", "-o", str(output)]
    monkeypatch.setattr(labelled_task, "page_of", of_two)
    assert main([*command, "--label", "class", "--heads", "2", "--errors", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-2] == "writing the page, with the heads of ten examples in it"
    assert said[-1].startswith(f"{output}: ") and "40 examples, accuracy " in said[-1]
    found = Tables(output.read_text(encoding="utf-8"))
    assert [row[0] for row in found.tables[3][1:]] == [  # below slices, errors, twins
        "accuracy",
        "macro-F1",
        "Matthews",
        "log loss",
        "calibration error",
    ]
    page = output.read_bytes()
    with monkeypatch.context() as patch:  # Ctrl-C while the page is written
        patch.setattr(labelled_task, "page_of", interrupt)
        assert main([*command, "--label", "class", "--heads", "0", "--errors", "0"]) == 2
    assert "stopped: the same command goes on" in capsys.readouterr().err and output.read_bytes() == page
    assert not [*tmp_path.glob("*.part")]
    assert main(command) == 2
    assert "no column 'label' in a.csv: there are 'words', 'class'" in capsys.readouterr().err
    for bad, why in (
        (["-o", "a.txt"], ".html"),
        (["--heads", "-1"], "from 0"),
        (["--ablation", "x"], "invalid choice"),
    ):
        try:
            status = main([*command, *bad])
        except SystemExit as end:  # argparse's own
            status = end.code
        assert status == 2 and why in capsys.readouterr().err


def test_a_report_with_labels_has_the_card_of_the_task(tmp_path, capsys):
    lens, examples = lens_of(), labelled(40)
    lens.model.save_pretrained(tmp_path / "model")
    lens.tokenizer.save_pretrained(tmp_path / "model")
    rows = "\n".join(f"{text},{label}" for text, label in examples)
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}\n")
    (tmp_path / "texts.txt").write_text("\n".join(text for text, _ in examples))
    command = ["report", str(tmp_path / "model"), str(tmp_path / "texts.txt"), "--texts", "2", "--claims", "sinks"]
    command += ["-o", str(tmp_path / "report.html"), "--labels"]
    assert main([*command, str(tmp_path / "a.csv")]) == 0
    page = re.search(r'(?s)<article class="wide" id="task">.*?</article>', (tmp_path / "report.html").read_text())[0]
    task = bl.task(lens, examples, progress=False)
    score = task.metrics().iloc[0]
    assert "40 labelled examples of a.csv" in page
    assert f"<dt>accuracy</dt><dd>{score['value']:.3f}, too few for an interval: 40 of 50</dd>" in page
    text = unescape(re.sub(r"<[^>]*>", " ", page))
    assert task.errors(1, words=False).said in text and task.heads(4).said.split(". ")[0] in text
    (tmp_path / "b.csv").write_text("text,label\nthe cat,hot\n")
    capsys.readouterr()
    assert main([*command, str(tmp_path / "b.csv")]) == 2
    assert "row 0 (line 2 of b.csv), column 'label': no label 'hot'" in capsys.readouterr().err
