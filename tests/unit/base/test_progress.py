"""Bars: no time from fewer than three steps, all of one class, and an interrupt that ends in a line."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path
from typing import Any

import pytest

import bertlens
import bertlens as bl
from bertlens.base.progress import Progress, bar, page_bar, say, watched
from bertlens.errors import in_one_line
from unit import tiny

PACKAGE = Path(bertlens.__file__).parent
TIME = re.compile(r"<(\?|[\d:]+), ")


def times(steps: list[int], **options: Any) -> list[str]:
    """The time left that a bar says at first and after each of its updates."""
    with Progress(file=io.StringIO(), delay=0, mininterval=0, **options) as shown:
        texts = [str(shown)]
        for n in steps:
            time.sleep(0.02)
            shown.update(n)
            texts.append(str(shown))
    return [TIME.search(text).group(1) for text in texts]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("steps", "options"),
    [([1] * 5, {"total": 100}), ([8] * 5, {"total": 10_000}), ([1] * 5, {"total": 100, "initial": 40})],
)
def test_the_time_left_waits_for_three_steps(steps, options):
    said = times(steps, **options)
    assert said[:3] == ["?"] * 3
    assert all(re.fullmatch(r"[\d:]+", text) for text in said[3:])


def test_a_bar_of_fewer_steps_says_its_rate_when_it_is_done():
    assert times([4, 4], total=8) == ["?", "?", "00:00"]


def test_a_sequence_counts_its_items_and_ends():
    shown = Progress(range(5), file=io.StringIO(), delay=0, mininterval=0)
    said = []
    for _ in shown:
        time.sleep(0.01)
        said.append(TIME.search(str(shown)).group(1))  # type: ignore[union-attr]
    assert said[:3] == ["?"] * 3 and "?" not in said[3:]
    assert shown.n == 5 and shown.disable
    assert [*Progress("abc", disable=True)] == ["a", "b", "c"]


def test_all_bars_are_of_one_class():
    modules = [path for path in PACKAGE.rglob("*.py") if "tqdm" in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(PACKAGE)) for path in modules] == [str(Path("base") / "progress.py")]


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize(
    ("work", "line"),
    [
        (lambda shown: bar(3, "text", "texts", shown), "KeyboardInterrupt: stopped: texts"),
        (page_bar, "KeyboardInterrupt: stopped: the page is not written"),
    ],
)
def test_an_interrupt_under_a_bar_is_one_line(work, line, shown):
    with pytest.raises(KeyboardInterrupt) as error, work(shown):
        interrupted()
    if not shown and "texts" in line:
        line = "KeyboardInterrupt: stopped"
    assert in_one_line(error.value) == [line]
    assert hasattr(error.value, "_render_traceback_")  # which IPython asks for


@pytest.fixture(scope="module")
def view() -> bl.Explorer:
    return bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat").explore()


STEPS = ("widgets.saving.with_pictures", "export.html.to_html", "base.atomic.os.replace")  # first, middle, last


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("before", ["", "an earlier page"])
def test_a_live_page_that_is_interrupted_is_not_half_there(view, tmp_path, monkeypatch, step, before):
    path = tmp_path / "page.html"
    if before:
        path.write_text(before)
    monkeypatch.setattr(f"bertlens.{step}", interrupted)
    with pytest.raises(KeyboardInterrupt) as error:
        view.to_html(path, live=True, progress=False)
    assert hasattr(error.value, "_render_traceback_")
    [line] = in_one_line(error.value)
    assert line.startswith("KeyboardInterrupt: stopped: ") and "written" in line
    assert [file.name for file in tmp_path.iterdir()] == (["page.html"] if before else [])
    assert not before or path.read_text() == before


def test_of_a_folder_neither_page_nor_weights_are_half_there(view, tmp_path, monkeypatch):
    monkeypatch.setattr("bertlens.export.html.from_text", interrupted)
    with pytest.raises(KeyboardInterrupt) as error:
        bl.classroom(view.trace.lens, ["the cat sat"]).to_html(tmp_path / "class", hosted=True)
    assert not [*(tmp_path / "class").iterdir()]
    assert hasattr(error.value, "_render_traceback_")


def test_a_line_before_work_is_told_to_who_watches_and_else_printed(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[Any, ...]] = []
    with watched(lambda *words: told.append(words)):
        say("draws the texts", True)
    assert told == [("draws the texts", 0, 0)] and capsys.readouterr().out == ""  # of no work there is no share yet
    say("draws the texts", True)
    say("nothing", False)
    assert capsys.readouterr().out == "draws the texts\n"
