"""A report in a notebook: its numbers are the report's, and Stop keeps the texts that were done."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens.base.batch_work import PartialNote
from bertlens.reports import text_numbers
from unit import tiny

TEXTS = ["One cat sat.", "The dog sat here.", "A cat and a dog.", "It was so.", "They sat on the mat.", "Why so?"]
OPTIONS: dict[str, Any] = {"texts": len(TEXTS), "claims": "sinks"}


@pytest.fixture(scope="module")
def small() -> bl.Lens:
    torch.manual_seed(0)
    model = tf.BertModel(tf.BertConfig(**tiny.BERT | {"max_position_embeddings": 96}))
    return bl.Lens(tiny.shaken(model, 3), tiny.wordpiece())


def said(view: bl.ReportView) -> str:
    return str(view.children[1].value)


def stops_at(monkeypatch: pytest.MonkeyPatch, text: int, views: list[bl.ReportView]) -> None:
    """Press Stop while this text is measured. Private: no host tells a test when a text is at work."""
    done, measured = [], text_numbers.text_statistics

    def statistics(*arguments: Any) -> Any:
        done.append(1)
        if len(done) == text:
            while not views:
                pass
            [button] = [child for child in views[0].children[0].children if hasattr(child, "click")]
            button.click()
        return measured(*arguments)

    monkeypatch.setattr(text_numbers, "text_statistics", statistics)


def waited_for(view: bl.ReportView, views: list[bl.ReportView]) -> bl.Report | None:
    views.append(view)
    return view.wait(120)


def test_it_is_the_report_and_says_what_holds(small: bl.Lens) -> None:
    view = bl.ReportView(small, TEXTS, **OPTIONS)
    made, expected = view.wait(120), bl.report(small, TEXTS, progress=False, **OPTIONS)
    assert made is view.report and made is not None
    assert made.to_dict()["claims"] == expected.to_dict()["claims"]
    assert said(view) == f"6 texts. {expected.said}"
    assert view.children[-1].value == expected._repr_html_() and "<details" in view.children[-1].value
    assert view.children[0].children[0].value == 1.0


def test_stop_keeps_the_texts_that_were_done(small: bl.Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    views: list[bl.ReportView] = []
    stops_at(monkeypatch, 3, views)
    view = bl.ReportView(small, TEXTS, **OPTIONS)  # waits at its third text
    with warnings.catch_warnings():
        warnings.simplefilter("error", PartialNote)  # the view says it
        made = waited_for(view, views)
    assert made is not None and made.facts["corpus"]["texts"] == 3
    assert said(view).startswith("3 texts. ")


def test_stop_at_once_leaves_no_report(small: bl.Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    monkeypatch.setattr("bertlens.reports.report_run.seconds_a_text", lambda *_: float(begun.wait(60)))
    view = bl.ReportView(small, TEXTS, **OPTIONS)
    view.stop()
    begun.set()
    assert view.wait(120) is None and view.report is None
    assert said(view) == "stopped: there is no report"


def test_what_is_wrong_stands_in_the_view(small: bl.Lens) -> None:
    view = bl.ReportView(small, TEXTS, texts=0)
    with pytest.raises(bl.InputError, match="at least 1"):
        view.wait(120)
    assert "at least 1" in said(view) and view.report is None
    with pytest.raises(bl.InputError, match="takes a lens first, not str"):
        bl.ReportView("bert")  # type: ignore[arg-type]
