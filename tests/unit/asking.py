"""What a view answers to a message of its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bertlens.export.html import question_name
from bertlens.widgets.questions import Question


def replies(view: Any, message: dict[str, Any], buffers: Sequence[Any] = ()) -> list[tuple[Any, Any]]:
    """All that the view sends back, as (fields, buffers)."""
    sent: list[tuple[Any, Any]] = []
    view.send = lambda content, buffers=None: sent.append((content, buffers))
    view._handle_custom_msg(message, list(buffers))  # ipywidgets has no other way in for what a page sends
    return sent


def question(view: Any, **fields: Any) -> tuple[Any, Any]:
    """The one reply to a question about what the view shows."""
    about = {"id": 1, "trace": view.overview["header"]["trace"], "map": view.map}
    [reply] = replies(view, about | fields)
    return reply


def answered_once() -> Callable[[Question, Any, dict[str, Any]], Any]:
    """In place of `Question.reply`, for tests of pages that look at something else than the answers: what is asked of
    a text is computed once for each model."""
    known: dict[Any, Any] = {}
    of = Question.reply

    def reply(question: Question, asked: Any, message: dict[str, Any], saved: bool = False) -> Any:
        if question.of_view or asked.trace.model is None:
            return of(question, asked, message, saved)
        trace, asks = asked.trace, question_name({**message, "op": question.name, "saved": saved})
        name = trace.model, trace.text, trace.text_pair, str(trace.changes), asks
        if name not in known:
            answer = of(question, asked, message, saved)
            if answer[0].get("again"):  # only a part of the work is done
                return answer
            known[name] = answer
        return known[name]

    return reply
