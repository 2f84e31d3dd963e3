"""Ctrl-C waits while something borrowed is changed or put back, so that no clean-up is cut short.

Python raises KeyboardInterrupt between any two steps of the main thread, also between the steps of a clean-up. `Held`
takes the signal itself until its block ends; what takes time in it, a forward pass, lets it in by `interruptible`. An
interrupt that is let in closes the way behind it: clean-ups on its way out run whole.
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

    _within: _Gate | None = None
    _made: _Gate | None = None
    _open = False

    def __enter__(self) -> None:
        global _gate
        if not _main():
            return
        if _gate is not None:
            self._within, self._open = _gate, _gate.open
            _gate.open = False
        elif callable(before := signal.getsignal(signal.SIGINT)):  # else it is ignored, or ends the process
            made = _Gate(before)
            signal.signal(signal.SIGINT, made.handle)
            _gate = self._made = made

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        global _gate
        if self._within is not None:
            self._within.open = self._open
            if kind is None:
                self._within.let_in()
        elif (made := self._made) is not None:
            _gate = None
            signal.signal(signal.SIGINT, made.before)
            if made.waiting and not (kind and issubclass(kind, KeyboardInterrupt)):
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
