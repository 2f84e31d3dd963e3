"""A task's effects on a Dask cluster: a batch at a time, in the order of one process, so that no number changes.

Work of a worker that dies is done again by another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.progress import Bar
from ..survey.scale import Broadcast, connected
from .ablation_effects import Effects, batch_effects, collected, sweep_name
from .ablations import Ablation, Site
from .batch_answers import batch_of
from .task_answers import Answered

if TYPE_CHECKING:
    from ..lens import Lens
    from .examples import Examples

UNDER_WAY = 3  # batches for each thread of the cluster


def on_cluster(
    client: Any, task: Answered, rows: Sequence[int], sites: Sequence[Site], ablation: Ablation
) -> dict[str, np.ndarray]:
    """As `sweeping.effects`. client: a dask.distributed.Client, or "local".

    Raises InputError where dask is not installed, and as `survey.scale.run`.
    """
    name = sweep_name(sites, ablation)

    def stream(progress: Bar) -> Iterator[Effects]:
        pending: list[list[int]] = []
        for batch in task.batches(rows):
            if (arrays := task.kept.get(name, batch.rows)) is None:
                pending.append(batch.rows)
            else:
                yield np.array(batch.rows), arrays[0], arrays[1]
        for batch_arrays in _run(client, task, pending, sites, ablation):
            task.kept.put(name, batch_arrays[0].tolist(), *batch_arrays[1:])
            progress.update(len(batch_arrays[0]) * len(sites))
            yield batch_arrays

    return collected(task, rows, sites, stream)


def _run(
    client: Any, task: Answered, batches: list[list[int]], sites: Sequence[Site], ablation: Ablation
) -> Iterator[Effects]:
    """`batch_effects` of every batch, in their order."""
    with connected(client) as dask:
        shared = (task.lens, task.examples, task.truncation, list(sites), ablation)
        broadcast = Broadcast(dask, task.lens, shared)
        limit = UNDER_WAY * broadcast.threads
        pending: deque[tuple[list[int], Any]] = deque()

        def submitted(rows: list[int]) -> Any:
            return dask.submit(on_worker, broadcast.future, rows, pure=False)

        def again() -> None:
            for at, (rows, _) in enumerate(pending):
                pending[at] = rows, submitted(rows)

        def first() -> Effects:
            effects: Effects = broadcast.result(lambda: [pending[0][1]], again)
            pending.popleft()
            return effects

        try:
            for rows in batches:
                pending.append((rows, submitted(rows)))
                if len(pending) >= limit:
                    yield first()
            while pending:
                yield first()
        finally:
            broadcast.cancel([future for _, future in pending])


def on_worker(shared: tuple[Lens, Examples, bool, list[Site], Ablation], rows: list[int]) -> Effects:
    """The effects of one batch."""
    lens, examples, truncation, sites, ablation = shared
    task = Answered(lens, examples, max(1, len(rows)), truncation, False)
    batch = batch_of(lens, rows, [examples.encodings(lens, row, truncation) for row in rows])
    return batch_effects(task, batch, sites, ablation)
