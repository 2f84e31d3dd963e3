"""Both sides of a score at once: what a query was made of against what a key was made of."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ...base.dataframes import pd
from ...errors import SelectionError, check_index
from ...trace.checks import check_finite
from ...trace.trace import Trace
from .head_score import SIDES, visible_keys
from .pull import Parts, Reading, parts
from .score_terms import score_terms
from .stream import Stream

GROUPS = ("word", "position", "type", "heads", "mlps", "bias")
Pair = tuple[str, str]


class Maps(dict[Pair, Tensor]):
    """(query group, key group) -> (S, S) part of a head's scores, NaN where a key is hidden; `notes` in words."""

    notes: tuple[str, ...] = ()


@torch.no_grad()
def pairs(trace: Trace, layer: int, head: int, query: int, key: int) -> pd.DataFrame:
    """(C, C) one raw score by the sources of its query (down) and of its key (across), rows of `score(...).parts`.

    Both axes are (kind, layer, head). All of it sums to the score, rows to the parts of side="query" and columns to
    those of side="key", both with against=None. What a family adds to q·k stands where its row meets its column. MLPs
    are sources. Raises like `score`.
    """
    names, values, notes = _pairs(trace, layer, head, query, key)
    axes = [pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"]) for rows in names]
    table = pd.DataFrame(values.cpu().numpy(), index=axes[0], columns=axes[1])
    table.attrs["notes"] = notes
    return table


@torch.no_grad()
def kind_pairs(trace: Trace, layer: int, head: int, query: int, key: int) -> tuple[list[str], Tensor, list[str]]:
    """`pairs` summed by the kinds of both sides, without pandas: kinds, (K, K) float64, notes."""
    names, values, notes = _pairs(trace, layer, head, query, key)
    kinds = list(dict.fromkeys(kind for kind, *_ in names[0]))
    for axis, rows in enumerate(names):
        at = torch.tensor([kinds.index(kind) for kind, *_ in rows], device=values.device)
        sizes = [len(kinds) if axis == dim else values.shape[dim] for dim in (0, 1)]
        values = values.new_zeros(sizes).index_add_(axis, at, values)
    return kinds, values, notes


def _pairs(
    trace: Trace, layer: int, head: int, query: int, key: int
) -> tuple[list[list[tuple[str, float, float]]], Tensor, list[str]]:
    """The rows of the query's sources and of the key's, terms beside q·k last; (C, C); notes."""
    check_index(layer, trace.n_layers, "layer")
    check_index(head, trace.n_heads, "head")
    check_index(query, trace.n_tokens, "query")
    check_index(key, trace.n_tokens, "key")
    stream = Stream(trace)
    check_finite(trace)
    if not visible_keys(trace, layer, head, query)[key]:
        raise SelectionError(f"key {key} is hidden from query {query} by the model's mask")
    names: list[list[tuple[str, float, float]]] = []
    sides: list[Tensor] = []
    for side, token in (("query", query), ("key", key)):
        tokens = torch.tensor([token], device=stream.device)
        split = parts(stream, _in_head_space(stream, layer, head, side, tokens, torch.ones_like(tokens).double()))
        rows, vectors = _listed(split)
        rotation = stream.rotation(layer)
        sides.append(vectors if rotation is None else rotation.of(token).turned(vectors))
        names.append(rows)
    products = trace.scaling(layer) * sides[0] @ sides[1].T
    terms = score_terms(trace, layer, head, slice(query, query + 1))
    for rows in names:
        rows += [(term, float("nan"), float("nan")) for term in terms]
    return names, torch.block_diag(products, *(part[0, key] for part in terms.values())), list(stream.notes)


@torch.no_grad()
def groups(trace: Trace, layer: int, head: int, side: str, tokens: slice) -> dict[str, Tensor]:
    """group of GROUPS -> (T, d) float64: the parts of some tokens' queries or keys, after any rotation.

    side: "query" or "key". As far as a model has such sources; they sum to the queries or keys. Raises like `score`.
    """
    check_index(layer, trace.n_layers, "layer")
    check_index(head, trace.n_heads, "head")
    stream = Stream(trace)
    check_finite(trace)
    positions = torch.arange(tokens.start, tokens.stop, device=stream.device)
    by_group = _grouped(parts(stream, _in_head_space(stream, layer, head, side, positions, None), together=True))
    rotation = stream.rotation(layer)
    if rotation is None:
        return by_group
    return {name: rotation.of(tokens).turned(x) for name, x in by_group.items()}


@torch.no_grad()
def maps(trace: Trace, layer: int, head: int, center: bool = False) -> Maps:
    """(query group, key group) -> (S, S): one head's scores as a sum of 36 maps, in the order of GROUPS.

    Groups: word, position, type, heads (all earlier ones), mlps (all earlier ones), bias; where a model has no such
    source its maps are 0. What a family adds to q·k is a map more, (term, term), for each of KINDS behind "bias". On
    visible cells the maps sum to trace.scores(layer)[head]; hidden cells are NaN. `center` subtracts each row's mean
    over its visible keys, which the softmax does not see. float32, or float64 for a float64 model. Raises like `score`.
    """
    stream = Stream(trace)
    queries, keys = (groups(trace, layer, head, side, slice(0, trace.n_tokens)) for side in SIDES)
    hidden = ~visible_keys(trace, layer, head, slice(None))
    some_hidden = bool(hidden.any())
    count = (~hidden).sum(-1, keepdim=True).double()
    score_maps = Maps()
    score_maps.notes = stream.notes
    for down in GROUPS:
        for across in GROUPS:
            if down not in queries or across not in keys:
                scores = torch.zeros(trace.n_tokens, trace.n_tokens, dtype=stream.dtype, device=stream.device)
            else:
                query, key = trace.scaling(layer) * queries[down], keys[across]
                scores = query.to(stream.dtype) @ key.to(stream.dtype).T
                if center:  # q_i · mean of the visible keys
                    mean = (~hidden).double() @ key / count if some_hidden else key.mean(0, keepdim=True)
                    scores -= (query * mean).sum(-1, keepdim=True).to(stream.dtype)
            score_maps[down, across] = scores.masked_fill_(hidden, torch.nan) if some_hidden else scores
    for term, scores in score_terms(trace, layer, head, slice(None)).items():
        if center:
            scores = scores - scores.sum(-1, keepdim=True) / count
        score_maps[term, term] = scores.to(stream.dtype).masked_fill(hidden, torch.nan)
    return score_maps


def map_shares(maps: Mapping[Pair, Tensor]) -> dict[Pair, float]:
    """Share of each of the maps in how keys differ: Σ_i cov_j(part, whole) / Σ_i var_j(whole), j over visible keys.

    Shares sum to 1, can be negative, and are the same with `center` and without. NaN where the scores of every query
    are equal.
    """
    example = next(iter(maps.values()))
    visible = ~example.isnan()
    count = visible.sum(-1, keepdim=True)

    def centred(x: Tensor) -> Tensor:
        x = x.double().nan_to_num(0.0)
        return (x - x.sum(-1, keepdim=True) / count) * visible

    total = torch.zeros_like(example, dtype=torch.float64)
    for scores in maps.values():
        total += centred(scores)
    weighted = total / count
    variance = float((total * weighted).sum())
    if not variance:
        return dict.fromkeys(maps, float("nan"))
    # Σ_j (scores − their mean) · total = Σ_j scores · total, as the rows of `total` sum to 0
    return {pair: float((scores.double().nan_to_num(0.0) * weighted).sum()) / variance for pair, scores in maps.items()}


def _in_head_space(stream: Stream, layer: int, head: int, side: str, tokens: Tensor, share: Tensor | None) -> Reading:
    """The queries or keys of some tokens before any rotation, as d readings."""
    map = stream.projection(layer, side, head)
    vector = map.weight.double()[None]  # (1, d, D)
    constant = vector.new_zeros(len(map.weight)) if map.bias is None else map.bias.double()
    if share is None:
        constant = constant.expand(len(tokens), -1)
    return Reading(layer, tokens, share, vector, constant)


def _listed(found: Parts) -> tuple[list[tuple[str, float, float]], Tensor]:
    """The rows of `Sources.parts` with their vectors (C, d)."""
    nan = float("nan")
    rows, vectors = [(kind, nan, nan) for kind in found.embedded], [*found.embedded.values()]
    for layer in sorted(found.heads):
        rows += [("head", float(layer), float(h)) for h in range(len(found.heads[layer]))]
        vectors += [*found.heads[layer]]
    rows += [("mlp", float(layer), nan) for layer in sorted(found.mlps)]
    vectors += [found.mlps[layer] for layer in sorted(found.mlps)]
    return [*rows, ("bias", nan, nan)], torch.stack([*vectors, found.bias])


def _grouped(found: Parts) -> dict[str, Tensor]:
    """group -> (S, d), as far as there are such sources."""
    grouped = dict(found.embedded) | {"bias": found.bias}
    for name, by_layer in (("heads", found.heads), ("mlps", found.mlps)):
        if by_layer:
            grouped[name] = torch.stack([*by_layer.values()]).sum(0)
    return grouped
