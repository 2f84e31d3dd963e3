"""Faults of the forward pass: activation, norms, attention, embeddings, and what single families get wrong.

Each is (ModelParts) -> PassChange or None. Where a family has no such part, or a run with it fails, the fault is not
offered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from ..model.plain_modules import epsilon
from .hypothesis import FORWARD, Fault, Hook, ModelParts, PassChange, Row, TextLengths, padded, refilled

Way = Callable[[ModelParts], PassChange | None]


def _hooks(hooks: Iterator[Hook] | list[Hook]) -> PassChange | None:
    hooks_of_modules = tuple(hooks)
    return PassChange(hooks=hooks_of_modules) if hooks_of_modules else None


def _once(modules: Iterator[Any]) -> list[Any]:
    return list({id(m): m for m in modules if isinstance(m, nn.Module)}.values())


def _input(module: nn.Module, arguments: Any, output: Any) -> Any:
    """What a module was given, in the form of what it gives."""
    return (arguments[0], *output[1:]) if isinstance(output, tuple) else arguments[0]


def _activation(function: Callable[[Tensor], Tensor]) -> Way:
    def after(module: Any, arguments: Any, output: Tensor) -> Tensor:
        inner = module.dense(arguments[0]) if hasattr(module, "dense") else arguments[0]
        return function(inner)

    def way(parts: ModelParts) -> PassChange | None:
        places = [parts.stream.activation(layer) if parts.stream else None for layer in parts.layers]
        inside = [getattr(layer, "intermediate", None) for layer in parts.layers]  # ESM's is in no module of its own
        modules = places if all(isinstance(m, nn.Module) for m in places) else inside
        return _hooks([Hook(module, False, after) for module in _once(iter(modules))])

    return way


def _norm(module: Any, x: Tensor, eps: float, correction: int = 0, is_outside: bool = False) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().sum(-1, keepdim=True) / (x.shape[-1] - correction)
    scaled = centred / (variance.sqrt() + eps if is_outside else (variance + eps).sqrt())
    scaled = scaled if module.weight is None else scaled * module.weight
    return scaled if module.bias is None else scaled + module.bias


def _norms(eps: float | None = None, **options: Any) -> Way:
    """All LayerNorms, with another ε or another formula."""

    def after(module: Any, arguments: Any, output: Tensor) -> Tensor:
        current = epsilon(module)
        assert current is not None
        return _norm(module, arguments[0], current if eps is None else eps, **options)

    def way(parts: ModelParts) -> PassChange | None:
        norms = parts.norms()
        return None if all(epsilon(m) == eps for m in norms) else _hooks([Hook(m, False, after) for m in norms])

    return way


def _norms_swapped(parts: ModelParts) -> PassChange | None:
    if parts.adapter is None:
        return None
    changed: dict[Tensor, Tensor] = {}
    for layer in parts.layers:
        norm: Any = parts.adapter.attention_norm(layer)
        second: Any = parts.adapter.mlp_norm(layer)
        if isinstance(norm, nn.Identity):
            continue
        changed |= {norm.weight: second.weight, second.weight: norm.weight}
        if norm.bias is not None:
            changed |= {norm.bias: second.bias, second.bias: norm.bias}
    return PassChange(weights=lambda: parts.named(changed)) if changed else None


def _no_final_norm(parts: ModelParts) -> PassChange | None:
    module = parts.of_stream("final_norm")
    if module is None and parts.adapter and parts.adapter.post_ln and len(_once(iter(parts.layers))) > 1:
        module = parts.adapter.mlp_norm(parts.layers[-1])
    return None if module is None else PassChange(hooks=(Hook(module, False, _input),))


def _no_residual(of_mlp: bool) -> Way:
    def way(parts: ModelParts) -> PassChange | None:
        adapter, hooks = parts.adapter, list[Hook]()
        if adapter is None or not adapter.post_ln or adapter.residual(parts.layers[0]) is not None:
            return None
        for layer in _once(iter(parts.layers)):
            stream: list[Tensor] = []
            source = adapter.attention_norm(layer) if of_mlp else layer
            target = adapter.mlp_norm(layer) if of_mlp else adapter.attention_norm(layer)

            def keep(module: Any, arguments: Any, output: Any = None, stream: list[Tensor] = stream) -> None:
                stream[:] = [arguments[0] if output is None else output]

            def less(module: Any, arguments: Any, stream: list[Tensor] = stream) -> Any:
                return (arguments[0] - stream[0], *arguments[1:])

            hooks += [Hook(source, not of_mlp, keep), Hook(target, True, less)]
        return _hooks(hooks)

    return way


def _first_layer_out(parts: ModelParts) -> PassChange | None:
    distinct = _once(iter(parts.layers))
    return PassChange(hooks=(Hook(distinct[0], False, _input),)) if len(distinct) > 1 else None


def _scores(factor: Callable[[int, int], float]) -> Way:
    """Scores times a factor of (width of a head, width of the model)."""

    def way(parts: ModelParts) -> PassChange | None:
        if parts.adapter is None:
            return None
        by = factor(parts.width // parts.heads, parts.width)

        def weights() -> dict[str, Tensor]:
            projections = [m for n, m in parts.base.named_modules() if n.endswith("pos_query_proj")]  # DeBERTa's
            tensors = [t for m in projections for t in (m.weight, m.bias) if t is not None]
            return refilled(parts, "query", lambda t: t * by) | parts.named({t: t * by for t in tensors})

        return PassChange(weights=weights)

    return way


def _bias_out(kind: str) -> Way:
    def way(parts: ModelParts) -> PassChange | None:
        if parts.adapter is None or all(m.bias is None for m, _ in parts.projections(kind)):
            return None
        return PassChange(weights=lambda: refilled(parts, kind, torch.zeros_like, "bias"))

    return way


def _swapped(parts: ModelParts) -> PassChange | None:
    if parts.adapter is None:
        return None

    def weights() -> dict[str, Tensor]:
        changed: dict[Tensor, Tensor] = {}
        pairs = zip(parts.projections("query"), parts.projections("key"), strict=True)
        for (query, rows), (key, others) in pairs:
            for name in ("weight", "bias"):
                a, b = getattr(query, name), getattr(key, name)
                if a is not None:
                    for tensor in (a, b):
                        changed.setdefault(tensor, tensor.detach().clone())
                    changed[a][rows], changed[b][others] = b.detach()[others], a.detach()[rows]
        return parts.named(changed)

    return PassChange(weights=weights)


def _value_transposed(parts: ModelParts) -> PassChange | None:
    if parts.adapter is None or any(rows.stop - rows.start != m.in_features for m, rows in parts.projections("value")):
        return None
    return PassChange(weights=lambda: refilled(parts, "value", lambda t: t.T.clone(), "weight"))


def _regrouped(order: Callable[[Tensor, int], Tensor], *kinds: str) -> Way:
    """Rows of projections in another order: `order` of (rows, heads) gives them."""

    def way(parts: ModelParts) -> PassChange | None:
        if parts.adapter is None:
            return None

        def weights() -> dict[str, Tensor]:
            merged: dict[str, Tensor] = {}
            for kind in kinds:
                for name, tensor in refilled(parts, kind, lambda t: order(t, parts.heads)).items():
                    third = len(tensor) // 3
                    rows = slice(None)
                    if parts.adapter and parts.adapter.value_part is not None:
                        at = ("query", "key", "value").index(kind)
                        rows = slice(at * third, (at + 1) * third)
                    merged.setdefault(name, tensor.clone())[rows] = tensor[rows]
            return merged

        return PassChange(weights=weights)

    return way


def _by_number(rows: Tensor, heads: int) -> Tensor:
    """Heads read as (d, H): number n of head h stands at n · H + h."""
    return rows.unflatten(0, (-1, heads)).transpose(0, 1).flatten(0, 1)


def _interleaved(rows: Tensor, heads: int) -> Tensor:
    """Numbers 2n and 2n + 1 of a head are turned against each other, where n and n + d/2 should be."""
    return rows.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


def _of_rotary(way: Way) -> Way:
    return lambda parts: way(parts) if _frequencies(parts) else None


def _frequencies(parts: ModelParts) -> dict[str, Tensor]:
    """The frequencies of rotary positions by name."""
    return {n: b for n, b in parts.base.named_buffers() if n.endswith("inv_freq") and "original" not in n}


def _no_rotation(parts: ModelParts) -> PassChange | None:
    return PassChange(weights=lambda: {name: torch.zeros_like(b) for name, b in _frequencies(parts).items()})


def _one_theta(source: str) -> Way:
    """ModernBERT: the frequencies of one kind of layer in both."""

    def way(parts: ModelParts) -> PassChange | None:
        current = _frequencies(parts)
        source_buffer = next((b for name, b in current.items() if source in name), None)
        return (
            PassChange(weights=lambda: dict.fromkeys(current, source_buffer))
            if source_buffer is not None and len(current) > 1
            else None
        )

    return way


def _window(width: Callable[[int], int]) -> Way:
    def way(parts: ModelParts) -> PassChange | None:
        config: Any = parts.base.config
        local = getattr(config, "local_attention", None)
        if local is None:
            return None
        modules = [m for m in parts.base.modules() if isinstance(getattr(m, "sliding_window", None), int)]
        half = width(local) // 2 + 1
        return PassChange(
            attributes=((config, "local_attention", width(local)), *((m, "sliding_window", half) for m in modules))
        )

    return way


def _half_the_heads(parts: ModelParts) -> PassChange | None:
    attributes: list[tuple[Any, str, Any]] = []
    for module in parts.base.modules():
        names = vars(module)
        if parts.heads % 2 or not isinstance(names.get("attention_head_size"), int):
            continue
        width = 2 * names["attention_head_size"]
        sizes = {"attention_head_size": width, "num_attention_heads": parts.heads // 2, "n_heads": parts.heads // 2}
        sizes["scaling"] = width**-0.5 if names.get("scaling") != 1 else 1
        attributes += [(module, name, value) for name, value in sizes.items() if name in names]
    return PassChange(attributes=tuple(attributes)) if attributes else None


def _no_embedding_norm(parts: ModelParts) -> PassChange | None:
    norm = parts.of_stream("norm")
    return None if norm is None else PassChange(hooks=(Hook(norm, False, _input),))


def _words_scaled(parts: ModelParts) -> PassChange | None:
    words, by = parts.of_stream("word"), math.sqrt(parts.width)
    return None if words is None else PassChange(hooks=(Hook(words, False, lambda module, args, out: out * by),))


def _table(part: str, change: Callable[[Tensor], Tensor]) -> Way:
    """A table of embeddings, its rows changed."""

    def way(parts: ModelParts) -> PassChange | None:
        module: Any = parts.of_stream(part)
        if module is None or (part == "type" and (len(module.weight) < 2 or module is parts.of_stream("word"))):
            return None
        return PassChange(weights=lambda: parts.named({module.weight: change(module.weight.detach())}))

    return way


def _later(n: int) -> Callable[[Tensor], Tensor]:
    """Positions that begin n later."""
    return lambda table: table[(torch.arange(len(table), device=table.device) + n).clamp(0, len(table) - 1)]


def _begin_at(start: int) -> Way:
    """Positions that begin at a row of the table, where the family begins behind its padding's."""

    def way(parts: ModelParts) -> PassChange | None:
        table: Any = parts.of_stream("position")
        current = None if table is None or table.padding_idx is None else table.padding_idx + 1
        return None if current is None or current == start else _table("position", _later(start - current))(parts)

    return way


def _segment(n: int) -> Callable[[Tensor], Tensor]:
    return lambda table: table[[n, *range(1, len(table))]]


def _tensor(path: str, change: Callable[[Tensor], Tensor]) -> Way:
    """A tensor by the end of its name in the model."""

    def way(parts: ModelParts) -> PassChange | None:
        weights_of_path = {name: p for name, p in parts.base.named_parameters() if name.endswith(path)}
        return (
            PassChange(weights=lambda: {n: change(p.detach()) for n, p in weights_of_path.items()})
            if weights_of_path
            else None
        )

    return way


def _mirrored_buckets(table: Tensor) -> Tensor:
    half = len(table) // 2  # the first half is of the past, from 0; the second of what follows, from 1
    return torch.cat([table[:1], table[half + 1 :], table[half : half + 1], table[1:half]])


def _one_sided(table: Tensor) -> Tensor:
    half = len(table) // 2
    return torch.cat([table[:half], table[:1].expand(half, -1)])


def _max_distance(parts: ModelParts) -> PassChange | None:
    encoder: Any = getattr(parts.base, "encoder", None)
    bucket = getattr(encoder, "relative_position_bucket", None)
    attribute = (encoder, "relative_position_bucket", partial(bucket, max_distance=64)) if bucket else None
    return PassChange(attributes=(attribute,)) if attribute else None


def _without_term(term: str) -> Way:
    """DeBERTa: scores without one of its terms, the factor of all as before."""

    def way(parts: ModelParts) -> PassChange | None:
        modules = [m for m in parts.base.modules() if term in (getattr(m, "pos_att_type", None) or ())]
        if not modules:
            return None
        n = len(modules[0].pos_att_type)
        kept = [t for t in modules[0].pos_att_type if t != term]
        scaled = _scores(lambda d, width: math.sqrt(n / (n + 1)))(parts)
        return scaled and replace(scaled, attributes=tuple((m, "pos_att_type", kept) for m in modules))

    return way


def _deberta_scale(parts: ModelParts) -> PassChange | None:
    terms = next((len(m.pos_att_type) for m in parts.base.modules() if getattr(m, "pos_att_type", None)), 0)
    return _scores(lambda d, width: math.sqrt(1 + terms))(parts) if terms else None


def _relative_norm(parts: ModelParts) -> PassChange | None:
    module = getattr(getattr(parts.base, "encoder", None), "LayerNorm", None)
    return None if module is None else PassChange(hooks=(Hook(module, False, _input),))


def _mirrored_distances(table: Tensor) -> Tensor:
    return torch.cat([table[:1], table[1:].flip(0)])


def _no_buckets(parts: ModelParts) -> PassChange | None:
    encoder: Any = getattr(parts.base, "encoder", None)
    has = getattr(encoder, "position_buckets", 0) > 0
    return PassChange(attributes=((encoder, "position_buckets", -1),)) if has else None


def _no_dropout_scale(parts: ModelParts) -> PassChange | None:
    embeddings: Any = getattr(parts.base, "embeddings", None)
    has = bool(getattr(embeddings, "token_dropout", False))
    return PassChange(attributes=((embeddings, "token_dropout", False),)) if has else None


def _halves_swapped(parts: ModelParts) -> PassChange | None:
    if parts.adapter is None or not (parts.stream and parts.stream.fused_gate):
        return None
    modules: list[Any] = [parts.adapter.mlp(layer)[0] for layer in parts.layers]
    tensors = [t for m in modules for t in (m.weight, m.bias) if t is not None]
    return PassChange(weights=lambda: parts.named({t: torch.cat(t.detach().chunk(2)[::-1]) for t in tensors}))


def _causal(parts: ModelParts) -> PassChange | None:
    return PassChange(is_causal=True)


def _left_padded(row: Row, batch: TextLengths) -> Row:
    return replace(row, shift=max(0, batch.longest - len(row.ids)))


def _row(change: Callable[[Row, TextLengths], Row], argument: str = "") -> Way:
    def way(parts: ModelParts) -> PassChange | None:
        has = not argument or (argument in parts.arguments and parts.of_stream("position") is not None)
        return PassChange(row=change) if has else None

    return way


def _fault(name: str, way: Way) -> Fault:
    return Fault(name, FORWARD, way)


FAULTS = (
    _fault("tanh GELU", _activation(lambda x: fn.gelu(x, approximate="tanh"))),
    _fault("erf GELU", _activation(fn.gelu)),
    _fault("quick GELU", _activation(lambda x: x * torch.sigmoid(1.702 * x))),
    _fault("ReLU", _activation(fn.relu)),
    _fault("SiLU", _activation(fn.silu)),
    *(_fault(f"ε of the norms {eps:g}", _norms(eps)) for eps in (1e-12, 1e-6, 1e-5, 1e-3)),
    _fault("variance with n − 1", _norms(correction=1)),
    _fault("ε outside the root", _norms(is_outside=True)),
    _fault("norms of a layer swapped", _norms_swapped),
    _fault("last norm left out", _no_final_norm),
    _fault("no residual around attention", _no_residual(False)),
    _fault("no residual around the MLP", _no_residual(True)),
    _fault("first layer left out", _first_layer_out),
    _fault("scores not scaled", _scores(lambda d, width: math.sqrt(d))),
    _fault("scores by d", _scores(lambda d, width: 1 / math.sqrt(d))),
    _fault("scores by √D", _scores(lambda d, width: math.sqrt(d / width))),
    _fault("no key bias", _bias_out("key")),
    _fault("no query bias", _bias_out("query")),
    _fault("no value bias", _bias_out("value")),
    _fault("queries and keys swapped", _swapped),
    _fault("values transposed", _value_transposed),
    _fault("heads read as (d, H)", _regrouped(_by_number, "query", "key", "value")),
    _fault("half the heads, twice as wide", _half_the_heads),
    _fault("no norm of the embeddings", _no_embedding_norm),
    _fault("word embeddings times √D", _words_scaled),
    _fault("no positions", _table("position", torch.zeros_like)),
    _fault("positions begin 1 later", _table("position", _later(1))),
    _fault("positions begin 2 later", _table("position", _later(2))),
    _fault("positions from 0", _begin_at(0)),
    _fault("positions from 1", _begin_at(1)),
    _fault("no segment row", _table("type", torch.zeros_like)),
    _fault("segment 1", _table("type", _segment(1))),
    _fault("causal mask", _causal),
    _fault("padded on the left, positions of the padding", _row(_left_padded, "position_ids")),
    _fault("padding to the longest text attended to", _row(lambda row, batch: padded(row, batch.longest, True))),
    _fault("padding to the limit attended to", _row(lambda row, batch: padded(row, batch.limit, True))),
    _fault("padded to the longest text", _row(lambda row, batch: padded(row, batch.longest, False))),
    _fault("padded to the limit", _row(lambda row, batch: padded(row, batch.limit, False))),
    # MPNet
    _fault("no relative positions", _tensor("relative_attention_bias.weight", torch.zeros_like)),
    _fault("relative positions mirrored", _tensor("relative_attention_bias.weight", _mirrored_buckets)),
    _fault("relative positions of the past alone", _tensor("relative_attention_bias.weight", _one_sided)),
    _fault("relative positions up to 64", _max_distance),
    # rotary positions
    _fault("rotary numbers interleaved", _of_rotary(_regrouped(_interleaved, "query", "key"))),
    _fault("no rotary positions", _of_rotary(_no_rotation)),
    _fault("global layers' rotary base in all", _one_theta("full")),
    _fault("local layers' rotary base in all", _one_theta("sliding")),
    # ModernBERT
    _fault("halves of the gate swapped", _halves_swapped),
    _fault("all layers attend to all tokens", _window(lambda n: 1 << 20)),
    _fault("windows twice as wide", _window(lambda n: 2 * n)),
    _fault("windows wider by one", _window(lambda n: n + 2)),
    # DeBERTa, ESM
    _fault("no content-to-position scores", _without_term("c2p")),
    _fault("no position-to-content scores", _without_term("p2c")),
    _fault("scores by √d alone", _deberta_scale),
    _fault("relative embeddings not normalised", _relative_norm),
    _fault("relative embeddings mirrored", _tensor("rel_embeddings.weight", _mirrored_distances)),
    _fault("distances not in buckets", _no_buckets),
    _fault("scale of token dropout left out", _no_dropout_scale),
)
