"""The score of one cell, split by source."""

from __future__ import annotations

import torch
from torch import Tensor

from ...base.quotes import quotation
from ...base.vocabulary import phrases
from ...errors import SelectionError, check_index, check_name
from ...trace.checks import check_finite
from ...trace.trace import Trace
from .pull import Reading, parts
from .score_terms import score_terms
from .split import Sources
from .stream import Stream

SIDES = ("query", "key")
OTHERS = "others"


@torch.no_grad()
def score(
    trace: Trace,
    layer: int,
    head: int,
    query: int,
    key: int,
    side: str = "query",
    against: str | int | None = OTHERS,
    through_mlps: bool = False,
) -> Sources:
    """Why a head's query looks at a key: its score (q·k · scaling), split by what put these numbers into q or into k.

    What a family adds to q·k for where tokens stand (MPNet, DeBERTa, LiLT) is a part of its own, by either side.

    side: whose stream is opened, the query's (the key as it was) or the key's (the query as it was); both totals are
    the same number, so the two are never added. against: "others", the score less the mean score of the other visible
    keys (`neurons.contrast`); another key j', which splits log(α_ij / α_ij') in nats; None, the raw score.
    through_mlps: opens every earlier MLP as the affine map W2 diag(g) W1 that it is once g = act(s)/s is kept (in a
    gated MLP: once its activated branch is kept), so that no part is an MLP's; exact, on the key side about the work
    of a forward pass. Products with weights are float32 for float32 models, sums over parts float64.

    Parts are exact, not causes: without one of them deviations, gates and attention would have been others.
    Raises SelectionError for what does not exist, a hidden key, or a query that sees no other key; ModelError where
    the stream cannot be split (`offers` says why) or the numbers are not finite.
    """
    check_index(layer, trace.n_layers, "layer")
    check_index(head, trace.n_heads, "head")
    check_index(query, trace.n_tokens, "query")
    check_index(key, trace.n_tokens, "key")
    check_name(side, SIDES, "side")
    stream = Stream(trace)
    check_finite(trace)
    share = shares(trace, layer, head, query, key, against)
    q = stream.heads(layer, "query", head)[query].double()
    k = stream.heads(layer, "key", head).double()
    scaling = trace.scaling(layer)
    terms = {
        term: float(share @ part[0]) for term, part in score_terms(trace, layer, head, slice(query, query + 1)).items()
    }
    number = float(share @ (k @ q) * scaling) + sum(terms.values())
    if side == "query":
        reading = head_reading(
            stream,
            layer,
            head,
            "query",
            torch.tensor([query], device="cpu"),
            torch.ones(1, device="cpu"),
            scaling * (share @ k),
        )
    else:
        keys = share.nonzero()[:, 0]
        reading = head_reading(stream, layer, head, "key", keys, share[keys], scaling * q)
    return Sources(
        trace=trace,
        what=_words(trace, layer, head, query, key, against, side),
        model=number,
        reading=reading,
        through_mlps=through_mlps,
        layer=layer,
        notes=stream.notes,
        _parts=parts(stream, reading, through_mlps=through_mlps),
        terms=terms,
    )


def head_reading(
    stream: Stream, layer: int, head: int, side: str, tokens: Tensor, share: Tensor, direction: Tensor
) -> Reading:
    """What a direction (d,) in a head's space reads of the queries or keys of some tokens, λ-weighted."""
    tokens, share = tokens.to(stream.device), share.to(stream.device, torch.float64)
    map, rotation = stream.projection(layer, side, head), stream.rotation(layer)
    directions = direction[None] if rotation is None else rotation.of(tokens).back(direction)
    vector = map.back(directions)[:, None]  # (T or 1, 1, D)
    constant = vector.new_zeros(1)
    if map.bias is not None:
        b = directions @ map.bias.double()
        constant = (share @ b if len(b) == len(share) else share.sum() * b[0])[None]
    return Reading(layer, tokens, share, vector, constant)


def shares(trace: Trace, layer: int, head: int, query: int, key: int, against: str | int | None) -> Tensor:
    """(S,) float64 what each key's score counts. Raises SelectionError for keys that the query does not see."""
    visible = visible_keys(trace, layer, head, query)
    share = torch.zeros(len(visible), dtype=torch.float64, device=visible.device)
    if against == OTHERS:
        if int(visible.sum()) < 2:
            raise SelectionError(f"query {query} sees no other key: pass against=None for the score itself")
        share[visible] = -1 / (int(visible.sum()) - 1)
    elif isinstance(against, str):
        raise SelectionError(f'against={against!r}: there are "others", the index of a key, and None')
    elif against is not None:
        check_index(against, len(visible), "key")
        if against == key:
            raise SelectionError(phrases.AGAINST_ITSELF.format(key=key))
        share[against] = -1
    for index in {key} | ({against} if isinstance(against, int) else set()):
        if not visible[index]:
            raise SelectionError(f"key {index} is hidden from query {query} by the model's mask")
    share[key] = 1
    return share


def visible_keys(trace: Trace, layer: int, head: int, query: int | slice) -> Tensor:
    """(S,) bool, or (n, S) for several queries."""
    if isinstance(query, slice):
        return trace.mask_rows(layer, head, query) != -torch.inf
    return visible_keys(trace, layer, head, slice(query, query + 1))[0]


def _words(trace: Trace, layer: int, head: int, query: int, key: int, against: str | int | None, side: str) -> str:
    names = trace.display_tokens
    if isinstance(against, int):
        contrast = f" less that at {quotation(names[against])} ({against})"
    else:
        contrast = " less the mean of the other visible keys" if against else ""
    cell = (
        f"L{layer}·H{head}, score of {quotation(names[query])} ({query}) at {quotation(names[key])} ({key}){contrast}"
    )
    return phrases.BY_SOURCES.format(cell=cell, side=side)
