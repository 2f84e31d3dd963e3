"""Messages of a page about what a view of a trace shows."""

from __future__ import annotations

from dataclasses import replace

from ..base.one_thread import one_thread_if_small
from ..base.vocabulary import phrases
from .messages.dispatch import StaleError, question_of
from .messages.records import Message, Reply
from .questions import QUESTIONS
from .request import Request
from .view_record import stream_size


def reply_of(message: Message, request: Request) -> Reply:
    """The answer to a message about what a view of a trace shows."""
    with one_thread_if_small(stream_size(request.view.trace)):
        return _reply(request, message)


def _reply(request: Request, message: Message) -> Reply:
    question = question_of(message, QUESTIONS)
    if not question.any_text:
        if (name := message.get("trace")) != request.view.id:
            if name not in request.beside:
                raise StaleError(phrases.ANOTHER_TEXT)
            request = replace(request, view=request.beside[name])
        request.view.map(message.get("map"))
        request = replace(request, map=message["map"])
    reply = question.reply(request, message)
    if question.remembered and not reply[0].get("again"):
        names = ("op", "map", *question.named(message))
        request.view.remember({name: message[name] for name in names}, question.remembered)
    return reply
