"""The head that a view opens on where nobody names one: one that looks clearly from a word to another."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..base.limits import within
from ..measures import gates
from ..measures.offers import offers
from ..trace.trace import Trace
from .answers.head_answers import gate_scores

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
    special = trace.special_mask
    words = (~special).nonzero().flatten()
    fallback = {"layer": layers[0], "head": heads[0], **NOWHERE}
    if offers(trace)["gates"] or not within("opened", trace.n_tokens) or len(words) < 2:
        return fallback
    if not within("opening", trace.n_tokens):
        layers = layers[:1]
    labels = gates.label(gate_scores(trace, "full", layers))
    best = None
    for n, layer in enumerate(layers):
        for head in heads:  # one at a time: nothing of heads x S x S is made
            weights = trace.attention_heads(layer, head, head + 1)[0].float()
            label = labels[n, head]
            good = _rests_little(weights, special) if label == "undefined" else label not in PLAIN
            between = weights[words][:, words]
            between.fill_diagonal_(torch.nan)  # itself is not another word
            clarity = _clearest(between, good)
            if best is None or clarity[:2] > best[0]:
                best = clarity[:2], layer, head, clarity[2]
    assert best is not None
    rank, layer, head, cell = best
    if rank[1] == -torch.inf:  # nothing is a number
        return fallback
    query, key = divmod(cell, len(words))
    return {"layer": layer, "head": head, "query": int(words[query]), "key": int(words[key])}


def _rests_little(weights: torch.Tensor, special: torch.Tensor) -> bool:
    """Less than half of the weight lies on special tokens."""
    return bool(weights[:, special].sum() < 0.5 * weights.sum())


def _clearest(weights: torch.Tensor, good: bool) -> tuple[bool, float, int]:
    """Whether the head has a clear weight; the largest, or how near to .6 the nearest is, below 0; and where."""
    low, high = CLEAR
    clear = (weights >= low) & (weights <= high)
    is_clear = good and bool(clear.any())
    value = torch.where(clear, weights, torch.nan) if is_clear else -(weights - GOOD).abs()
    value = value.nan_to_num(-torch.inf, neginf=-torch.inf).flatten()
    cell = int(value.argmax())
    return is_clear, float(value[cell]), cell
