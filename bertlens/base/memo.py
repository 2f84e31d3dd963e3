"""Values that are computed once and held with the object that they are derived from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Slot:
    lock: threading.RLock = field(default_factory=threading.RLock)
    full: bool = False
    content: Any = None


class Memo:
    """By key. Each has a lock of its own: a slow one keeps no other waiting."""

    def __init__(self) -> None:
        self._slots: dict[Hashable, _Slot] = {}

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()  # a copy begins empty: locks cannot be copied

    def __contains__(self, key: Hashable) -> bool:
        return key in self._slots and self._slots[key].full

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned when this key was first asked for. Where it raises, the next call tries again."""
        slot = self._slots.get(key) or self._slots.setdefault(key, _Slot())
        if not slot.full:
            with slot.lock:
                if not slot.full:
                    slot.content = make()
                    slot.full = True
        return slot.content
