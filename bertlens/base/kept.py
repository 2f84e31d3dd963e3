"""Values that are made once and kept with the object that they are derived from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Value:
    lock: threading.RLock = field(default_factory=threading.RLock)
    made: bool = False
    value: Any = None


class Kept:
    """By key. Each has a lock of its own: a slow one keeps no other waiting."""

    def __init__(self) -> None:
        self._values: dict[Hashable, _Value] = {}

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()  # a copy begins with nothing kept: locks cannot be copied

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values and self._values[key].made

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned when this key was first asked for. Where it raises, the next call tries again."""
        kept = self._values.get(key) or self._values.setdefault(key, _Value())
        if not kept.made:
            with kept.lock:
                if not kept.made:
                    kept.value = make()
                    kept.made = True
        value: T = kept.value
        return value
