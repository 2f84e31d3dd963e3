"""Messages of a page: each is a question by name, with an id that its answer has too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..base.one_thread import one_thread_if_small
from ..base.vocabulary import phrases
from ..base.wire import messages
from ..errors import BertLensError, InputError, SelectionError
from ..model.borrowed import checked_once
from .questions import QUESTIONS
from .records import Message, Reply, refusal
from .request import Request
from .view_record import stream_size


class _StaleError(SelectionError):
    """What was asked about is shown no more."""


def answered(message: Message, look: Callable[[], Request]) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """The messages that answer one of a page, or say why it is not answered.

    look: what the view shows, read once, so that an answer is of one text; it raises InputError where it is closed.
    """
    try:
        request = look()
        with one_thread_if_small(stream_size(request.view.trace)), checked_once():
            fields, buffers = _reply(request, message)
    except _StaleError as error:
        fields, buffers = {"error": str(error), "stale": True}, []
    except BertLensError as error:
        fields, buffers = refusal(error)
    except Exception as error:  # noqa: BLE001  shown in the view: an error in a handler is lost otherwise
        fields, buffers = {"error": f"{type(error).__name__}: {error}"}, []
    return messages({**fields, "id": message["id"]}, buffers)


def _reply(request: Request, message: Message) -> Reply:
    question = QUESTIONS.get(str(message.get("op")))
    if question is None:
        raise InputError("the page asked for something that this version of bertlens does not know")
    if not question.any_text:
        if (name := message.get("trace")) != request.view.id:
            if name not in request.beside:
                raise _StaleError(phrases.ANOTHER_TEXT)
            request = replace(request, view=request.beside[name])
        request.view.map(message.get("map"))
        request = replace(request, map=message["map"])
    reply = question.reply(request, message)
    if question.remembered and not reply[0].get("again"):
        names = ("op", "map", *question.named(message))
        request.view.remember({name: message[name] for name in names}, question.remembered)
    return reply
