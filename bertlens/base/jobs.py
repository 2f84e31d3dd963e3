"""Work of minutes that a page starts: on a thread of its own, so that the page's other questions and the notebook's
cells have their turn, with how far it is, and an end that the page may ask for."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .progress import watched

T = TypeVar("T")


_begun: weakref.WeakSet[Job[Any]] = weakref.WeakSet()


@atexit.register
def _end() -> None:
    """Nothing computes while the interpreter goes."""
    for job in list(_begun):
        job.stop()
        job.wait(10)


class Stopped(Exception):
    """It was ended before there was anything to keep."""


class Job(Generic[T]):
    """One piece of work, begun when it is made. doing: what it is at; share: how much of that is done, 0 to 1; said:
    what it said before it began."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.doing, self.share, self.said = "", 0.0, ""
        self.is_stopped = False
        self._made: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        _begun.add(self)
        self._thread.start()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            with watched(self._tell):
                self._made.append(work())
        except KeyboardInterrupt:
            self._error = Stopped()
        except BaseException as error:  # noqa: BLE001  raised where it is asked for
            self._error = error

    def _tell(self, doing: str, done: float, total: float) -> None:
        if self.is_stopped:
            raise KeyboardInterrupt
        if total:
            self.doing, self.share = doing, min(1.0, done / total)
        else:
            self.said = doing

    def stop(self) -> None:
        """End it at its next step: what is worth keeping then is its result."""
        self.is_stopped = True

    def wait(self, patience: float) -> bool:
        """Whether it has ended, within so many seconds."""
        self._thread.join(patience)
        return not self._thread.is_alive()

    def made(self, patience: float) -> list[T]:
        """[the result], or [] where it takes longer than `patience` (s). Raises what it raised; Stopped where it was
        ended with nothing to keep."""
        if not self.wait(patience):
            return []
        if self._error is not None:
            raise self._error
        return self._made


class Works:
    """Pieces of work by name: each is begun when it is first asked for, one at a time of a name, and what it made is
    here from then on. outcomes: what was made before."""

    def __init__(self, outcomes: dict[str, Any] | None = None) -> None:
        self.outcomes = outcomes or {}
        self._jobs: dict[str, Job[Any]] = {}
        self._lock = threading.Lock()

    def outcome(self, name: str, work: Callable[[], Any], patience: float) -> Any:
        """What a piece of work made; its Job where that takes longer than `patience` (s). Raises as `Job.made`: the
        next question begins it anew."""
        with self._lock:
            if name in self.outcomes:
                return self.outcomes[name]
            job = self._jobs.get(name)
            if job is None:
                job = self._jobs[name] = Job(work)
        try:
            outcome = job.made(patience)
        except BaseException:
            self._end(name, job)
            raise
        if not outcome:
            return job
        self.outcomes[name] = outcome[0]
        self._end(name, job)
        return outcome[0]

    def stop(self, name: str | None = None) -> None:
        """End a piece of work, or all of it."""
        for job_name, job in list(self._jobs.items()):
            if name in (None, job_name):
                job.stop()

    def _end(self, name: str, job: Job[Any]) -> None:
        with self._lock:
            if self._jobs.get(name) is job:
                del self._jobs[name]
