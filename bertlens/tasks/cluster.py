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
        broadcast = Broadcast(dask, task.lens, given)
        most = UNDER_WAY * broadcast.threads
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
                if len(pending) >= most:
                    yield first()
            while pending:
                yield first()
        finally:
            broadcast.cancel([future for _, future in pending])


def on_worker(given: tuple[Lens, Examples, bool, list[Part], Ablation], rows: list[int]) -> Effects:
    """The effects of one batch."""
    lens, examples, truncation, parts, ablation = given
    task = Answered(lens, examples, max(1, len(rows)), truncation, False)
    batch = batch_of(lens, rows, [examples.encodings(lens, row, truncation) for row in rows])
    return batch_effects(task, batch, parts, ablation)
