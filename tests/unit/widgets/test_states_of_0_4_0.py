"""States that version 0.4.0 wrote open at the same place: the traits of four views, which people set and observe, and
lessons. The file was made with that version, of the same tiny model; where the steps of its twelve further lessons led
there is compared in a page (tests/browser/frame/test_lessons_of_0_4_0.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bertlens import Lens, Lesson
from unit import tiny

STATES: dict[str, Any] = json.loads(Path(__file__).with_name("states_of_0_4_0.json").read_text(encoding="utf-8"))
PLACE = ("layer", "head", "query", "key")


@pytest.fixture(scope="module")
def lens() -> Lens:
    return Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())


@pytest.mark.parametrize("n", range(len(STATES["views"])))
def test_a_view_takes_all_that_it_had(lens: Lens, n: int) -> None:
    state = STATES["views"][n]
    trace = lens.trace(state["text"], state["text_pair"])
    view = trace.explore()
    changed: set[str] = set()
    view.observe(lambda change: changed.add(change["name"]), list(state))
    before = {name: getattr(view, name) for name in state}
    for name, value in state.items():
        setattr(view, name, value)
    assert {name: getattr(view, name) for name in state} == state
    assert changed == {name for name in state if before[name] != state[name]}
    chosen = {name: state[name] for name in PLACE}
    again = trace.explore(**{name: value for name, value in chosen.items() if value is not None})
    assert {name: getattr(again, name) for name in PLACE} == chosen


def test_the_place_that_nobody_chose_is_the_same(lens: Lens) -> None:
    """Of the last view of the file no argument was given."""
    state = STATES["views"][-1]
    view = lens.trace(state["text"], state["text_pair"]).explore()
    assert {name: getattr(view, name) for name in PLACE} == {name: state[name] for name in PLACE}


def test_a_lesson_is_read_and_written_as_it_was(lens: Lens, tmp_path: Path) -> None:
    record = STATES["lesson"]
    lesson = Lesson.of(record)
    assert lesson.record() == record and len(lesson.steps) == 7
    lesson.save(tmp_path / "again.lesson.json")
    assert Lesson.load(tmp_path / "again.lesson.json").record() == record
    view = lens.trace("the cat").explore(lesson=lesson)
    assert [step["text"] for step in view.lesson["steps"]] == [step["text"] for step in record["steps"]]


@pytest.mark.parametrize("n", range(12))
def test_a_lesson_file_of_one_subject_is_read_and_written_as_it_was(lens: Lens, tmp_path: Path, n: int) -> None:
    record = STATES["lessons"][n]["record"]
    (tmp_path / "old.lesson.json").write_text(json.dumps(record), encoding="utf-8")
    lesson = Lesson.load(tmp_path / "old.lesson.json")
    assert lesson.record() == record and len(lesson.steps) == len(STATES["lessons"][n]["places"])
    view = lens.trace("the mat").explore(lesson=lesson)
    assert [step.get("state") for step in view.lesson["steps"]] == [step.get("state") for step in record["steps"]]
