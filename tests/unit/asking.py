"""What a view answers to a message of its page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
