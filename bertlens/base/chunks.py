"""Chunks of work on a pool of workers, their values in the order of the chunks: whoever does them, sums are the same.

What all chunks need is pickled once, before the first. A few chunks a worker are under way, so neither this process nor
a scheduler holds them all. What a worker that dies was at is given to another; where nothing comes back, the oldest
chunk is done here, so that no wait is without end. The work's errors are raised as they are, those of a pool are
ClusterErrors.
"""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..errors import ClusterError
from .pools import Pool, connected
from .worker import answer, pickled

S = TypeVar("S")
C = TypeVar("C")
V = TypeVar("V")

ATTEMPTS = 3  # times that workers may die over one chunk
SHARE = 3  # chunks for each worker
QUIET = 30.0  # seconds in which nothing comes back and nobody is at the oldest chunk, until it is done here
LONGEST = 600.0  # the same where somebody is at it
SLOWEST = 10  # times what the slowest chunk took, where that is longer
LOOK = 5.0  # seconds between two questions who is at work
POLL = 0.5


def ordered(
    client: Any, call: Callable[[S, C], V], shared: S, chunks: Iterable[C], tick: Callable[[], object] = lambda: None
) -> Generator[tuple[C, V], None, None]:
    """Every chunk with `call(shared, chunk)`, in their order. client: see `pools.connected`.

    All of it is picklable. A chunk may be done twice: its value depends on nothing else. tick: is called while this
    waits, and may raise. Raises ClusterError where workers die over one chunk, and where a scheduler is gone;
    InputError as `pools.connected`, and for what cannot be pickled.
    """
    with connected(client, pickled((call, shared))) as pool:
        schedule = _Schedule(pool, call, shared, tick)
        try:
            for chunk in chunks:
                schedule.add(chunk)
                while len(schedule) >= SHARE * pool.size:
                    yield schedule.oldest()
            while schedule:
                yield schedule.oldest()
        finally:
            schedule.cancel()


@dataclass
class _Entry(Generic[C]):
    chunk: C
    content: bytes
    future: Any = None
    name: str = ""
    repairs: int = -1  # of the pool, when the chunk was given to it
    losses: int = 0


class _Schedule(Generic[S, C, V]):
    """What is under way, the oldest first."""

    def __init__(self, pool: Pool, call: Callable[[S, C], V], shared: S, tick: Callable[[], object]):
        self.pool, self._call, self._shared, self._tick = pool, call, shared, tick
        self._pending: deque[_Entry[C]] = deque()
        self._duplicates: list[Any] = []  # futures of chunks that were done here meanwhile
        self._names = itertools.count()
        self._repairs = 0
        self._sign = threading.Event()  # something came back
        self._quiet = 0.0  # seconds of waiting since then
        self._looked = 0.0  # of which, when the pool was asked who is at work
        self._slowest = 0.0
        self._is_alone = False  # nobody is left but this process
        self._is_noted = False

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, chunk: C) -> None:
        entry = _Entry(chunk, pickled(chunk))
        self._pending.append(entry)
        self._submit(entry)

    def oldest(self) -> tuple[C, V]:
        """The oldest chunk with its value."""
        entry = self._pending[0]
        value = self._value(entry)
        self._pending.popleft()
        return entry.chunk, value

    def cancel(self) -> None:
        self.pool.cancel([*(entry.future for entry in self._pending), *self._duplicates])

    def _submit(self, entry: _Entry[C]) -> None:
        entry.name, entry.repairs = str(next(self._names)), self._repairs
        try:
            entry.future = self.pool.submit(entry.content, entry.name)
        except Exception as error:  # noqa: BLE001  of whatever pool; it counts as a loss
            entry.future = Future()
            entry.future.set_exception(error)
        entry.future.add_done_callback(lambda _: self._sign.set())

    def _value(self, entry: _Entry[C]) -> V:
        while not self._is_alone:
            self._tick()
            if self._sign.is_set():
                self._sign.clear()
                self._quiet = self._looked = 0.0
                self._resubmit()
            elif entry.future.done():
                try:
                    content = entry.future.result(QUIET)
                except Exception:  # noqa: BLE001  it was lost on its way
                    if not self.pool.has_failed(entry.future):
                        break
                    self._sign.set()
                    continue
                value: V
                value, seconds = answer(content)
                self._slowest = max(self._slowest, seconds)
                return value
            elif self._is_overdue(entry):
                self._duplicates = [future for future in self._duplicates if not future.done()] + [entry.future]
                break
            else:
                began = time.monotonic()
                self._sign.wait(POLL)
                self._quiet += time.monotonic() - began
        return self._call(self._shared, entry.chunk)

    def _resubmit(self) -> None:
        """What was lost is given to others."""
        for entry in self._pending:
            if self._is_alone or not self.pool.has_failed(entry.future):
                continue
            error = self.pool.error(entry.future)
            why = f"{type(error).__name__}: {str(error)[:200]}"
            entry.losses += 1
            if entry.losses == ATTEMPTS or self.pool.is_deadly(error):
                raise ClusterError(f"{self.pool.name} has lost the same work {ATTEMPTS} times ({why})") from error
            if entry.repairs == self._repairs:
                self._repairs += 1
                if not self.pool.mend(error):
                    warnings.warn(f"{self.pool.name} is broken ({why}): this process does the rest", stacklevel=2)
                    self._is_alone = True
                    return
            self._submit(entry)

    def _is_overdue(self, entry: _Entry[C]) -> bool:
        """Whether the wait for an answer has been long enough. A slow chunk has longer than a silent pool."""
        if self._quiet < max(QUIET, self._looked + LOOK):
            return False
        if self._quiet < max(LONGEST, SLOWEST * self._slowest) and self.pool.is_at(entry.future, entry.name):
            self._looked = self._quiet
            return False
        if not self._is_noted:
            warnings.warn(
                f"nothing has come back from {self.pool.name} for {self._quiet:.0f} s: until something does, this "
                "process does the work",
                stacklevel=2,
            )
            self._is_noted = True
        return True
