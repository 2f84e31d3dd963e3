"""A panel is one class: what a view shows, answers, saves and refuses for it needs no other place to know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import bertlens as bl
from bertlens.export import html
from bertlens.trace import Trace
from bertlens.widgets import Question, register_question
from bertlens.widgets.messages.records import Answer, Message
from bertlens.widgets.panels.panel import NEEDS, Panel
from bertlens.widgets.questions import QUESTIONS
from bertlens.widgets.request import Request
from bertlens.widgets.tabs import PARTS
from bertlens.widgets.widget import LensWidget
from unit import tiny
from unit.asking import question

PNG = b"a picture"


class View(LensWidget):
    PARTS = ("header", "head")


@pytest.fixture
def kind() -> Iterator[Any]:
    """The class of the panel, which has a question; both are gone after the test."""
    before = dict(NEEDS), dict(QUESTIONS)

    class Weather(Panel):
        """Degrees beside a text."""

        needs: ClassVar = {"weather": "this view knows no weather"}
        no_text = "the weather is of one text"
        no_model = "no page knows the weather"

        def __init__(self, other: Trace) -> None:
            self.other, self.is_open = other, True

        def why_not(self, trace: Trace) -> str:
            return "" if trace.n_tokens < 8 else "the text is longer than the weather"

        def overview(self, layer: int, head: int) -> Answer:
            return {"weather": [layer, head]}, {"weather.degrees": np.arange(3, dtype=np.float32)}

        def title(self, model: str, parts: Any) -> str:
            return f"{model}: its weather"

        def footer(self, holds: str) -> str:
            return f" · warm; holds {holds}"

        def shown_by(self, trace: Trace) -> Message:
            return {"op": "weather", "row": 0}

        def runs(self, trace: Trace) -> Iterator[tuple[Message, Trace]]:
            yield {"op": "weather", "row": 1}, self.other

        def still(self, layer: int, head: int, query: int | None, key: int | None) -> bytes:
            return PNG

        def close(self) -> None:
            self.is_open = False

    def weather(request: Request) -> Answer:
        return {"text": request.panel(Weather).other.text}, {}

    register_question(Question("weather", weather, (), "weather", of_view=True))
    yield Weather
    for table, entries in zip((NEEDS, QUESTIONS), before, strict=True):
        table.clear()
        table.update(entries)


def test_a_panel_is_one_class(kind: Any) -> None:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    trace, other = lens.trace("the cat"), lens.trace("the mat")
    panel = kind(other)
    view = View(trace, panels=[panel], layer=1, head=2)
    header = view.overview["header"]
    assert header["weather"] == [1, 2] and "weather.degrees" in {array["name"] for array in header["arrays"]}
    assert question(view, op="weather")[0]["text"] == "the mat"
    page = view.page()
    assert page.title == "BertModel: its weather" and page.footer.endswith(" · warm; holds all layers")
    assert page.shown_by == {"op": "weather", "row": 0}
    [run] = page.others
    assert run.shown_by == {"op": "weather", "row": 1} and run.overviews == {}
    assert run.state["overview"]["header"]["text"] == "the mat" and "weather" not in run.state["overview"]["header"]
    assert "its weather" in html.to_html(view.page())
    bundle = view._repr_mimebundle_()
    assert bundle is not None and bundle[0]["image/png"] == PNG
    with pytest.raises(bl.ExportError, match="no page knows the weather"):
        view.to_html(live=True)
    with pytest.raises(bl.InputError, match="the weather is of one text"):
        view.trace = other
    assert panel.is_open
    view.close()
    assert not panel.is_open


def test_a_panel_stands_beside_no_trace_that_it_refuses(kind: Any) -> None:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    trace = lens.trace("the cat sat on the mat and it was warm")
    with pytest.raises(bl.InputError, match="the text is longer than the weather"):
        View(trace, panels=[kind(trace)])


def test_a_view_without_the_panel_says_what_it_lacks(kind: Any) -> None:
    view = View(bl.Lens(tiny.bert(), tiny.wordpiece()).trace("the cat"))
    assert question(view, op="weather")[0]["error"] == "this view knows no weather"
    assert "weather" not in PARTS and "weather" not in view.overview["header"]
