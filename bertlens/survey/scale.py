"""A survey on a Dask cluster: workers count windows of the corpus, their sums are added pair by pair (a tree).

At most a few groups of windows are under way, so neither the client nor the scheduler holds the corpus. Work of a
worker that dies is done again by another.
"""

from __future__ import annotations

import ast
import itertools
import sys
import warnings
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, excerpt
from ..trace.trace import Trace
from .batch import batch_stats
from .checkpoint import Checkpoint
from .corpus import Numbered, windows
from .headstats import HeadStats
from .statistics import Lengths

if TYPE_CHECKING:
    from ..lens import Lens

Window = list[list[Numbered]]
UNDER_WAY = 2  # groups of windows
ATTEMPTS = 3


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
    outside `if __name__ == "__main__":`.
    """
    if lens is None:
        raise InputError("a cluster needs texts and a lens: traces stay on this machine")
    with connected(client) as dask:
        work = _Work(dask, lens, stats.provenance, truncation, bar)
        pending: deque[_Group] = deque()
        groups = _groups(windows(numbered, batch_size), 2 * max(1, sum(dask.nthreads().values())))
        try:
            with checkpoint.counting():
                for group in groups:
                    pending.append(work.submit(group))
                    if len(pending) > UNDER_WAY:
                        stats = work.added(stats, pending)
                    checkpoint.now_and_then(stats)
                while pending:
                    stats = work.added(stats, pending)
        except KeyboardInterrupt:
            warnings.warn(
                f"interrupted after {stats.n_texts} texts: these are counted, head_stats(..., resume=stats) goes on",
                stacklevel=4,
            )
        finally:
            for left in pending:
                dask.cancel([left.root, *left.leaves])
            checkpoint.at_the_end(stats)
    return stats


@dataclass
class _Group:
    """Some windows, the futures of their statistics, and of their sum."""

    windows: list[Window]
    leaves: list[Any]
    root: Any


class _Work:
    """What is the same for all groups."""

    def __init__(self, client: Any, lens: Lens, provenance: dict[str, Any], truncation: bool, bar: Any):
        self.client, self.lens, self.bar = client, lens, bar
        self.options = (provenance, truncation)
        self.scattered = client.scatter(lens, broadcast=True, hash=False)

    def submit(self, group: list[Window], counted: bool = True) -> _Group:
        leaves = []
        for window in group:
            if any(isinstance(entry.item, Trace) for batch in window for entry in batch):
                raise InputError("traces stay on this machine: give the cluster their texts")
            leaf = self.client.submit(window_stats, self.scattered, window, *self.options, pure=False)
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
        """The oldest group counted in. Where all copies of the model died with their workers, it is sent again."""
        from distributed import KilledWorker

        for attempt in range(ATTEMPTS):
            group = pending[0]
            try:
                sums = group.root.result()
                break
            except (CancelledError, KilledWorker):
                if attempt == ATTEMPTS - 1:
                    raise
                self.scattered = self.client.scatter(self.lens, broadcast=True, hash=False)
                for at, lost in enumerate(pending):
                    pending[at] = self.submit(lost.windows, counted=False)
        numbers = [entry.number for window in group.windows for batch in window for entry in batch]
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
