"""Ctrl-C waits while something borrowed is changed or put back, so that no clean-up is cut short.

Python raises KeyboardInterrupt between any two steps of the main thread, also between the steps of a clean-up. `Held`
takes the signal itself until its block ends; what takes time in it, a forward pass, lets it in by `interruptible`. An
interrupt that was let in lets no second one in: the clean-ups that it causes run to their end.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class _Gate:
    """What the outermost block has put in place of Python's own handler."""

    def __init__(self, before: Any) -> None:
        self.before, self.open, self.waiting = before, False, False

    def handle(self, number: int, frame: FrameType | None) -> None:
        if not self.open:
            self.waiting = True
            return
        self.open = self.waiting = False
        self.before(number, frame)
        self.open = True  # where it raised nothing

    def let_in(self) -> None:
        if self.open and self.waiting:
            self.handle(signal.SIGINT, None)


_gate: _Gate | None = None  # of the main thread: signals reach no other


def _main() -> bool:
    return threading.get_ident() == threading.main_thread().ident


class Held:
    """In the block Ctrl-C waits for its end, but where `interruptible` lets it in. Nothing on other threads."""

    _outer: _Gate | None = None
    _own: _Gate | None = None
    _open = False

    def __enter__(self) -> None:
        global _gate
        if not _main():
            return
        if _gate is not None:
            self._outer, self._open = _gate, _gate.open
            _gate.open = False
        elif callable(before := signal.getsignal(signal.SIGINT)):  # else it is ignored, or ends the process
            gate = _Gate(before)
            signal.signal(signal.SIGINT, gate.handle)
            _gate = self._own = gate

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        global _gate
        if self._outer is not None:
            self._outer.open = self._open
            if kind is None:
                self._outer.let_in()
        elif (gate := self._own) is not None:
            _gate = None
            signal.signal(signal.SIGINT, gate.before)
            if gate.waiting and not (kind and issubclass(kind, KeyboardInterrupt)):
                signal.raise_signal(signal.SIGINT)


class interruptible:
    """In the block Ctrl-C ends what runs, within a block of `Held` too."""

    _gate: _Gate | None = None
    _open = False

    def __enter__(self) -> None:
        if _gate is not None and _main():
            self._gate, self._open = _gate, _gate.open
            _gate.open = True
            _gate.let_in()

    def __exit__(self, *rest: object) -> None:
        if self._gate is not None:
            self._gate.open = self._open
