"""The head that a view opens on where nobody names one: one that looks clearly from a word to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..base.limits import within
from ..measures import gates
from ..measures.offers import offers
from ..trace.trace import Trace
from .answers.heads import gate_scores

PLAIN = ("open", "closed")  # gates of heads that show little at a glance
CLEAR = (0.4, 0.9)  # weights that are clear and leave something to compute
GOOD = 0.6  # where no weight is clear, the nearest to this one
NOWHERE = {"query": None, "key": None}


def opening(
    trace: Trace, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None
) -> dict[str, int | None]:
    """The head and cell with the largest weight from .4 to .9 between two words, in a head that is not open or closed.

    {"layer", "head", "query", "key"}; of equal weights the lower layer, head and cell. layers, heads: only these. Where
    a text is too short for gates, heads that rest less than half on special tokens. Where no weight is so, the one
    nearest to .6. Of a text of more than 128 tokens the heads of the first of the layers. Head 0 and no cell where the
    trace offers no gates, has more than 512 tokens, or has no two words.
    """
    layers = list(range(trace.n_layers)) if layers is None else list(layers)
    heads = list(range(trace.n_heads)) if heads is None else list(heads)
    words = (~trace.special_mask).nonzero().flatten()
    first = {"layer": layers[0], "head": heads[0], **NOWHERE}
    if offers(trace)["gates"] or not within("opened", trace.n_tokens) or len(words) < 2:
        return first
    if not within("opening", trace.n_tokens):
        layers = layers[:1]
    cells, clear = [], []
    for layer in layers:
        maps = trace.attention_heads(layer, 0, trace.n_heads)[heads].float().cpu()
        between = maps[:, words][:, :, words]
        between[:, range(len(words)), range(len(words))] = torch.nan  # itself is not another word
        cells.append(between)
        clear.append(_rests_little(maps, trace.special_mask))
    weights = torch.stack(cells)  # (layers, heads, words, words)
    labels = gates.label(gate_scores(trace, "full", layers))[:, heads]
    undefined = torch.from_numpy(labels == "undefined")
    good = torch.where(undefined, torch.stack(clear), torch.from_numpy(~np.isin(labels, PLAIN)))
    at = _chosen(weights, good)
    if at is None:
        return first
    layer, head, query, key = at
    return {"layer": layers[layer], "head": heads[head], "query": int(words[query]), "key": int(words[key])}


def _rests_little(maps: torch.Tensor, special: torch.Tensor) -> torch.Tensor:
    """bool (heads,): less than half of the weight lies on special tokens."""
    return maps[..., special.to(maps.device)].sum((-2, -1)) < 0.5 * maps.sum((-2, -1))


def _chosen(weights: torch.Tensor, good: torch.Tensor) -> tuple[int, ...] | None:
    """Layer, head, query and key; None where nothing is a number."""
    if weights.isnan().all():
        return None
    low, high = CLEAR
    clear = (weights >= low) & (weights <= high) & good[..., None, None]
    value = torch.where(clear, weights, torch.nan) if clear.any() else -(weights - GOOD).abs()
    best = int(value.nan_to_num(-torch.inf).argmax())
    return tuple(int(n) for n in np.unravel_index(best, weights.shape))
