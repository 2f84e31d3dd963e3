"""What the page is told about one head's scores as a sum of pictures: the largest of them, and the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ..limits import within
from ..measures import sources
from ..trace import Trace
from .answers import Answer
from .picked import Picked

MOST_PAIRS = 5  # of sources, the others are one picture
MOST_CELLS = 128  # along a side


def score_maps(trace: Trace, layer: int, head: int) -> Answer:
    """One head's scores, less each row's mean, as a sum of maps by pairs of sources. Raises as `measures.sources.maps`.

    Fields: layer, head; pairs as [query's source, key's source] of the MOST_PAIRS largest by |share|, and share of
    each (`sources.map_shares`: they and rest sum to 1, None where all scores of every query are equal); rest, the
    share of all others; gap, the largest difference between the sum of all maps and the model's own scores; block, how
    many tokens a cell is of along either side; notes. Array: values (2 + pairs, S / block, S / block) float32: the
    scores themselves, a map for each pair, and the rest; hidden cells are NaN, a cell of several tokens holds that of
    the largest size.
    """
    maps = sources.maps(trace, layer, head, center=True)
    shares = sources.map_shares(maps)
    ordered = sorted((pair for pair in maps if shares[pair] != 0), key=lambda pair: -abs(shares[pair]))
    shown, others = ordered[:MOST_PAIRS], [pair for pair in maps if pair not in ordered[:MOST_PAIRS]]
    rest = torch.stack([maps[pair] for pair in others]).sum(0)
    visible = ~rest.isnan()
    scores = trace.scores(layer)[head].double()
    mean = scores.masked_fill(~visible, 0).sum(-1, keepdim=True) / visible.sum(-1, keepdim=True)
    whole = (scores - mean).masked_fill(~visible, torch.nan)
    parts = [maps[pair] for pair in shown]
    total = torch.stack([*parts, rest]).double().sum(0)
    block = math.ceil(trace.n_tokens / MOST_CELLS)
    known = [None if math.isnan(shares[pair]) else shares[pair] for pair in shown]
    fields = {
        "layer": layer,
        "head": head,
        "pairs": [list(pair) for pair in shown],
        "share": known,
        "rest": None if None in known else sum(shares[pair] for pair in others),
        "gap": float((total - whole)[visible].abs().max()),
        "block": block,
        "notes": list(maps.notes),
    }
    return fields, {"values": torch.stack([_pooled(part.float(), block) for part in (whole, *parts, rest)])}


def _pooled(values: Tensor, block: int) -> Tensor:
    """The value of the largest size in every block; NaN where all of a block is."""
    if block == 1:
        return values
    filled, hidden = values.nan_to_num(0.0)[None, None], values.isnan()
    high = functional.max_pool2d(filled, block, ceil_mode=True)
    low = -functional.max_pool2d(-filled, block, ceil_mode=True)
    none = functional.max_pool2d((~hidden).float()[None, None], block, ceil_mode=True) == 0
    return torch.where(high >= -low, high, low).masked_fill(none, torch.nan)[0, 0]


def carried_maps(trace: Trace, picked: Picked) -> Iterator[dict[str, Any]]:
    """What a page without a kernel holds: the heads shown, of a short text."""
    if within("carried", trace.n_tokens):
        yield from ({"layer": layer, "head": head} for layer, head in picked.heads)
