"""A closed view takes any value of its traits and does nothing with it: what is linked to an open one goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol


class Closable(Protocol):
    @property
    def is_closed(self) -> bool: ...


def while_open(check: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A trait's validator, which a closed view leaves out."""

    @wraps(check)
    def checked(view: Closable, proposal: Any) -> Any:
        return proposal["value"] if view.is_closed else check(view, proposal)

    return checked
