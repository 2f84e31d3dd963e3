"""Which layer ranks best? The measure of a ranking after each layer, from one pass over the texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ...base.dataframes import pd
from ...errors import check_batch, check_seed
from ...lens import Lens
from ...measures.geometry import anisotropy
from ...measures.significance import Sizes, choice, choice_said, layers_said, name_of, told
from ...sentences import LayerVectors
from ...sentences.encoders import WINDOW
from ..collection import Collection
from ..long_work import complete
from ..ranked_lists import RankedLists
from .shares import MEASURE, check_measure, depth_of, ranked_by, shares_of

TEN = 10  # passages whose overlap is told
COLUMNS = ["layer", "centred", "mean", "difference", "low", "high", "p", "better", "first_ten", "anisotropy"]


def layers(
    lens: Lens,
    collection: Collection,
    *,
    measure: str = MEASURE,
    seed: int = 0,
    batch_size: int = 32,
    progress: bool = True,
) -> Sizes:
    """See `Retrieval.layers`."""
    measure, seed = check_measure(measure, collection), check_seed(seed)
    reader = LayerVectors(lens)
    batch_size = check_batch(batch_size)
    passages = _encoded(lens, reader, collection.passages, "document", batch_size, progress)
    queries = _encoded(lens, reader, collection.queries, "query", batch_size, progress)
    function, depth = lens.sentences.function, max(TEN, 2 * depth_of(measure))
    lists: dict[str, RankedLists] = {}
    cones: dict[str, float] = {}
    for layer in range(reader.n_layers + 1):
        centre = passages[layer].mean(0, dtype=np.float64)
        for centred in (False, True):
            mean = centre if centred else np.zeros_like(centre)
            rows = passages[layer] - mean
            name = name_of(layer, centred)
            lists[name] = ranked_by(queries[layer] - mean, rows, function, collection, depth)
            cones[name] = float(anisotropy(torch.from_numpy(rows)))
    shares = pd.DataFrame({name: shares_of(of, collection, measure) for name, of in lists.items()})
    shares.index = pd.Index([collection.query_ids[query] for query in collection.judged], name="query")
    last = name_of(reader.n_layers, False)
    ends = told({name: (shares[name] - shares[last]).to_numpy() for name in lists if name != last})
    ends[last] = (0.0, np.nan, np.nan, np.nan)
    like_last = {name: overlap(of, lists[last]) for name, of in lists.items()}
    rows = [
        (layer, centred, shares[name].mean(), *ends[name], ends[name][1] > 0, like_last[name], cones[name])
        for layer in range(reader.n_layers + 1)
        for centred in (False, True)
        for name in (name_of(layer, centred),)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=COLUMNS)
    best = choice(shares, last, seed)
    rival = choice(shares.drop(columns=name_of(reader.n_layers, True)), last, seed, rival=True)
    lines = [*layers_said(table, measure, len(shares), len(ends) - 1), choice_said(best, "the last layer"), reader.note]
    return Sizes(table, best, " ".join(filter(None, lines)), measure, shares, rival)


def overlap(lists: RankedLists, others: RankedLists) -> float:
    """Which share of the first ten passages is among the first ten of the others, in [0, 1], mean over questions."""
    shares = []
    for query in range(len(lists.rows)):
        first, second = (set(of.passages(query)[:TEN].tolist()) for of in (lists, others))
        if second:
            shares.append(len(first & second) / len(second))
    return float(np.mean(shares)) if shares else np.nan


def _encoded(
    lens: Lens, reader: LayerVectors, texts: Sequence[str], task: str, batch_size: int, progress: bool
) -> np.ndarray:
    """(L + 1, N, E) float32; equal texts have equal vectors. Long texts are read first."""
    different = sorted(dict.fromkeys(texts), key=len, reverse=True)
    vectors: dict[str, np.ndarray] = {}

    def encode(window: Sequence[str]) -> np.ndarray:
        return reader.encode(window, task, batch_size)

    complete(
        lens, vectors, different, encode, WINDOW * batch_size, None, lambda: None, "text", "vectors of layers", progress
    )
    return np.stack([vectors[text] for text in texts], 1)
