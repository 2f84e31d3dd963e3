"""Functions of the layers above Trace and Lens that their methods call; the top level, bertlens/__init__.py, fills it.

So `trace.explore()` is declared and documented where a reader looks for it, and Trace imports nothing above itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def registered(name: str) -> Callable[..., Any]:
    """The function registered under a name."""
    return FUNCTIONS[name]
