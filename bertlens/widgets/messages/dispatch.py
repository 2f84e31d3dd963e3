"""Messages of a page: each is a question by name, with an id that its answer has too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ...base.wire import messages
from ...errors import BertLensError, InputError, SelectionError
from ...model.borrowed import checked_once
from .plain_question import PlainQuestion
from .records import Message, Reply, refusal

Q = TypeVar("Q", bound=PlainQuestion)


class StaleError(SelectionError):
    """What was asked about is shown no more."""


def answered(message: Message, reply: Callable[[Message], Reply]) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """The messages that answer one of a page, or say why it is not answered. reply: raises where it is not."""
    try:
        with checked_once():
            fields, buffers = reply(message)
    except StaleError as error:
        fields, buffers = {"error": str(error), "stale": True}, []
    except BertLensError as error:
        fields, buffers = refusal(error)
    except Exception as error:  # noqa: BLE001  shown in the view: an error in a handler is lost otherwise
        fields, buffers = {"error": f"{type(error).__name__}: {error}"}, []
    return messages({**fields, "id": message["id"]}, buffers)


def question_of(message: Message, questions: Mapping[str, Q]) -> Q:
    """The question that a message asks. Raises InputError for one that is not among these."""
    question = questions.get(str(message.get("op")))
    if question is None:
        raise InputError("the page asked for something that this version of bertlens does not know")
    return question
