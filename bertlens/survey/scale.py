"""A survey on many workers: they count windows of the corpus, whose sums are added here in the order of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, TypeAlias

from ..base.chunks import ordered
from ..errors import InputError
from ..lens import Lens
from ..trace.trace import Trace
from .batch_stats import batch_stats
from .corpus import Numbered, windows
from .headstats import HeadStats
from .text_statistics import Lengths

Window: TypeAlias = "list[list[Numbered]]"


def window_sums(
    client: Any,
    lens: Lens | None,
    provenance: dict[str, Any],
    numbered: Iterator[Numbered],
    batch_size: int,
    truncation: bool,
    tick: Callable[[], object],
) -> Generator[tuple[HeadStats, list[Numbered]], None, None]:
    """The statistics of successive windows, with their items: those of one process, whichever worker does what.

    client: see `pools.connected`; tick: see `chunks.ordered`. Raises InputError without a lens, for traces in the
    corpus, and as `chunks.ordered`; ClusterError as that.
    """
    if lens is None:
        raise InputError("a cluster needs texts and a lens: traces stay on this machine")
    shared = lens, provenance, truncation
    chunks = (_texts(window) for window in windows(numbered, batch_size))
    with closing(ordered(client, window_stats, shared, chunks, tick)) as stream:
        for window, sums in stream:
            yield sums, [entry for batch in window for entry in batch]


def window_stats(shared: tuple[Lens, dict[str, Any], bool], window: Window) -> HeadStats:
    """The statistics of one window's batches, on a worker."""
    lens, provenance, truncation = shared
    lengths, total = Lengths(), HeadStats(provenance)
    for batch in window:
        total = total + batch_stats(lens, batch, provenance, truncation, lengths)
    return total


def _texts(window: Window) -> Window:
    """The window. Raises InputError where it holds a trace."""
    if any(isinstance(entry.item, Trace) for batch in window for entry in batch):
        raise InputError("traces stay on this machine: give the cluster their texts")
    return window
