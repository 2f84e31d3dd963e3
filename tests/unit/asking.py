"""What a view answers to a message of its page, and what pages ask about a trace, computed once for all tests."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from bertlens.export.html import question_name
from bertlens.widgets.questions import Question
from unit.answer_fit import misfits

LEFT_OUT = "Left out of this page: show_saved(view, matters=True) has it."
SHORT = 128  # tokens: as many weights are read in a moment
_reply = Question.reply
_replies: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()  # of a trace, or of a lens: answers
_places: WeakKeyDictionary[Any, tuple[Any, Any] | None] = WeakKeyDictionary()  # of a trace: where its answers are
_in_turn: set[str] = set()  # questions whose work is done part by part


def replies(view: Any, message: dict[str, Any], buffers: Sequence[Any] = ()) -> list[tuple[Any, Any]]:
    """All that the view sends back, as (fields, buffers)."""
    sent: list[tuple[Any, Any]] = []
    view.send = lambda content, buffers=None: sent.append((content, buffers))
    view._handle_custom_msg(message, list(buffers))  # ipywidgets has no other way in for what a page sends
    for fields, _ in sent[:1]:  # pieces that come later have no fields
        assert not misfits(str(message.get("op")), fields)
    return sent


def question(view: Any, **fields: Any) -> tuple[Any, Any]:
    """The one reply to a question about what the view shows."""
    about = {"id": 1, "trace": view.overview["header"]["trace"], "map": view.map}
    [reply] = replies(view, about | fields)
    return reply


def _place(trace: Any) -> tuple[Any, Any]:
    """Whose answers stand for those of a trace: runs of one text by one lens with the same numbers have the same."""
    if trace not in _places:
        _places[trace] = None
        if trace.lens is not None and not trace.changes and trace.n_tokens <= SHORT and list(trace.maps) == ["self"]:
            layers = range(trace.n_layers)
            tensors = [*map(trace.attention, layers), *map(trace.layer_output, layers)]
            numbers = [zlib.crc32(tensor.detach().contiguous().numpy()) for tensor in tensors]
            _places[trace] = trace.lens, (trace.text, trace.text_pair, *trace.tokens, *numbers)
    return _places[trace] or (trace, None)


def answered_once(matters: bool = True) -> Any:
    """While it is entered, a reply is computed once of a trace. matters: also what every head and token does alone."""

    def reply(question: Question, asked: Any, message: dict[str, Any], saved: bool = False) -> Any:
        if question.of_view:
            return _reply(question, asked, message, saved)
        if question.name == "each_matters" and not matters:
            return {"why_not": LEFT_OUT}, []
        holder, place = _place(asked.trace)
        arguments = {name: message.get(name) for name in question.named(message)}
        key = place, question.answer, saved, question_name({**arguments, "op": question.name})
        known = _replies.setdefault(holder, {})
        if key in known:
            return known[key]
        answer = _reply(question, asked, message, saved)
        if answer[0].get("again"):  # only a part of the work is done
            _in_turn.add(question.name)
        elif saved or question.name not in _in_turn:
            known[key] = answer
        return answer

    return patch.object(Question, "reply", reply)
