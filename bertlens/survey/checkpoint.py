"""What a long run has counted is kept: saved now and then and at its end, whatever ends it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..base.arrays_file import Autosave
from ..base.atomic import claimed
from ..base.interrupts import Stop, stoppable
from ..errors import ExportError, SaveError
from .headstats import HeadStats


class Checkpoint:
    """Saves the statistics of a run to the file that was asked for, if one was."""

    def __init__(self, path: str | Path | None, stop: Stop):
        self._path, self._stop = path, stop
        self._autosave = Autosave(lambda stats: stats.save(path))

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Around what counts: signals end it, but not what comes after it."""
        try:
            yield
        finally:
            self._stop.over = True  # a signal that comes before this line is raised, and with it all are

    def now_and_then(self, stats: HeadStats) -> None:
        if self._path is not None:
            self._autosave(stats)

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
