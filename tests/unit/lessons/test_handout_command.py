"""`bertlens handout`: a page a lesson, as `to_paper` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens.cli import command_line as cli
from bertlens.lessons.handout_command import run
from bertlens.lessons.lesson import SHIPPED

LOOK = bl.Lesson.step("Look.", {"text": "The cat sat.", "layer": 1, "head": 8})
WHY = bl.Lesson.step("Why?", model="Because.")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedded_lens: Any) -> list[str]:
    monkeypatch.setattr("bertlens.lessons.handout_command.Lens.embedded", lambda **_: embedded_lens)
    names = []
    for title in ("one", "two"):
        bl.Lesson(title, [LOOK, WHY]).save(tmp_path / f"{title}.lesson.json")
        names.append(str(tmp_path / f"{title}.lesson.json"))
    return names


def test_a_lesson_is_a_page_and_several_are_a_folder(
    files: list[str], tmp_path: Path, embedded_lens: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert cli.main(["handout", files[0], "-o", str(page)]) == 0
    own = bl.Lesson("one", [LOOK, WHY]).to_paper(tmp_path / "own.html", embedded_lens).read_text()
    assert page.read_text() == f"{own}<!-- written by bertlens handout -->\n"
    assert f"{page}: one, 2 steps, {page.stat().st_size:,} bytes" in capsys.readouterr().out
    folder = tmp_path / "new" / "class"
    assert cli.main(["handout", *files, "-o", str(folder), "--no-solutions"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["one.html", "two.html"]
    assert "Because." in page.read_text() and "Because." not in (folder / "one.html").read_text()


def test_all_shipped_lessons_are_a_folder(files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertlens.lessons.handout_command.embedded_named", lambda name: name)
    monkeypatch.setattr(bl.Lesson, "to_paper", lambda lesson, page, lens, solutions: page.write_text(lens))
    assert cli.main(["handout", "-o", str(tmp_path / "all")]) == 0
    written = {path.stem: path.read_text() for path in (tmp_path / "all").iterdir()}
    assert written.keys() == SHIPPED.keys()
    for name, text in written.items():
        assert text.startswith(bl.Lesson.load(name).model)  # each is drawn with the model that it names


def test_what_cannot_be_handed_out_is_said_in_a_line(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bl.Lesson("other", [LOOK], model="some/model").save(tmp_path / "other.lesson.json")
    page, folder = str(tmp_path / "page.html"), str(tmp_path / "folder")
    (tmp_path / "sub").mkdir()
    same = tmp_path / "sub" / "one.lesson.json"
    same.write_bytes(Path(files[0]).read_bytes())
    for given, said in (
        ([*files, "-o", page], "2 lessons are as many pages, and"),
        ([files[0], str(same), "-o", folder], "one.html: write one of them by itself"),
        ([str(tmp_path / "other.lesson.json"), "-o", folder], "some/model, which is not embedded: name the pictures'"),
        (["no-such", "-o", folder], "no-such cannot be read"),
    ):
        assert cli.main(["handout", *given]) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1
    assert not Path(page).exists() and not Path(folder).exists()


def test_a_model_is_loaded_once_and_not_before_the_pages_can_be_written(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedded_lens: Any
) -> None:
    calls: list[str] = []
    monkeypatch.setattr("bertlens.lessons.handout_command.Lens.embedded", lambda **_: calls.append("") or embedded_lens)
    monkeypatch.setattr(bl.Lesson, "to_paper", lambda lesson, page, lens, solutions: page.write_text("."))
    bl.Lesson("three", [LOOK], model=embedded_lens.model_name).save(tmp_path / "three.lesson.json")
    names, load = [*files, str(tmp_path / "three.lesson.json")], lambda: calls.append("loaded") or embedded_lens
    run(names, tmp_path / "folder", None, solutions=True, force=False)
    assert calls == [""]
    run(names, tmp_path / "folder", load, solutions=True, force=False)
    assert calls == ["", "loaded"]
    (tmp_path / "folder" / "two.html").write_text("mine")
    with pytest.raises(bl.InputError, match=r"two\.html is there already"):
        run(names, tmp_path / "folder", load, solutions=True, force=False)
    assert calls == ["", "loaded"]
