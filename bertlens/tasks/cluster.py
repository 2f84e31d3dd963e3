"""A task's effects on a Dask cluster: a batch at a time, in the order of one process, so that no number changes.

Work of a worker that dies is done again by another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.progress import Bar
from ..survey.scale import ATTEMPTS, connected
from .ablations import Ablation, Part
from .answers import Answered
from .passes import batch_of
from .sweeping import Effects, batch_effects, collected, sweep_name

if TYPE_CHECKING:
    from ..lens import Lens
    from .examples import Examples

UNDER_WAY = 3  # batches for each thread of the cluster


def on_cluster(
    client: Any, task: Answered, rows: Sequence[int], parts: Sequence[Part], ablation: Ablation
) -> dict[str, np.ndarray]:
    """As `sweeping.effects`. client: a dask.distributed.Client, or "local".

    Raises InputError where dask is not installed, and as `survey.scale.run`.
    """
    name = sweep_name(parts, ablation)

    def each(shown: Bar) -> Iterator[Effects]:
        left: list[list[int]] = []
        for batch in task.batches(rows):
            if (known := task.kept.get(name, batch.rows)) is None:
                left.append(batch.rows)
            else:
                yield np.array(batch.rows), known[0], known[1]
        for found in _run(client, task, left, parts, ablation):
            task.kept.put(name, found[0].tolist(), *found[1:])
            shown.update(len(found[0]) * len(parts))
            yield found

    return collected(task, rows, parts, each)


def _run(
    client: Any, task: Answered, batches: list[list[int]], parts: Sequence[Part], ablation: Ablation
) -> Iterator[Effects]:
    """`batch_effects` of every batch, in their order."""
    with connected(client) as dask:
        given = (task.lens, task.examples, task.truncation, list(parts), ablation)
        scattered = dask.scatter(given, broadcast=True, hash=False)
        most = UNDER_WAY * max(1, sum(dask.nthreads().values()))
        pending: deque[tuple[list[int], Any]] = deque()
        try:
            for rows in batches:
                pending.append((rows, dask.submit(on_worker, scattered, rows, pure=False)))
                if len(pending) >= most:
                    scattered = yield from _first(dask, given, scattered, pending)
            while pending:
                scattered = yield from _first(dask, given, scattered, pending)
        finally:
            dask.cancel([future for _, future in pending])


def _first(dask: Any, given: Any, scattered: Any, pending: deque[tuple[list[int], Any]]) -> Any:
    """Yields the oldest batch's effects. Where all copies of the model died with their workers, it is sent again."""
    from distributed import KilledWorker

    for attempt in range(ATTEMPTS):
        try:
            found = pending[0][1].result()
            break
        except (CancelledError, KilledWorker):
            if attempt == ATTEMPTS - 1:
                raise
            scattered = dask.scatter(given, broadcast=True, hash=False)
            for at, (rows, _) in enumerate(pending):
                pending[at] = rows, dask.submit(on_worker, scattered, rows, pure=False)
    pending.popleft()
    yield found
    return scattered


def on_worker(given: tuple[Lens, Examples, bool, list[Part], Ablation], rows: list[int]) -> Effects:
    """The effects of one batch."""
    lens, examples, truncation, parts, ablation = given
    task = Answered(lens, examples, max(1, len(rows)), truncation, False)
    batch = batch_of(lens, rows, [examples.encodings(lens, row, truncation) for row in rows])
    return batch_effects(task, batch, parts, ablation)
