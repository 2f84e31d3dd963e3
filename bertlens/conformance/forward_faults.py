"""Faults of the forward pass: activation, norms, attention, embeddings, and what single families get wrong.

Each is (ModelParts) -> PassChange or None. Where a family has no such part, or a run with it fails, the fault is not
offered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from ..model.plain_modules import epsilon
from . import attention_faults as attention
from . import position_faults as positions
from .hypothesis import FORWARD, Fault, Hook, ModelParts, PassChange, Row, TextLengths, Way, padded


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


def _no_embedding_norm(parts: ModelParts) -> PassChange | None:
    norm = parts.of_stream("norm")
    return None if norm is None else PassChange(hooks=(Hook(norm, False, _input),))


def _words_scaled(parts: ModelParts) -> PassChange | None:
    words, by = parts.of_stream("word"), math.sqrt(parts.width)
    return None if words is None else PassChange(hooks=(Hook(words, False, lambda module, args, out: out * by),))


def _relative_norm(parts: ModelParts) -> PassChange | None:
    module = getattr(getattr(parts.base, "encoder", None), "LayerNorm", None)
    return None if module is None else PassChange(hooks=(Hook(module, False, _input),))


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


_BUCKETS = "relative_attention_bias.weight"


def _fault(name: str, way: Way) -> Fault:
    return Fault(name, FORWARD, way)


_INTERLEAVED = attention.regrouped(attention.interleaved, "query", "key")

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
    _fault("scores not scaled", attention.scores(lambda d, width: math.sqrt(d))),
    _fault("scores by d", attention.scores(lambda d, width: 1 / math.sqrt(d))),
    _fault("scores by √D", attention.scores(lambda d, width: math.sqrt(d / width))),
    _fault("no key bias", attention.bias_out("key")),
    _fault("no query bias", attention.bias_out("query")),
    _fault("no value bias", attention.bias_out("value")),
    _fault("queries and keys swapped", attention.swapped),
    _fault("values transposed", attention.value_transposed),
    _fault("heads read as (d, H)", attention.regrouped(attention.by_number, "query", "key", "value")),
    _fault("half the heads, twice as wide", attention.half_the_heads),
    _fault("no norm of the embeddings", _no_embedding_norm),
    _fault("word embeddings times √D", _words_scaled),
    _fault("no positions", positions.table("position", torch.zeros_like)),
    _fault("positions begin 1 later", positions.table("position", positions.later(1))),
    _fault("positions begin 2 later", positions.table("position", positions.later(2))),
    _fault("positions from 0", positions.begin_at(0)),
    _fault("positions from 1", positions.begin_at(1)),
    _fault("no segment row", positions.table("type", torch.zeros_like)),
    _fault("segment 1", positions.table("type", positions.segment(1))),
    _fault("causal mask", _causal),
    _fault("padded on the left, positions of the padding", _row(_left_padded, "position_ids")),
    _fault("padding to the longest text attended to", _row(lambda row, batch: padded(row, batch.longest, True))),
    _fault("padding to the limit attended to", _row(lambda row, batch: padded(row, batch.limit, True))),
    _fault("padded to the longest text", _row(lambda row, batch: padded(row, batch.longest, False))),
    _fault("padded to the limit", _row(lambda row, batch: padded(row, batch.limit, False))),
    # MPNet
    _fault("no relative positions", positions.tensor(_BUCKETS, torch.zeros_like)),
    _fault("relative positions mirrored", positions.tensor(_BUCKETS, positions.mirrored_buckets)),
    _fault("relative positions of the past alone", positions.tensor(_BUCKETS, positions.one_sided)),
    _fault("relative positions up to 64", positions.max_distance),
    # rotary positions
    _fault("rotary numbers interleaved", positions.of_rotary(_INTERLEAVED)),
    _fault("no rotary positions", positions.of_rotary(positions.no_rotation)),
    _fault("global layers' rotary base in all", positions.one_theta("full")),
    _fault("local layers' rotary base in all", positions.one_theta("sliding")),
    # ModernBERT
    _fault("halves of the gate swapped", _halves_swapped),
    _fault("all layers attend to all tokens", attention.window(lambda n: 1 << 20)),
    _fault("windows twice as wide", attention.window(lambda n: 2 * n)),
    _fault("windows wider by one", attention.window(lambda n: n + 2)),
    # DeBERTa, ESM
    _fault("no content-to-position scores", attention.without_term("c2p")),
    _fault("no position-to-content scores", attention.without_term("p2c")),
    _fault("scores by √d alone", attention.deberta_scale),
    _fault("relative embeddings not normalised", _relative_norm),
    _fault("relative embeddings mirrored", positions.tensor("rel_embeddings.weight", positions.mirrored_distances)),
    _fault("distances not in buckets", positions.no_buckets),
    _fault("scale of token dropout left out", _no_dropout_scale),
)
