"""From what a pass left behind to scores and attention weights: softmax(q·k · scaling + mask), for one text's layer."""

from __future__ import annotations

import torch
from torch import Tensor

from .capture import Layer
from .errors import InputError, ModelError

LONG = 1024  # tokens of a text whose log-sum-exps are no longer computed in float64
ROWS = 256  # queries at a time


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


def mask(layer: Layer, rows: slice = slice(None)) -> Tensor | str | None:
    """What is added to the scaled scores: None (all visible), "causal", or float (S, S) or (H, S, S); -inf hides.

    rows: of which queries, (R, S) or (H, R, S).
    """
    given, bias, query = layer.mask, layer.bias, layer.query
    assert query is not None
    if bias is None and (given is None or isinstance(given, str)):
        return given
    bias = None if bias is None else bias[..., rows, :]
    given = given[..., rows, :] if isinstance(given, Tensor) else given
    added = torch.zeros((), device=query.device) if bias is None else cast(bias)
    if isinstance(given, str):
        added = added + causal(query.shape[1], query.device)[rows]
    elif given is not None:
        if given.dtype == torch.bool:
            added = torch.where(given, added, -torch.inf)
        else:  # models write "hidden" as the least number of their dtype
            hidden = given <= torch.finfo(given.dtype).min / 2
            added = (added + cast(given)).masked_fill(hidden, -torch.inf)
    return added[0] if added.ndim == 3 and added.shape[0] == 1 else added


def dense_mask(layer: Layer) -> Tensor | None:
    """`mask` as a tensor: float (S, S) or (H, S, S), -inf hides; None where every query sees every key."""
    added = mask(layer)
    assert layer.query is not None
    return causal(layer.query.shape[1], layer.query.device) if isinstance(added, str) else added


def scores(layer: Layer, dtype: torch.dtype | None = None) -> Tensor:
    """(H, S, S) q·k · scaling [query, key], hidden keys -inf. Raises ModelError where α was given by a change."""
    if layer.patterned:
        raise ModelError(
            f"the weights of head {min(layer.patterned)} were given in this run and have no scores: "
            "trace.original.scores(layer) has the model's"
        )
    return _scores(layer, dtype)


def _scores(layer: Layer, dtype: torch.dtype | None) -> Tensor:
    assert layer.query is not None and layer.key is not None and layer.scaling is not None
    query = cast(layer.query)
    key = per_head(cast(layer.key), len(query))
    dtype = dtype or query.dtype
    products = query.to(dtype) @ key.to(dtype).transpose(1, 2) * layer.scaling
    added = dense_mask(layer)
    return products if added is None else products + added.to(products.dtype)


def log_sum_exp(layer: Layer, head: int) -> Tensor:
    """(S,) float64 log Σ_j exp(score_ij) of one head, in groups of rows: nothing of S × S is made.

    The products are float64 in texts of up to LONG tokens, in longer ones float32, which takes a third of the time.
    """
    assert layer.query is not None and layer.key is not None and layer.scaling is not None
    query, key = cast(layer.query[head]), cast(layer.key[head * len(layer.key) // len(layer.query)])
    if len(query) <= LONG:
        query, key = query.double(), key.double()
    rows = []
    for start in range(0, len(query), ROWS):
        products = query[None, start : start + ROWS] @ key.T * layer.scaling
        rows.append(_masked(products, layer, start, slice(head, head + 1))[0].logsumexp(-1).double())
    return torch.cat(rows)


def _masked(products: Tensor, layer: Layer, start: int, heads: slice = slice(None)) -> Tensor:
    """Scaled products (H', R, K) of heads, of the queries from `start` on, with their part of the mask in place."""
    added = mask(layer, slice(start, start + products.shape[-2]))
    if isinstance(added, Tensor):
        products += (added[heads] if added.ndim == 3 else added).to(products.dtype)
    elif added is not None:
        keys = torch.arange(products.shape[-1], device=products.device)
        products.masked_fill_(keys > keys[start : start + products.shape[-2], None], -torch.inf)
    return products


def attention_rows(layer: Layer, start: int, stop: int) -> Tensor:
    """(H, stop - start, K) rows of `attention` for the queries start … stop - 1, and of no others."""
    if layer.attention is not None:
        return cast(layer.attention[:, start:stop])
    assert layer.query is not None and layer.key is not None and layer.scaling is not None
    query = cast(layer.query[:, start:stop])
    products = query @ per_head(cast(layer.key), len(query)).transpose(1, 2) * layer.scaling
    rows = _masked(products, layer, start).softmax(-1)
    for head, given in layer.weights.items():
        rows[head] = given[start:stop].to(rows.dtype)
    return rows


def attention_heads(layer: Layer, start: int, stop: int) -> Tensor:
    """(stop - start, S, K) `attention` of the heads start … stop - 1, and of no others."""
    if layer.attention is not None:
        return cast(layer.attention[start:stop])
    assert layer.query is not None and layer.key is not None and layer.scaling is not None
    shared = len(layer.query) // len(layer.key)
    keys = torch.stack([layer.key[head // shared] for head in range(start, stop)])
    query, keys = cast(layer.query[start:stop]), cast(keys).transpose(1, 2)
    weights = query.new_empty(*query.shape[:2], keys.shape[-1])
    for first in range(0, query.shape[1], ROWS):  # what is in the processor's cache is not read twice
        rows = slice(first, first + ROWS)
        products = _masked(query[:, rows] @ keys * layer.scaling, layer, first, slice(start, stop))
        weights[:, rows] = products.softmax(-1)
    for head, given in layer.weights.items():
        if start <= head < stop:
            weights[head - start] = given.to(weights.dtype)
    return weights


def attention(layer: Layer, dtype: torch.dtype | None = None) -> Tensor:
    """(H, S, K) attention weights [query, key]: softmax of `scores`, or the weights that are all there is, or that a
    change has put in their place."""
    if layer.attention is not None:
        weights = cast(layer.attention)
        return weights if dtype is None else weights.to(dtype)
    weights = _scores(layer, dtype).softmax(-1)
    for head, given in layer.weights.items():
        weights[head] = given.to(weights.dtype)
    return weights
