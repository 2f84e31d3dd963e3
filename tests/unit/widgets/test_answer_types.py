"""One schema of answers: types of the page are made of Python's, and a field that one of them renames is an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from typing_extensions import NotRequired, TypedDict

from bertlens.base.wire import Float32
from bertlens.widgets import answer_types
from bertlens.widgets.questions import QUESTIONS
from unit.answer_fit import misfits

ROOT = Path(__file__).resolve().parents[3]


class Place(TypedDict):
    layer: int


class Record(Place):
    by: list[Literal["a", "b"]]
    pair: tuple[int, float | None]
    rows: Annotated[Any, dict[str, list[Place]]]
    note: NotRequired[str]


class Pictures(TypedDict, total=False):
    values: Float32


def test_types_of_the_page_are_those_of_python() -> None:
    interfaces: answer_types.Interfaces = {}
    # private: parts of a file that names every question
    type_of = answer_types._type
    assert type_of(tuple[Record, ...], interfaces) == "Record[]"
    assert type_of(Pictures, interfaces) == "Pictures"
    assert [text for _, text in interfaces.values()] == [
        'export type Record = Place & { by: ("a" | "b")[]; pair: [number, number | null]; '
        "rows: Record<string, Place[]>; note?: string };",
        "export type Place = { layer: number };",
        "export type Pictures = { values?: Float32Array };",
    ]
    with pytest.raises(TypeError, match=r"an answer holds set\[int\], which has no type on the page"):
        type_of(set[int], interfaces)
    with pytest.raises(TypeError, match="two records of answers are named Place"):
        type_of(TypedDict("Place", {"head": int}), interfaces)


def test_an_answer_that_is_not_what_it_is_declared_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer() -> tuple[Record, Pictures]:
        raise NotImplementedError

    monkeypatch.setitem(QUESTIONS, "record", type("Question", (), {"answer": staticmethod(answer)}))
    right: dict[str, Any] = {"layer": 1, "by": ["a"], "pair": [1, None], "rows": {"x": [{"layer": 2}]}}
    values = {"name": "values", "dtype": "float32"}
    assert misfits("record", right) == misfits("record", {**right, "id": 1, "note": "", "arrays": [values]}) == []
    wrong: list[dict[str, Any]] = [
        {"layer": "1"},
        {"layer": True},
        {"by": ["c"]},
        {"pair": [1]},
        {"pair": [1.5, 2]},
        {"rows": {"x": [{"layer": 2, "head": 3}]}},
        {"rows": [{"layer": 2}]},
        {"note": None},
        {"more": 1},
        {"arrays": [{"name": "values", "dtype": "float64"}]},
        {"arrays": [{"name": "numbers", "dtype": "float32"}]},
    ]
    assert [len(misfits("record", right | one)) for one in wrong] == [1] * len(wrong)
    assert misfits("record", {name: right[name] for name in ("layer", "by", "pair")})


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_renamed_field_fails_mypy(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "bertlens", tmp_path / "bertlens", ignore=shutil.ignore_patterns("static"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = tmp_path / "bertlens" / "widgets" / "answers" / "why.py"
    path.write_text(path.read_text(encoding="utf-8").replace('"ratio":', '"odds":'), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "bertlens/widgets/answers/why.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert 'Missing key "ratio"' in run.stdout or 'Extra key "odds"' in run.stdout, run.stdout + run.stderr


@pytest.mark.long
def test_a_renamed_field_fails_the_compiler_of_the_page(tmp_path: Path) -> None:
    """In what the page reads, and in what a page's own model answers."""
    (tmp_path / "node_modules").symlink_to((ROOT / "js" / "node_modules").resolve())
    shutil.copytree(ROOT / "js" / "src", tmp_path / "src")
    shutil.copy(ROOT / "js" / "tsconfig.json", tmp_path)
    path = tmp_path / "src" / "generated" / "answers.ts"
    compiler = ["node", "node_modules/typescript/bin/tsc", "--noEmit"]
    assert subprocess.run(compiler, cwd=tmp_path, capture_output=True).returncode == 0
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("ratio: number | null", "odds: number | null"), encoding="utf-8")
    errors = subprocess.run(compiler, cwd=tmp_path, capture_output=True, text=True).stdout
    assert "src/tabs/why/" in errors and "src/engine/answers/whyanswer.ts" in errors
