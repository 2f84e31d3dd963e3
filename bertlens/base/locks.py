"""One lock for each object that is borrowed: a config whose attention implementation changes, a tokenizer's settings.

Widget messages arrive on a second thread, and two models or lenses may share a config or a tokenizer.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .interrupts import SignalHold, interruptible

WAIT = 0.1  # seconds for which a signal waits at most, where another thread has the lock

_locks: dict[int, threading.RLock] = {}  # by identity: configs compare by value and cannot be hashed
_guard = threading.Lock()


def _lock_of(shared: Any) -> threading.RLock:
    with _guard:
        if id(shared) not in _locks:
            _locks[id(shared)] = threading.RLock()
            weakref.finalize(shared, _locks.pop, id(shared), None)
        return _locks[id(shared)]


@contextmanager
def locked(objects: Iterable[Any]) -> Iterator[None]:
    """Holds the locks of these objects, taken in the same order everywhere: no two threads wait for each other.

    What is changed on them in the block is put back in it too: signals wait (`interrupts.SignalHold`).
    """
    with SignalHold(), ExitStack() as stack:
        for shared in sorted(objects, key=id):
            lock = _lock_of(shared)
            while not lock.acquire(timeout=WAIT):
                with interruptible():
                    pass
            stack.callback(lock.release)
        yield
