"""From what a pass left behind to scores and attention weights: softmax(q·k · scaling + mask), for one text's layer."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ..base.limits import within
from ..errors import InputError, ModelError
from .record import Layer
from .score_bias import CONTENT, POSITION, ScoreBias

ROWS = 256  # queries at a time, whose scores stay in a processor's cache


def check_precision(device: torch.device) -> None:
    """Raises InputError under torch.autocast, where every product would be of half precision without a word."""
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        raise InputError(
            f"torch.autocast is on, which computes in half precision: call bertlens outside of it, or inside "
            f"`with torch.autocast({device.type!r}, enabled=False)`"
        )


def cast(x: Tensor) -> Tensor:
    """A copy of a captured tensor in float32; float64 stays. Raises InputError under torch.autocast."""
    check_precision(x.device)
    return x.to(torch.float64 if x.dtype == torch.float64 else torch.float32, copy=True)


def per_head(x: Tensor, n_heads: int) -> Tensor:
    """(H, S, d) of keys or values that several heads may share."""
    return x if x.shape[0] == n_heads else x.repeat_interleave(n_heads // x.shape[0], 0)


def causal(n: int, device: torch.device) -> Tensor:
    """(n, n) 0 where a query may see a key, -inf where the key comes after it."""
    return torch.full((n, n), -torch.inf, device=device).triu(1)


def mask(layer: Layer, dtype: torch.dtype | None = None) -> Tensor | str | None:
    """What is added to the scaled scores: None (all visible), "causal", or float (S, S) or (H, S, S); -inf hides."""
    if layer.bias is None and (layer.mask is None or isinstance(layer.mask, str)):
        return layer.mask
    everything = slice(None)
    added = _added(layer, everything, everything, everything, dtype)
    assert layer.query is not None
    return added + causal(layer.query.shape[1], added.device) if isinstance(layer.mask, str) else added


def _added(layer: Layer, heads: slice, queries: slice, keys: slice, dtype: torch.dtype | None = None) -> Tensor:
    """A part of the bias and of a mask that is a tensor, float (R, C) or (H, R, C); -inf hides.

    dtype: in which a bias that depends on queries and keys is computed, float32 at least.
    """
    mask, bias, query = layer.mask, layer.bias, layer.query
    assert query is not None

    def part(x: Tensor) -> Tensor:
        return (x[heads] if x.ndim == 3 and len(x) > 1 else x)[..., queries, keys]

    if isinstance(bias, ScoreBias):
        assert layer.key is not None
        added = bias.part(_wide(query, dtype), _wide(layer.key, dtype), heads, queries, keys)
    else:
        added = torch.zeros((), device=query.device) if bias is None else cast(part(bias))
    if isinstance(mask, Tensor):
        mask = part(mask)
        if mask.dtype == torch.bool:
            added = torch.where(mask, added, -torch.inf)
        else:  # models write "hidden" as the least number of their dtype
            hidden = mask <= torch.finfo(mask.dtype).min / 2
            added = (added + cast(mask)).masked_fill(hidden, -torch.inf)
    return added[0] if added.ndim == 3 and added.shape[0] == 1 else added


def _wide(x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """A captured tensor in float32 at least, itself where it is."""
    check_precision(x.device)
    return x.to(torch.promote_types(dtype or x.dtype, torch.float32))


def biased(layer: Layer) -> bool:
    """Whether the scores of visible keys have something finite beside q·k."""
    if isinstance(layer.bias, ScoreBias):
        return True
    if layer.bias is None and (not isinstance(layer.mask, Tensor) or layer.mask.dtype == torch.bool):
        return False
    assert layer.query is not None
    blocks = (
        _added(layer, slice(None), slice(start, start + ROWS), slice(None))
        for start in range(0, layer.query.shape[1], ROWS)
    )
    return any(bool(((added != 0) & (added != -torch.inf)).any()) for added in blocks)


def seen(layer: Layer, start: int, stop: int) -> slice:
    """The keys from the first to the last that the queries start … stop - 1 see: weights of other keys are 0."""
    keys = layer.key if layer.attention is None else layer.attention.mT
    assert keys is not None
    everything = slice(0, keys.shape[-2])
    if layer.attention is not None or layer.weights or layer.mask is None:
        return everything
    if isinstance(layer.mask, str):
        return slice(0, stop)
    mask = layer.mask[..., start:stop, :]
    visible = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    if not visible.any(-1).all():  # a query that sees nothing has no weights at all, and says NaN everywhere
        return everything
    columns = visible.flatten(0, -2).any(0).nonzero()
    return slice(int(columns[0]), int(columns[-1]) + 1)


def dense_mask(layer: Layer, dtype: torch.dtype | None = None) -> Tensor | None:
    """`mask` as a tensor: float (S, S) or (H, S, S), -inf hides; None where every query sees every key."""
    added = mask(layer, dtype)
    assert layer.query is not None
    return causal(layer.query.shape[1], layer.query.device) if isinstance(added, str) else added


def scores(layer: Layer, dtype: torch.dtype | None = None) -> Tensor:
    """(H, S, S) q·k · scaling [query, key], hidden keys -inf. Raises ModelError where α was given by a change."""
    _check_scored(layer.patterned)
    return _scores(layer, dtype)


def _check_scored(patterned: frozenset[int]) -> None:
    if patterned:
        raise ModelError(
            f"the weights of head {min(patterned)} were given in this run and have no scores: "
            "trace.original.scores(layer) has the model's"
        )


def score_terms(layer: Layer, head: int) -> dict[str, Tensor]:
    """What a head's scores (S, S) are the sum of where keys are visible, by name: "content" is q·k · scaling.

    "position" is a bias of positions alone, "mask" what a mask adds to keys that it does not hide.
    """
    _check_scored(layer.patterned & {head})
    assert layer.query is not None and layer.key is not None and layer.scaling is not None
    query, key = _wide(layer.query[head]), _wide(layer.key[head * len(layer.key) // len(layer.query)])
    return {CONTENT: query @ key.T * layer.scaling} | bias_terms(layer, head)


def bias_terms(
    layer: Layer, head: int, queries: slice = slice(None), dtype: torch.dtype | None = None
) -> dict[str, Tensor]:
    """(R, S) each of `score_terms` but "content", of some queries of a head; dtype: float32 at least."""
    assert layer.query is not None and layer.key is not None
    bias, heads, terms = layer.bias, slice(head, head + 1), {}
    if isinstance(bias, ScoreBias):
        # the head's own in place of all, by whose number tables are looked up
        query, key = (_wide(x[head], dtype).expand(len(x), -1, -1) for x in (layer.query, layer.key))
        terms = {name: bias.part(query, key, heads, queries, term=name)[0] for name in bias.terms}
    elif bias is not None:
        terms[POSITION] = _added(replace(layer, mask=None), heads, queries, slice(None))
    if isinstance(layer.mask, Tensor):
        mask = _added(replace(layer, bias=None), heads, queries, slice(None))
        if (mask := mask.masked_fill(mask == -torch.inf, 0)).any():
            terms["mask"] = mask
    return terms


def _scores(layer: Layer, dtype: torch.dtype | None) -> Tensor:
    assert layer.query is not None and layer.key is not None and layer.scaling is not None
    query = cast(layer.query)
    key = per_head(cast(layer.key), len(query))
    dtype = dtype or query.dtype
    products = query.to(dtype) @ key.to(dtype).transpose(1, 2) * layer.scaling
    added = dense_mask(layer, dtype)
    return products if added is None else products + added.to(products.dtype)


def log_sum_exp(layer: Layer, head: int, of: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """(S,) float64 log Σ_j exp(score_ij) of one head, in groups of rows: nothing of S × S is made.

    The products are float64 in texts of up to 1,024 tokens, in longer ones float32, which takes a third of the time.
    of: other queries and keys (S, d) in place of the head's.
    """
    scaling = layer.scaling
    assert layer.query is not None and layer.key is not None and scaling is not None
    query, key = of or (cast(layer.query[head]), cast(layer.key[head * len(layer.key) // len(layer.query)]))
    if of is not None and isinstance(layer.bias, ScoreBias):  # which is of these queries and keys then
        layer = replace(layer, query=query.expand(layer.query.shape), key=key.expand(layer.key.shape))
    if within("doubled", len(query)):
        query, key = query.double(), key.double()
    rows = []
    for start in range(0, len(query), ROWS):
        keys = seen(layer, start, start + ROWS)
        products = query[None, start : start + ROWS] @ key[keys].T * scaling
        masked = _masked(products, layer, slice(head, head + 1), slice(start, start + ROWS), keys)
        rows.append(masked[0].logsumexp(-1).double())
    return torch.cat(rows)


def _masked(products: Tensor, layer: Layer, heads: slice, queries: slice, keys: slice = slice(None)) -> Tensor:
    """Scaled products (H', R, C) of these heads, queries and keys, with their part of bias and mask in place."""
    if layer.bias is not None or isinstance(layer.mask, Tensor):
        products += _added(layer, heads, queries, keys, products.dtype).to(products.dtype)
    if isinstance(layer.mask, str):
        rows, columns = (torch.arange(n, device=products.device) for n in products.shape[-2:])
        later = columns + (keys.start or 0) > rows[:, None] + (queries.start or 0)
        products.masked_fill_(later, -torch.inf)
    return products


def mask_rows(layer: Layer, head: int, queries: slice) -> Tensor:
    """(R, K) what is added to the scores of these queries of a head; -inf hides."""
    assert layer.query is not None and layer.key is not None
    shape = len(range(*queries.indices(layer.query.shape[1]))), layer.key.shape[1]
    none = torch.zeros(1, *shape, device=layer.query.device)
    return _masked(none, layer, slice(head, head + 1), queries)[0]


def mask_of(layer: Layer) -> str:
    """ "full" and "causal" by name, else "shared" by all heads, or one for each: "heads"."""
    if isinstance(layer.bias, ScoreBias):
        return "heads"
    tensors = [x for x in (layer.mask, layer.bias) if isinstance(x, Tensor)]
    if tensors:
        return "heads" if any(x.ndim == 3 and len(x) > 1 for x in tensors) else "shared"
    return layer.mask if isinstance(layer.mask, str) else "full"


def scores_part(layer: Layer, heads: slice, queries: slice, keys: slice = slice(None)) -> Tensor:
    """The part of the scores of these heads, queries and keys, hidden keys -inf."""
    assert layer.query is not None and layer.key is not None and layer.scaling is not None
    query, key = layer.query[heads, queries], layer.key
    shared = len(layer.query) // len(key)
    if shared == 1:
        key = key[heads, keys]
    else:
        key = key[[head // shared for head in range(*heads.indices(len(layer.query)))], keys]
    check_precision(query.device)
    dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
    products = (query.to(dtype) @ key.to(dtype).transpose(1, 2)).mul_(layer.scaling)
    return _masked(products, layer, heads, queries, keys)


def attention_part(layer: Layer, heads: slice, queries: slice, keys: slice) -> Tensor:
    """The part of `attention` of these heads, queries and keys, which are all that the queries see (see `seen`)."""
    if layer.attention is not None:
        return cast(layer.attention[heads, queries, keys])
    weights = scores_part(layer, heads, queries, keys).softmax(-1)
    for head, pattern in layer.weights.items():
        at = head - (heads.start or 0)
        if 0 <= at < len(weights):
            weights[at] = pattern[queries, keys].to(weights.dtype)
    return weights


def attention_heads(layer: Layer, start: int, stop: int) -> Tensor:
    """(stop - start, S, K) `attention` of the heads start … stop - 1, and of no others."""
    if layer.attention is not None:
        return cast(layer.attention[start:stop])
    assert layer.query is not None
    weights: Tensor | None = None
    for row in range(0, layer.query.shape[1], ROWS):  # what is in the processor's cache is not read twice
        block = attention_part(layer, slice(start, stop), slice(row, row + ROWS), slice(None))
        if weights is None:
            weights = block.new_empty(len(block), layer.query.shape[1], block.shape[-1])
        weights[:, row : row + ROWS] = block
    assert weights is not None
    return weights


def attention(layer: Layer, dtype: torch.dtype | None = None) -> Tensor:
    """(H, S, K) attention weights [query, key]: softmax of `scores`, or the weights that are all there is, or that a
    change has put in their place."""
    if layer.attention is not None:
        weights = cast(layer.attention)
        return weights if dtype is None else weights.to(dtype)
    weights = _scores(layer, dtype).softmax(-1)
    for head, pattern in layer.weights.items():
        weights[head] = pattern.to(weights.dtype)
    return weights
