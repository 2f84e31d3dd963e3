"""The head and cell that a view opens on where nobody names one: what matters to the answer, else a clear link."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..base.limits import within
from ..base.ranking import is_nothing
from ..errors import BertLensError
from ..measures import gates
from ..measures.offers import offers
from ..measures.rows import head_groups
from ..measures.vector_shares import vector_shares
from ..measures.words import lettered, merge_map, strongest_word, units
from ..trace.trace import Trace
from ..whatif.before_after import answer_kind
from ..whatif.cloze import is_plain
from ..whatif.strongest_heads import estimated_effects, strongest_row
from .answers.gate_answers import gate_scores

PLAIN = ("open", "closed")  # gates of heads that show little at a glance
CLEAR = (0.4, 0.9)  # weights that are clear and leave something to compute
GOOD = 0.6  # where no weight is clear, the nearest to this one
POSITIONAL = 0.5  # of a head's weight on the word before, or on that after, or on the word itself
NOWHERE = {"query": None, "key": None}
Cell = dict[str, int | None]
Rule = Callable[[Trace, Sequence[int], Sequence[int]], Cell | None]


def opening(trace: Trace, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None) -> Cell:
    """The head that matters most to the answer, and what it looks at; {"layer", "head", "query", "key"}.

    Of a model that answers, in texts of up to 128 tokens: the head that moves the first number of the answer most, the
    token whose row there moves it most, both by one backward pass, and the strongest word of that row (None where that
    has no more than an even share). Of a masked model with nothing hidden the head in which the last word gives most to
    one other word that is not beside it. Of an encoder with one text the largest weight between two words that are no
    neighbours and that its vector rests on more than evenly, in a head that gives less than half of its weight to any
    one of the word before, the word after and the word itself. Elsewhere, and where a text has nothing of the kind, the
    largest weight from .4 to .9 between two words, in a head that is not open or closed; of equal weights the lower
    layer, head and cell. Where a text is too short for gates, heads that rest less than half on special tokens. Where
    no weight is so, the one nearest to .6. Of a text of more than 128 tokens the heads of the first of the layers. Head
    0 and no cell where the trace offers no gates, has more than 512 tokens, or has no two words. layers, heads: only
    these.
    """
    layers = list(range(trace.n_layers)) if layers is None else list(layers)
    heads = list(range(trace.n_heads)) if heads is None else list(heads)
    if within("opening", trace.n_tokens):
        try:
            if cell := _rule(trace)(trace, layers, heads):
                return cell
        except (BertLensError, RuntimeError):
            pass  # no answer, none that can be changed, or no memory for a backward pass
    return _clear(trace, layers, heads)


def _rule(trace: Trace) -> Rule:
    """Raises ModelError where the model has no answer to this text."""
    if is_plain(trace):
        return _looking
    return _linked if answer_kind(trace) == "embedding" else _mattering


def _mattering(trace: Trace, layers: Sequence[int], heads: Sequence[int]) -> Cell | None:
    effects = estimated_effects(trace)
    if effects is None:
        return None
    of_these = effects[layers][:, heads]
    sizes = of_these.sum(-1).abs().nan_to_num(-1)
    n = int(sizes.argmax())
    row, column = divmod(n, len(heads))
    if is_nothing(float(sizes[row, column])):
        return None
    cell: Cell = {"layer": layers[row], "head": heads[column], **NOWHERE}
    if (query := strongest_row(trace, of_these[row, column])) < 0:
        return cell
    return cell | {"query": query, "key": strongest_word(trace, layers[row], heads[column], query)}


def _linked(trace: Trace, layers: Sequence[int], heads: Sequence[int]) -> Cell | None:
    everything, shares = units(trace), vector_shares(trace).values
    words = lettered(trace)
    rests = [float(shares[pieces].sum()) for pieces in words]
    even = sum(rests) / max(1, len(words))
    places = [everything.index(pieces) for pieces, share in zip(words, rests, strict=True) if share > even]
    inside = torch.tensor(places, dtype=torch.long, device=trace.device)
    apart = (inside[:, None] - inside[None]).abs() > 1
    best: tuple[float, int, int, int] | None = None
    for layer in layers if bool(apart.any()) else ():
        maps = _word_maps(trace, layer)
        for head in heads:
            weights = maps[head]
            near = max(float(weights.diagonal(offset).sum()) for offset in (-1, 0, 1))
            if not near < POSITIONAL * float(weights.sum()):
                continue
            links = weights[inside][:, inside].masked_fill(~apart, -1).flatten()
            cell = int(links.argmax())
            if best is None or float(links[cell]) > best[0]:
                best = float(links[cell]), layer, head, cell
    if best is None:
        return None
    _, layer, head, cell = best
    query, key = (everything[places[n]] for n in divmod(cell, len(places)))
    pieces = trace.attention_heads(layer, head, head + 1)[0][query][:, key]
    row, column = divmod(int(pieces.argmax()), len(key))
    return {"layer": layer, "head": head, "query": query[row], "key": key[column]}


def _looking(trace: Trace, layers: Sequence[int], heads: Sequence[int]) -> Cell | None:
    words, everything = lettered(trace), units(trace)
    at = everything.index(words[-1]) if words else 0
    past = [n for n, pieces in enumerate(everything) if pieces in words and abs(n - at) > 1]
    if not past:
        return None
    peaks = {
        (layer, head): float(weights[at, past].max())
        for layer in layers
        for head, weights in enumerate(_word_maps(trace, layer))
        if head in heads
    }
    layer, head = max(peaks, key=lambda head: peaks[head])
    return {"layer": layer, "head": head, "query": words[-1][0], "key": None}


def _word_maps(trace: Trace, layer: int) -> Tensor:
    """(H, W, W) float64, between words and the template's tokens: of a text that is short."""
    groups = head_groups(trace, layer)
    return torch.cat([merge_map(trace, trace.attention_heads(layer, at.start, at.stop).double()) for at in groups])


def _clear(trace: Trace, layers: Sequence[int], heads: Sequence[int]) -> Cell:
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


def _rests_little(weights: Tensor, special: Tensor) -> bool:
    """Less than half of the weight lies on special tokens."""
    return bool(weights[:, special].sum() < 0.5 * weights.sum())


def _clearest(weights: Tensor, good: bool) -> tuple[bool, float, int]:
    """Whether the head has a clear weight; the largest, or how near to .6 the nearest is, below 0; and where."""
    low, high = CLEAR
    clear = (weights >= low) & (weights <= high)
    is_clear = good and bool(clear.any())
    value = torch.where(clear, weights, torch.nan) if is_clear else -(weights - GOOD).abs()
    value = value.nan_to_num(-torch.inf, neginf=-torch.inf).flatten()
    cell = int(value.argmax())
    return is_clear, float(value[cell]), cell
