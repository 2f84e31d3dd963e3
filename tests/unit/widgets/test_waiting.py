"""Who asks while a page is written: answers are not queued behind it, and it is of the text that it was asked for."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest

import bertlens as bl
from bertlens.widgets import saving
from unit.asking import replies
from unit.tiny import bert, wordpiece

LONG = 60  # s, for a machine that is busy


@pytest.fixture(scope="module")
def lens():
    return bl.Lens(bert(), wordpiece())


class Writing:
    """A page that is half written: its second answer waits until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, view: Any) -> None:
        self.reached, self.go, self.text = threading.Event(), threading.Event(), ""
        real = saving.saved_answers

        def slowly(*args: Any) -> Any:
            for n, answer in enumerate(real(*args)):
                if n == 1:
                    self.reached.set()
                    assert self.go.wait(LONG)
                yield answer

        monkeypatch.setattr(saving, "saved_answers", slowly)
        self.thread = threading.Thread(target=self.write, args=(view,))
        self.thread.start()
        assert self.reached.wait(LONG)

    def write(self, view: Any) -> None:
        self.text = view.to_html()

    def end(self) -> str:
        self.go.set()
        self.thread.join(LONG)
        return self.text


def asked(view: Any, **question: Any) -> dict[str, Any]:
    """The answer to a question that another thread asks, as messages of a page come."""
    sent: list[tuple[Any, Any]] = []
    message = {"id": "1", "trace": view.overview["header"]["trace"], "map": view.map, **question}
    thread = threading.Thread(target=lambda: sent.extend(replies(view, message)))
    thread.start()
    thread.join(LONG)
    assert sent, "queued behind the page"
    return sent[0][0]


@pytest.mark.parametrize("same", [True, False])
def test_answers_do_not_wait_for_a_page_that_is_written(monkeypatch, lens, same):
    """Neither those of the view that is written nor those of another one of the same model."""
    view = lens.trace("the cat sat on the mat").explore()
    other = view if same else lens.trace("a cat sat").explore()
    writing = Writing(monkeypatch, view)
    try:
        for question in (
            {"op": "head", "layer": 1, "head": 2},
            {"op": "norms", "layer": 0, "head": 1},
            {"op": "gates", "threshold": 0.35, "margin": 0.1},
            {"op": "geometry"},
        ):
            assert "error" not in asked(other, **question), question
        assert writing.thread.is_alive()
        if not same:
            assert "error" not in asked(other, op="trace", text="the mat", text_pair="")
    finally:
        text = writing.end()
    assert text.startswith("<!doctype html>")


def test_page_is_of_the_text_that_was_shown_when_it_was_asked_for(monkeypatch, lens):
    view = lens.trace("the cat sat on the mat").explore(layer=0, head=0)
    number = view.overview["header"]["trace"]
    writing = Writing(monkeypatch, view)
    try:
        assert "error" not in asked(view, op="trace", text="a cat sat", text_pair="")
    finally:
        text = writing.end()
    assert view.trace.text == "a cat sat"
    state = json.loads(re.search(r'id="bertlens-data">(.*?)</script>', text)[1])["state"]
    assert state["text"] == "the cat sat on the mat"
    assert state["overview"]["header"]["trace"] == number
    assert len(state["overview"]["header"]["queries"]["tokens"]) == 8
