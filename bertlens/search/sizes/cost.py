"""A smaller model beside the one that ranked: its size, the time of a text, and what the ranking loses."""

from __future__ import annotations

import statistics
import time

from ...base.dataframes import pd
from ...errors import check_batch, check_lens
from ...lens import Lens
from ...measures.significance import NONE, difference_interval
from ...model.families import adapter_of
from ..collection import Collection
from ..stages import Stages, ranked
from .shares import check_measure, shares_of, single_vectors

TIMED = 32  # passages that a run is timed on
RUNS = 5


def cost(
    lens: Lens,
    smaller: Lens,
    stages: Stages,
    collection: Collection,
    *,
    measure: str,
    batch_size: int,
    progress: bool,
) -> pd.DataFrame:
    """See `Retrieval.cost`."""
    check_lens(smaller)
    measure, batch_size = check_measure(measure, collection), check_batch(batch_size)
    single_vectors(stages, "costs")
    others = ranked(smaller, collection, batch_size=batch_size, progress=progress)
    times = _times([lens, smaller], collection, batch_size)
    rows = []
    whole = shares_of(stages.lists, collection, measure)
    for each, of, milliseconds in zip((lens, smaller), (stages, others), times, strict=True):
        shares = shares_of(of.lists, collection, measure)
        difference, ends = shares - whole, NONE if each is lens else difference_interval(shares - whole)
        width = single_vectors(of, "costs")[0].rows.shape[1]
        quality = shares.mean(), difference.mean(), *ends
        rows.append([each.model_name, *_sizes(each), width, milliseconds, *quality])
    names = ["model", "layers", "parameters", "megabytes", "dimensions", "milliseconds", "mean", "difference", "low"]
    order = ["model", "layers", "dimensions", *names[2:4], *names[5:], "high"]
    return pd.DataFrame(rows, columns=[*names, "high"])[order]


def _sizes(lens: Lens) -> tuple[int | None, int, float]:
    """Layers (None where the family has no adapter), parameters and megabytes."""
    base = lens.borrowed.base
    adapter = adapter_of(base)
    parameters = [*lens.model.parameters()]
    size = sum(each.numel() * each.element_size() for each in [*parameters, *lens.model.buffers()])
    return None if adapter is None else len(adapter.layers(base)), sum(map(_count, parameters)), size / 1e6


def _count(parameter: object) -> int:
    return int(parameter.numel())  # type: ignore[attr-defined]


def _times(lenses: list[Lens], collection: Collection, batch_size: int) -> list[float]:
    """Milliseconds a passage, the median of runs of each in turn; one before they count."""
    texts = list(collection.passages[:: -(-len(collection.passages) // TIMED)])
    took: list[list[float]] = [[] for _ in lenses]
    for run in range(RUNS + 1):
        for times, lens in zip(took, lenses, strict=True):
            began = time.perf_counter()
            lens.sentences.encode(texts, "document", None, batch_size, False)
            if run:
                times.append(1000 * (time.perf_counter() - began) / len(texts))
    return [statistics.median(times) for times in took]
