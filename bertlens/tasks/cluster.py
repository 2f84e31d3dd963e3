"""A task's effects on many workers: a batch at a time, in the order of one process, so that no number changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..base.chunks import ordered
from ..base.progress import Bar
from ..lens import Lens
from ..whatif.head_study import HeadSite
from .ablation_effects import Effects, batch_effects, collected, sweep_name
from .ablations import Ablation
from .batch_answers import batch_of
from .examples import Examples
from .task_answers import Answered


def on_cluster(
    client: Any, task: Answered, rows: Sequence[int], sites: Sequence[HeadSite], ablation: Ablation
) -> dict[str, np.ndarray]:
    """As `ablation_effects.effects`; what the task's folder has is not run again. client: see `pools.connected`.

    Raises InputError and ClusterError as `chunks.ordered`.
    """
    name = sweep_name(sites, ablation)

    def stream(progress: Bar) -> Iterator[Effects]:
        order: deque[Effects | None] = deque()  # kept ones, None for what is run

        def batches() -> Iterator[list[int]]:
            for batch in task.batches(rows):
                arrays = task.kept.get(name, batch.rows)
                order.append(None if arrays is None else (np.array(batch.rows), arrays[0], arrays[1]))
                if arrays is None:
                    yield batch.rows

        shared = task.lens, task.examples, task.truncation, [*sites], ablation
        for _, effects in ordered(client, on_worker, shared, batches(), lambda: progress.update(0)):
            while earlier := order.popleft():
                yield earlier
            task.kept.put(name, effects[0].tolist(), *effects[1:])
            progress.update(len(effects[0]) * len(sites))
            yield effects
        yield from filter(None, order)

    return collected(task, rows, sites, stream)


def on_worker(shared: tuple[Lens, Examples, bool, list[HeadSite], Ablation], rows: list[int]) -> Effects:
    """The effects of one batch."""
    lens, examples, truncation, sites, ablation = shared
    task = Answered(lens, examples, max(1, len(rows)), truncation, False)
    batch = batch_of(lens, rows, [examples.encodings(lens, row, truncation) for row in rows])
    return batch_effects(task, batch, sites, ablation)
