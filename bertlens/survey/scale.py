"""A survey on many workers: they count windows of the corpus, whose sums are added here in the order of the corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.chunks import ordered
from ..errors import ClusterError, InputError
from ..trace.trace import Trace
from .batch_stats import batch_stats
from .checkpoint import Checkpoint
from .corpus import Numbered, windows
from .headstats import HeadStats
from .text_statistics import Lengths

if TYPE_CHECKING:
    from ..lens import Lens

Window: TypeAlias = "list[list[Numbered]]"


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
    """`stats` and the statistics of the items, as those of one process, whichever worker does what.

    client: see `pools.connected`. Raises InputError without a lens, for traces in the corpus, and as `chunks.ordered`;
    ClusterError, which holds what was counted.
    """
    if lens is None:
        raise InputError("a cluster needs texts and a lens: traces stay on this machine")
    shared = lens, stats.provenance, truncation
    chunks = (_texts(window) for window in windows(numbered, batch_size))
    try:
        with (
            checkpoint.counting(),
            closing(ordered(client, window_stats, shared, chunks, lambda: bar.update(0))) as stream,
        ):
            for window, sums in stream:
                stats = stats.with_items(sums, [entry.number for batch in window for entry in batch])
                bar.update(sum(map(len, window)))
                checkpoint.now_and_then(stats)
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
    return stats


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
