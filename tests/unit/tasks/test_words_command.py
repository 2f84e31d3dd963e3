"""The words of a task by the command: what it writes, checks and compares, in parts and after Ctrl-C."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import bertlens as bl
from bertlens.cli import main
from bertlens.tasks import labelled_task
from bertlens.tasks import task_shards as shards
from unit.tasks.classifier import NAMES, labelled, lens_of
from unit.tasks.test_resume_folder import counted

TEXTS = 24


@pytest.mark.parametrize("runs", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_what_was_run_is_kept(tmp_path, monkeypatch, runs):
    """After Ctrl-C the same call goes on, and a later task runs nothing; the model stays as it was."""
    lens = lens_of()
    before = {name: value.clone() for name, value in lens.model.state_dict().items()}

    def task() -> bl.Task:
        return bl.task(lens, labelled(TEXTS), batch_size=4, progress=False, keep=tmp_path / "kept")

    from bertlens.tasks.words import hidden_runs

    run, calls = hidden_runs.answers_of, []

    def stopped(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return run(*given)

    monkeypatch.setattr(hidden_runs, "answers_of", stopped)
    with pytest.raises(KeyboardInterrupt):
        task().words(n=2, runs=runs)
    expected = bl.task(lens, labelled(TEXTS), batch_size=4, progress=False).words(n=2, runs=runs)
    whole = len(calls) - 4
    calls[:] = [0] * 10
    words = task().words(n=2, runs=runs)
    assert len(calls) == 10 + whole - 3
    pd.testing.assert_frame_equal(words.table, expected.table, check_exact=True)
    calls[:] = [0] * 10
    monkeypatch.setattr(hidden_runs, "word_gradients", None)
    pd.testing.assert_frame_equal(task().words(n=2, runs=runs).table, expected.table, check_exact=True)
    assert len(calls) == 10
    assert all(torch.equal(value, before[name]) for name, value in lens.model.state_dict().items())


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """On labelled texts; its page without the live view, which has tests of its own."""
    monkeypatch.chdir(tmp_path)
    page = labelled_task.page_of
    monkeypatch.setattr(
        labelled_task, "page_of", lambda task, heads, errors, live, words: page(task, heads, errors, 0, words)
    )
    lens = lens_of()
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda _: lens)
    rows = [f"{text},{NAMES[label]}" for text, label in labelled(TEXTS)]
    Path("a.csv").write_text("\n".join(["text,label", *rows]))
    plain = ["--heads", "0", "--errors", "0", "--batch-size", "4"]
    return lambda *options: main(["task", "m", "a.csv", *plain, *options])


def test_the_command_writes_checks_and_mines(command, capsys, monkeypatch):
    monkeypatch.setattr(labelled_task, "page_of", lambda *given: f"<p>{given[4].said}</p>\n")
    assert command("-o", "page.html", "--words", "4", "--counter-examples", "more.csv") == 0
    words = bl.task(lens_of(), labelled(TEXTS), batch_size=4, progress=False).words(4)
    printed = capsys.readouterr().out
    assert words.said in printed and words.said in Path("page.html").read_text(encoding="utf-8")
    assert "page-words.json: the first 4 words" in printed
    suspects = words.suspects.query("kind == 'word'")
    assert Path("more.csv").exists() == bool(len(suspects)) and ("no word is a suspect" in printed) != bool(
        len(suspects)
    )
    assert command("-o", "next.html", "--words", "4", "--check", "page-words.json") == 0
    assert "none of 4 words has gained, by the same texts" in capsys.readouterr().out
    about = json.loads(Path("page-words.json").read_text())
    for row in about["rows"]:
        row["by"] = {key: value / 10 for key, value in row["by"].items()}
    Path("old.json").write_text(json.dumps(about))
    assert command("-o", "page.html", "--words", "4", "--check", "old.json", "--force") == 1
    assert re.search(r"[1-4] of 4 words (has|have) gained: “", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--counter-examples b.csv", "give --words 30"),
        ("--words -1", "numbers from 0"),
        ("--words 2 --counter-examples b.txt", "neither"),
        ("--words 2 --check a.csv", "holds no numbers of a task"),
        ("--words 2 --check none.json", "none.json"),
        ("--words 2 --check old.json", "no file of words"),
        ("--words 2 --stage estimate --check words.json", "--check is of the whole task: leave --stage out"),
        ("--against n", "--against is of words, of the whole task: give --words 30, and no --stage"),
        ("--words 2 --against n --stage estimate", "--against is of words, of the whole task"),
    ],
)
def test_the_command_refuses_before_a_model_is_loaded(command, capsys, monkeypatch, options, error):
    Path("words.json").write_text('{"words": 1, "rows": [{"word": "cat", "class": "warm"}]}')
    Path("old.json").write_text('{"words": 1, "rows": [{"word": "cat", "class": "warm", "effect": 1.0}]}')
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", None)
    output = "other.npz" if "--stage" in options else "other.html"
    assert command("-o", output, *options.split()) == 2 and error in capsys.readouterr().err
    assert {path.name for path in Path().iterdir()} == {"a.csv", "old.json", "words.json"}


def test_of_numbers_the_command_checks_words_alone(command, capsys, monkeypatch):
    """There is no right and wrong, but a word may move the number further than it did."""
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lambda _: lens_of(classes=1))
    Path("a.csv").write_text(
        "\n".join(["text,label", *(f"{text},{n % 5}.5" for n, (text, _) in enumerate(labelled(16)))])
    )
    assert command("-o", "page.html", "--words", "2") == 0
    assert command("-o", "next.html", "--words", "2", "--check", "page-words.json") == 0
    assert "none of 2 words has gained" in capsys.readouterr().out
    Path("right.json").write_text('{"bertlens_task": 1, "right": [1, 0]}')
    assert command("-o", "next.html", "--check", "right.json", "--force") == 2
    assert "a task of numbers has no right and wrong, which --check compares: leave it out" in capsys.readouterr().err


def test_the_command_has_the_words_of_two_models(command, capsys, monkeypatch):
    """The sentence and the page's column are those of `against`."""
    lenses = {"m": lens_of(), "n": lens_of()}
    lenses["n"].model.classifier.weight.data *= 20  # words move it as much further
    lenses["n"] = bl.Lens(lenses["n"].model, lenses["n"].tokenizer)
    monkeypatch.setattr("bertlens.cli.command_line.load_lens", lenses.__getitem__)
    assert command("-o", "page.html", "--words", "4", "--against", "n") == 0
    words = bl.task(lenses["m"], labelled(TEXTS), batch_size=4, progress=False).words(4, against=lenses["n"])
    assert words.said in capsys.readouterr().out and "Beside “BertForSequenceClassification” " in words.said
    found = words.changes[words.changes["finding"]].drop_duplicates(["kind", "word", "of"])
    best = found.iloc[0]
    moves = f"“{best['word']}” moves {best['class']} by {best['now']:+.2f}, {best['before']:+.2f} there"
    assert len(found) and f" {len(found)} part" in words.said and moves.replace("-", "−") in words.said
    page = Path("page.html").read_text(encoding="utf-8")
    place = page.index("<th", page.index("Words it goes by"))
    head, body = page[place:].split("</thead>")[:2]
    names = [cell.split(">")[1].split("<")[0] for cell in head.split("<th ")[1:]]
    cells = [cell.split(">")[1].split("<")[0] for cell in body.split("<tr")[1].split("<td")[1:]]
    shown = words.table[words.table["effect"] > 0].sort_values("suspect", ascending=False, kind="stable").iloc[0]
    keys = ["class", "kind", "word", "of"]
    before = words.changes.set_index(keys)["before"][tuple(shown[keys])]
    cells = cells[: len(names)]
    assert cells[names.index("before")] == f"{before:.2f}".replace("-", "−")


@pytest.mark.parametrize("runs", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_shards_are_one_process(command, monkeypatch, runs, capsys):
    monkeypatch.setattr("bertlens.tasks.task_shards.RUNS", runs)
    for stage, parts in (("estimate", []), ("exact", ["--parts", "estimate.npz"])):
        names = [f"{stage}-{number}.npz" for number in (1, 2)]
        for number, name in enumerate(names, 1):
            assert command("--words", "2", "--stage", stage, "--shard", f"{number}/2", "-o", name, *parts) == 0
        assert main(["merge", *names, "-o", f"{stage}.npz"]) == 0
    merged = bl.task(lens_of(), labelled(TEXTS), batch_size=4, progress=False)
    settings = {"heads": 0, "words": 2, "seed": 0, "ablation": "zero"}
    shards.read(merged, [Path("estimate.npz"), Path("exact.npz")], settings)
    expected = bl.task(lens_of(), labelled(TEXTS), batch_size=4, progress=False).words(2, runs=runs)
    calls = counted(monkeypatch)
    words = merged.words(2, runs=runs)
    assert len(calls) == 0
    pd.testing.assert_frame_equal(words.table, expected.table, check_exact=True)
    assert words.said == expected.said
