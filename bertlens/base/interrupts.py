"""Signals: long work ends at the first Ctrl-C, and none comes while something is saved, changed or put back.

Python calls a signal's handler between any two steps of the main thread, also between the steps of a clean-up, and what
it raises (KeyboardInterrupt at Ctrl-C, the error of a user's own timeout) ends whatever runs. `SignalHold` takes the
signals until its block ends; what takes time in it, a forward pass, lets them in by `interruptible`. Where a handler
raises there, no second one comes before the block is left: the clean-ups that follow run to their end.

What handles Ctrl-C meanwhile is the program's own handler, or the `Stop` that long work puts there.
"""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

# Those that programs end work by, or hear of the time; which of them there are depends on the system.
_NAMES = ("INT", "TERM", "ALRM", "VTALRM", "PROF", "HUP", "QUIT", "USR1", "USR2", "XCPU", "BREAK")
SIGNALS = tuple(getattr(signal, f"SIG{name}") for name in _NAMES if hasattr(signal, f"SIG{name}"))


class _Gate:
    """What the outermost block has put in place of the program's own handlers."""

    def __init__(self) -> None:
        self.before: dict[int, Any] = {}
        self.waiting: list[int] = []
        self.open: FrameType | None = None  # the frame whose block of `interruptible` lets signals in
        self.over = False
        try:
            for number in SIGNALS:
                if callable(handler := signal.getsignal(number)):  # else it is ignored, or ends the process
                    self.before[number] = handler
                    signal.signal(number, self.handle)
        except BaseException:  # of a handler that was not replaced yet
            self.close()
            raise

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.over:
            self.before[number](number, frame)
            return
        if number not in self.waiting:
            self.waiting.append(number)
        # in these frames the block is not whole yet, and nobody would close it again; or it is being left: perhaps what
        # an earlier signal raised is on its way to the clean-ups
        edges = (interruptible.__enter__.__code__, interruptible.__exit__.__code__)
        is_edge = frame is self.open or (frame is not None and frame.f_code in edges)
        if self.open and not is_edge:
            self.let_in(frame)

    def let_in(self, frame: FrameType | None = None) -> None:
        while self.waiting:
            number = self.waiting.pop(0)
            self.before[number](number, frame or sys._getframe())

    def close(self, dropped: int | None = None) -> None:
        """The handlers are back, and hear what waited. dropped: a signal that has had its way already."""
        try:
            with ExitStack() as stack:  # each of these is done, whatever the others raise
                stack.callback(self._tell, dropped)
                for number, handler in self.before.items():
                    if signal.getsignal(number) == self.handle:  # else the program has put another one there meanwhile
                        stack.callback(signal.signal, number, handler)
        finally:
            self.over = True

    def _tell(self, dropped: int | None) -> None:
        with ExitStack() as stack:
            for number in self.waiting:
                if number != dropped:
                    stack.callback(signal.raise_signal, number)


_gate: _Gate | None = None  # of the main thread: signals reach no other


def _main() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def is_of_handler(error: BaseException) -> bool:
    """Whether a signal's handler raised it, in a block of `SignalHold`."""
    return any(frame.f_code is _Gate.let_in.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))


class SignalHold:
    """In the block signals wait for its end, but where `interruptible` lets them in. Nothing on other threads."""

    _outer: _Gate | None = None
    _own: _Gate | None = None
    _open: FrameType | None = None

    def __enter__(self) -> None:
        global _gate
        if not _main():
            return
        if _gate is not None:
            self._outer, self._open = _gate, _gate.open
            _gate.open = None
        else:
            _gate = self._own = _Gate()

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        global _gate
        if self._outer is not None:
            self._outer.open = self._open
            if kind is None and self._open:
                self._outer.let_in()
        elif (gate := self._own) is not None:
            _gate = None
            gate.close(signal.SIGINT if kind and issubclass(kind, KeyboardInterrupt) else None)


class interruptible:
    """In the block a signal's handler is called, and may end what runs, within a block of `SignalHold` too.

    For the frame that enters it: not around the `yield` of a context manager.
    """

    _gate: _Gate | None = None
    _open: FrameType | None = None

    def __enter__(self) -> None:
        if _gate is not None and _main():
            _gate.let_in()
            self._gate, self._open = _gate, _gate.open
            _gate.open = sys._getframe(1)

    def __exit__(self, *rest: object) -> None:
        if self._gate is not None:
            self._gate.open = self._open


class Stop:
    """The handler by which long work ends: the first signal is a KeyboardInterrupt, further ones change nothing."""

    def __init__(self) -> None:
        self.over = False  # where it is, so is the first

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        if not self.over:
            self.over = True
            raise KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Ctrl-C and, where nobody else handles it, SIGTERM end the block, once. Nothing on other threads."""
    stop, handlers = Stop(), {}
    if _main():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is signal.SIG_DFL or (number == signal.SIGINT and callable(handler)):
                handlers[number] = signal.signal(number, stop)
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
