"""`bertlens look`, a model in the place of a text, and what cannot succeed: said at once, with the line meant."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import bertlens as bl
from bertlens.cli import command_line as cli
from bertlens.cli import model_names, page_commands
from bertlens.reports.claims import CLAIMS
from bertlens.reports.rules import CANNOT, FEWEST_TEXTS, OF_ANY_TEXTS
from unit import tiny
from unit.tasks.classifier import labelled, lens_of


@pytest.fixture
def loaded(monkeypatch):
    """The names of models that were asked for; each is a tiny one."""
    lens, names = bl.Lens(tiny.bert(), tiny.wordpiece()), []
    monkeypatch.setattr(cli, "load_lens", lambda name: names.append(name) or lens)
    return names


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A model and a folder of something else, where the command runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text("{}")
    (tmp_path / "corpus").mkdir()
    return tmp_path


def test_look_writes_what_html_does(folder, loaded, capsys):
    assert cli.main(["look", "bert", "the cat", "sat", "-o", "a.html", "--layers", "1"]) == 0
    assert cli.main(["html", "the cat", "sat", "--model", "bert", "-o", "b.html", "--layers", "1"]) == 0
    a, b = capsys.readouterr().out.splitlines()
    assert loaded == ["bert", "bert"]
    assert a.split(":")[1].rsplit(",", 2)[0] == b.split(":")[1].rsplit(",", 2)[0]  # model and tokens
    one, other = ((folder / name).read_text(encoding="utf-8") for name in ("a.html", "b.html"))
    assert one.replace("bertlens look", "bertlens html") == other
    assert cli.main(["look", "bert", "the cat", "-o", "a.html"]) == 0  # over its own


@pytest.mark.parametrize("is_there", [True, False])
def test_look_opens_the_page_that_nobody_named(folder, loaded, capsys, monkeypatch, is_there):
    opened = []
    monkeypatch.setattr(page_commands.webbrowser, "open", lambda address: opened.append(address) or is_there)
    assert cli.main(["look", "bert", "the cat"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    page = Path(first.split(": ")[0])
    assert opened == [page.as_uri()] and page.is_file() and folder not in page.parents
    assert len(others) == (not is_there)


@pytest.mark.parametrize(
    ("given", "model", "text"),
    [
        (["embedded"], "embedded", "TEXT"),
        (["embedded-mlm", "the cat"], "embedded-mlm", "the cat"),
        (["multilingual"], "multilingual", "TEXT"),
        (["the cat", "embedded"], "embedded", "the cat"),
        (["bert", "the cat"], "bert", "the cat"),
        (["corpus"], "corpus", "TEXT"),
    ],
)
def test_a_model_in_the_place_of_a_text_is_refused_with_the_line_that_was_meant(
    folder, loaded, capsys, given, model, text
):
    assert cli.main(["html", *given, "-o", "a b.html"]) == 2
    said = capsys.readouterr().err
    assert not (folder / "a b.html").exists() and loaded == [] and said.count("\n") == 1
    meant = shlex.split(re.search(r"Meant is: (bertlens look .*?);", said)[1])
    assert meant[1:] == ["look", model, text, "-o", "a b.html"]
    assert cli.main(meant[1:]) == 0 and loaded == [model]  # as the reader would type it
    assert cli.main(["html", *given, "-o", "a b.html", "--model", "bert", "--force"]) == 0  # the word itself


@pytest.mark.parametrize(
    "text", ["the cat", "cat", "a/b", ".", "...", "Is it embedded?", "no\nline", "x" * 5000, "a\0b"]
)
def test_any_other_text_is_a_text(folder, text):
    assert not model_names.is_model(text) and not model_names.is_model_or_folder(text)


def test_a_model_that_was_downloaded_is_one(monkeypatch, tmp_path):
    from huggingface_hub import constants

    cache = tmp_path / "models--some--model"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("abc")
    (cache / "snapshots" / "abc").mkdir(parents=True)
    (cache / "snapshots" / "abc" / "config.json").write_text("{}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert model_names.is_model("some/model") and not model_names.is_model("some/other")


def test_the_model_comes_first(folder, loaded, capsys):
    assert cli.main(["look", "the cat", "bert"]) == 2
    meant = shlex.split(capsys.readouterr().err.split("the model comes first: ")[1])
    assert meant == ["bertlens", "look", "bert", "the cat"] and loaded == []
    assert cli.main([*meant[1:], "-o", "a.html"]) == 0
    assert cli.main(["look", "bert", "corpus", "bert", "-o", "b.html"]) == 0  # words, behind a model


def test_a_model_in_the_place_of_a_corpus(folder, loaded, capsys):
    (folder / "texts.txt").write_text("the cat sat\n")
    for command in ("survey", "retrieval"):
        assert cli.main([command, "bert", "texts.txt", "-o", "a.npz"]) == 2
        meant = shlex.split(capsys.readouterr().err.split("Meant is: ")[1])
        assert meant[1:] == [command, "texts.txt", "--model", "bert", "-o", "a.npz"] and loaded == []
    assert cli.main(["survey", "texts.txt", "--model", "bert", "-o", "a.npz"]) == 0 and loaded == ["bert"]


def test_help_is_in_groups_and_names_each_command_once(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    text = capsys.readouterr().out
    groups = re.split(r"^(look|teach|measure|train|share):$", text, flags=re.M)
    assert groups[1::2] == ["look", "teach", "measure", "train", "share"]
    names = [re.findall(r"^  ([a-z][\w-]*) ", group, re.M) for group in groups[2::2]]
    assert names[0] == ["demo", "look", "html"] and names[4] == ["publish", "skill"]
    commands = cli.parser()._subparsers._group_actions[0].choices  # argparse says it nowhere else
    assert sorted(name for group in names for name in group) == sorted(commands)
    for name in commands:
        with pytest.raises(SystemExit) as stop:
            cli.main([name, "--help"])
        assert not stop.value.code
        assert f"usage: bertlens {name} " in capsys.readouterr().out


# What cannot succeed


def test_few_texts_decide_no_claim_and_the_number_is_named_before_a_model_is_loaded(folder, loaded, capsys):
    (folder / "texts.txt").write_text("the cat sat\n" * 5)
    command = ["report", "bert", "texts.txt", "--claims", "vig-next,kobayashi", "-o", "r.json"]
    assert cli.main([*command, "--texts", "4"]) == 2 and loaded == []
    said = "bertlens: {} texts are too few for any of these claims: at least 8 (--texts 8, or a larger corpus)\n"
    assert capsys.readouterr().err == said.format(4)
    assert cli.main(command) == 2  # of a corpus that has no more
    assert capsys.readouterr().err.endswith(said.format(5)) and not (folder / "r.json").exists()


def test_the_claims_that_few_texts_decide_are_those_that_a_run_decides():
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    texts = ["the cat sat on the mat", "it was warm", "the mat was warm and the cat sat", "a cat"] * 2
    few, enough = texts[: FEWEST_TEXTS // 2], texts
    with pytest.warns(UserWarning, match=f"4 texts are too few for all but 4 of {len(CLAIMS)} claims: at least 8"):
        cards = bl.report(lens, few, progress=False).cards
    decided = {card.claim.name for card in cards if card.verdict != CANNOT}
    refused = {card.claim.name for card in cards if "texts are too few: at least" in card.why}
    assert decided <= {*OF_ANY_TEXTS} and not refused & {*OF_ANY_TEXTS} and len(refused) > 25
    assert {"health-cut", "health-unknown"} <= decided
    more = bl.report(lens, enough, "vig-next", progress=False).cards  # no warning
    assert "too few: at least" not in more[0].why


def test_a_task_of_few_rows_names_the_way(tmp_path, monkeypatch, capsys):
    lens = lens_of()
    monkeypatch.setattr(cli, "load_lens", lambda _: lens)
    rows = "".join(f"{text},{label}\n" for text, label in labelled(12))
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}")
    command = ["task", "any", str(tmp_path / "a.csv"), "-o", str(tmp_path / "t.html")]
    passes = []
    run = lens.borrowed.runner.forward
    monkeypatch.setattr(lens.borrowed.runner, "forward", lambda *a, **o: passes.append(1) or run(*a, **o))
    assert cli.main(command) == 2 and len(passes) <= 1  # is it a classifier?
    said = capsys.readouterr().err
    assert "12 examples are too few to tell which heads matter: at least 20; --heads 0 writes the page without" in said
    assert cli.main([*command, "--heads", "0", "--errors", "1"]) == 0
    assert (tmp_path / "t.html").is_file()


def test_a_search_of_few_questions_names_the_way(folder, loaded, capsys):
    (folder / "p.csv").write_text("id,text\n" + "".join(f"p{n},the cat {n}\n" for n in range(5)))
    (folder / "q.csv").write_text("id,text\nq1,cat\nq2,mat\n")
    (folder / "r.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tp1\t1\nq2\tp2\t1\n")
    command = ["retrieval", "p.csv", "--queries", "q.csv", "--relevance", "r.tsv", "-o", "s.html"]
    assert cli.main([*command, "--heads"]) == 2 and loaded == []
    assert "2 judged questions are too few for --heads: at least 20; leave --heads out" in capsys.readouterr().err
    assert cli.main(command) == 0
