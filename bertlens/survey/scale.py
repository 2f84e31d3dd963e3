"""A survey on a Dask cluster: workers count windows of the corpus, their sums are added pair by pair (a tree).

At most a few groups of windows are under way, so neither the client nor the scheduler holds the corpus. Work of a
worker that dies is done again by another. Every wait has an end: where nothing comes back, it is an error in words.
"""

from __future__ import annotations

import ast
import itertools
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ClusterError, InputError, excerpt
from ..model.loan import check_hooks
from ..trace.trace import Trace
from .batch_stats import batch_stats
from .checkpoint import Checkpoint
from .corpus import Numbered, windows
from .headstats import HeadStats
from .text_statistics import Lengths

if TYPE_CHECKING:
    from ..lens import Lens

Window = list[list[Numbered]]
UNDER_WAY = 2  # groups of windows
ATTEMPTS = 3
PATIENCE = 600.0  # seconds in which nothing comes back from a cluster that runs nothing, until it is given up
LONGEST = 12  # times PATIENCE in which it runs something


def run(
    client: Any,
    lens: Lens | None,
    stats: HeadStats,
    numbered: Iterator[Numbered],
    batch_size: int,
    truncation: bool,
    checkpoint: Checkpoint,
    bar: Any,
) -> HeadStats:
    """`stats` and the statistics of the items, equal to those of one process but for the order of the sums.

    client: a dask.distributed.Client, or "local" for a LocalCluster of this machine that is closed afterwards.
    Raises InputError without a lens, for traces in the corpus, where dask is not installed, and for "local" in a script
    outside `if __name__ == "__main__":`; ClusterError, which holds what was counted, where nothing comes back.
    """
    if lens is None:
        raise InputError("a cluster needs texts and a lens: traces stay on this machine")
    with connected(client) as dask:
        work = _Cluster(dask, lens, stats.provenance, truncation, bar)
        pending: deque[_Group] = deque()
        groups = _groups(windows(numbered, batch_size), 2 * work.broadcast.threads)
        try:
            with checkpoint.counting():
                for group in groups:
                    pending.append(work.submit(group))
                    if len(pending) > UNDER_WAY:
                        stats = work.added(stats, pending)
                    checkpoint.now_and_then(stats)
                while pending:
                    stats = work.added(stats, pending)
        except ClusterError as error:
            if not stats.n_texts:
                raise
            raise ClusterError(
                f"{error}. {stats.n_texts} texts are counted, in this error's .stats: head_stats(..., resume=stats) "
                "goes on",
                stats,
            ) from error
        except KeyboardInterrupt:
            warnings.warn(
                f"interrupted after {stats.n_texts} texts: these are counted, head_stats(..., resume=stats) goes on",
                stacklevel=4,
            )
        finally:
            checkpoint.at_the_end(stats)
            work.broadcast.cancel([future for pending_group in pending for future in pending_group.futures])
    return stats


class Broadcast:
    """What all calls on a cluster's workers are given: on every worker, and sent again where all copies are lost.

    Raises ModelError for a lens that cannot be pickled, ClusterError where it does not arrive.
    """

    def __init__(self, client: Any, lens: Lens, value: Any):
        check_hooks(lens.model)
        self.client, self._value = client, value
        self.send()
        self.threads = max(1, sum(self._call(client.scheduler.ncores).values()))

    def send(self) -> None:
        for attempt in range(ATTEMPTS):
            try:
                [self.future] = self._call(
                    self.client.scatter, [self._value], broadcast=True, hash=False, asynchronous=True
                )
            except Exception as error:
                if attempt == ATTEMPTS - 1:
                    raise ClusterError(
                        f"the model could not be sent to the cluster ({type(error).__name__}: {str(error)[:200]}): "
                        "look whether its workers live and have room for it"
                    ) from error
            else:
                return

    def result(self, oldest: Callable[[], list[Any]], again: Callable[[], None]) -> Any:
        """Of the last of the oldest futures, which the others lead to. again: submits anew what was lost.

        Raises ClusterError where it was lost ATTEMPTS times, and where nothing comes back.
        """
        from distributed import KilledWorker

        for attempt in range(ATTEMPTS):
            try:
                return self._wait(oldest())
            except (CancelledError, KilledWorker) as error:
                if attempt == ATTEMPTS - 1:
                    raise ClusterError(f"the cluster's workers died {ATTEMPTS} times over the same texts") from error
            self.send()
            again()
        raise AssertionError

    def cancel(self, futures: list[Any]) -> None:
        with suppress(Exception):  # of a cluster that is no longer there
            self._call(self.client.cancel, futures, asynchronous=True)

    def _wait(self, futures: list[Any]) -> Any:
        from distributed import TimeoutError as TooLong
        from distributed import wait

        back, quiet = 0, 0
        while True:
            with suppress(TooLong):
                wait(futures[-1], PATIENCE)
            if futures[-1].done():
                return futures[-1].result()
            previous, back = back, sum(future.done() for future in futures)
            quiet = quiet + 1 if back == previous else 0
            if quiet >= LONGEST or (quiet and not self._runs(futures)):
                raise ClusterError(
                    f"nothing has come back from the cluster for {quiet * PATIENCE / 60:.0f} minutes: look whether its "
                    "workers live, and what they say"
                )

    def _runs(self, futures: list[Any]) -> bool:
        """Whether a worker is at one of these at the moment."""
        with suppress(Exception):  # a worker that does not answer, or has just died
            return bool(self._call(self.client.scheduler.call_stack, keys=[future.key for future in futures]))
        return False

    def _call(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """What a call of the client gives, which has PATIENCE seconds for it."""
        return self.client.sync(partial(call, *arguments, **options), callback_timeout=PATIENCE)


@dataclass
class _Group:
    """Some windows, the futures of their statistics, and of their sum."""

    windows: list[Window]
    leaves: list[Any]
    root: Any

    @property
    def futures(self) -> list[Any]:
        return [*self.leaves, self.root]


class _Cluster:
    """What is the same for all groups."""

    def __init__(self, client: Any, lens: Lens, provenance: dict[str, Any], truncation: bool, bar: Any):
        self.client, self.bar = client, bar
        self.options = (provenance, truncation)
        self.broadcast = Broadcast(client, lens, lens)

    def submit(self, group: list[Window], counted: bool = True) -> _Group:
        leaves = []
        for window in group:
            if any(isinstance(entry.item, Trace) for batch in window for entry in batch):
                raise InputError("traces stay on this machine: give the cluster their texts")
            leaf = self.client.submit(window_stats, self.broadcast.future, window, *self.options, pure=False)
            if counted:
                n = sum(map(len, window))
                leaf.add_done_callback(lambda _, n=n: self.bar.update(n))
            leaves.append(leaf)
        level = leaves
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [self.client.submit(_sum, *pair, pure=False) if len(pair) == 2 else pair[0] for pair in pairs]
        return _Group(group, leaves, level[0])

    def added(self, stats: HeadStats, pending: deque[_Group]) -> HeadStats:
        """The oldest group counted in."""

        def again() -> None:
            for at, lost in enumerate(pending):
                pending[at] = self.submit(lost.windows, counted=False)

        sums = self.broadcast.result(lambda: pending[0].futures, again)
        numbers = [entry.number for window in pending[0].windows for batch in window for entry in batch]
        stats = stats.with_items(sums, numbers)
        pending.popleft()
        return stats


def window_stats(lens: Lens, window: Window, provenance: dict[str, Any], truncation: bool) -> HeadStats:
    """The statistics of one window's batches, on a worker."""
    lengths, total = Lengths(), HeadStats(provenance)
    for batch in window:
        total = total + batch_stats(lens, batch, provenance, truncation, lengths)
    return total


def _sum(a: HeadStats, b: HeadStats) -> HeadStats:
    return a + b


def _groups(windows: Iterator[Window], size: int) -> Iterator[list[Window]]:
    while group := list(itertools.islice(windows, size)):
        yield group


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """A client of a cluster. Raises InputError as `run`."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError('a cluster needs dask: pip install "dask[distributed]"') from None
    if isinstance(client, Client):
        yield client
        return
    if client != "local":
        raise InputError(f'client is a dask.distributed.Client or "local", not {excerpt(client, 60)}')
    _check_main_guard()
    with LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as new_client:
        yield new_client


def _check_main_guard() -> None:
    """Raises InputError where a script asks for processes outside `if __name__ == "__main__":`.

    Each new process reads the script again, and would start processes of its own: hundreds of lines of errors.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None:
        return  # a notebook or a prompt, which nothing reads again
    frame = sys._getframe()
    while frame and not (frame.f_globals is vars(main) and frame.f_code.co_name == "<module>"):
        frame = frame.f_back  # type: ignore[assignment]
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):  # no source to read
        return
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)]
    if frame and not any(node.lineno <= frame.f_lineno <= (node.end_lineno or 0) for node in guards):
        raise InputError(
            f'client="local" starts processes that read {Path(file).name} again: put the call, or what leads to it, '
            'under if __name__ == "__main__":'
        )
