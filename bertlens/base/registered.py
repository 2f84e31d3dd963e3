"""Functions of the layers above Trace and Lens that their methods call; the top level, bertlens/__init__.py, fills it.

So `trace.explore()` is declared and documented where a reader looks for it, and Trace imports nothing above itself.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def registered(name: str) -> Callable[..., Any]:
    """The function registered under a name."""
    return FUNCTIONS[name]


def room(module: str) -> Any:
    """A module of a room; where the room was taken out, each name of it is None. See tests/rooms.py."""
    return import_module(module) if _is_there(module) else _NotThere()


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is the folder that it stands in
        return False


class _NotThere:
    def __getattr__(self, name: str) -> None:
        return None
