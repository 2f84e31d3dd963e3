"""What a long run has counted is kept: saved now and then and at its end, whatever ends it.

The first Ctrl-C or SIGTERM ends the run as a KeyboardInterrupt; further ones change nothing, least of all a save.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..base.atomic import claimed
from ..errors import ExportError, SaveError
from .headstats import HeadStats

SAVE_EVERY = 120  # seconds


class Stop:
    """The signals that end a run, as one KeyboardInterrupt at most, which does not come while they are held."""

    def __init__(self) -> None:
        self._asked = self._raised = self._held = False

    def __call__(self, _signal: int, _frame: Any) -> None:
        self._asked = True
        self._raise()

    def _raise(self) -> None:
        if self._asked and not self._held and not self._raised:
            self._raised = True
            raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Signals wait until the end of this."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        self._raise()

    @contextmanager
    def until_here(self) -> Iterator[None]:
        """After this, signals change nothing any more."""
        try:
            yield
        finally:
            self._held = True  # one that comes before this line is raised, and with it all are


@contextmanager
def stoppable() -> Iterator[Stop]:
    """SIGINT and, where nobody else handles it, SIGTERM go to a Stop; signals reach the main thread only."""
    stop, before = Stop(), {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is signal.SIG_DFL or (number == signal.SIGINT and callable(handler)):
                before[number] = signal.signal(number, stop)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Checkpoint:
    """Saves the statistics of a run to the file that was asked for, if one was."""

    def __init__(self, path: str | Path | None, stop: Stop):
        self._path, self._stop, self._saved = path, stop, time.monotonic()

    def counting(self) -> AbstractContextManager[None]:
        """Around what counts: signals end it, but not what comes after it."""
        return self._stop.until_here()

    def now_and_then(self, stats: HeadStats) -> None:
        """Save where the last time is long ago; a disk that is full now may not be at the end."""
        if self._path is None or time.monotonic() - self._saved <= SAVE_EVERY:
            return
        with self._stop.held(), suppress(ExportError):
            stats.save(self._path)
        self._saved = time.monotonic()

    def at_the_end(self, stats: HeadStats) -> None:
        """Save. Raises SaveError, which holds the statistics, where they cannot be saved."""
        if self._path is None or not stats.n_texts:
            return
        try:
            stats.save(self._path)
        except ExportError as error:
            raise SaveError(
                f"{error}. The statistics of {stats.n_texts} texts are not lost: they are in this error's .stats "
                "(in a notebook: import sys; sys.last_value.stats.save(...))",
                stats,
            ) from error


@contextmanager
def checkpointing(path: str | Path | None) -> Iterator[Checkpoint]:
    """What saves a run's statistics, with `path` claimed as long as it lasts. Raises InputError as `files.claimed`."""
    with ExitStack() as stack:
        if path is not None:
            stack.enter_context(claimed(path))
        yield Checkpoint(path, stack.enter_context(stoppable()))
