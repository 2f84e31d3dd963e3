"""Families that compute attention in a module of their own, and how its call reads as one of the attention interface.

For the length of a loan such a module's forward makes queries, keys and values with the module's own projections and
methods, hands them with mask and bias to the attention function that is set, and returns its context as the module
would. A class that has moved to the interface of transformers is left to it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

from ..model.loan import Loan
from ..model.modules import modules_by_name
from .score_bias import DisentangledBias, LayoutBias, ScoreBias

Arguments = dict[str, Any]  # of a module's forward, by name


@dataclass
class Call:
    """What one call of a module computes attention from. B texts, H heads, S tokens."""

    query: Tensor  # (B, H, S, d)
    key: Tensor
    value: Tensor
    scaling: float
    mask: Tensor | None  # bool (True = visible) or additive, (B, 1, 1|S, S)
    bias: ScoreBias | Tensor | None = None
    causal: bool = False
    second_value: Tensor | None = None  # (B, H, S, d') of a second stream, which the same weights mix
    # what the module returns, of the contexts (B, S, H·d) and (B, S, H·d')
    output: Callable[[Tensor, Tensor | None], tuple[Any, ...]] = lambda context, second: (context, None)


def _heads(x: Tensor, n: int) -> Tensor:
    """(B, n, S, d) of (B, S, n·d)."""
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


def _plain(module: Any, given: Arguments) -> Call | None:
    """Projections named query, key and value (RemBERT, Megatron-BERT, VisualBERT); None with a cache, across texts."""
    if any(given.get(name) is not None for name in ("encoder_hidden_states", "cache", "past_key_values")):
        return None
    n, x = module.num_attention_heads, given["hidden_states"]
    query, key, value = (_heads(projection(x), n) for projection in (module.query, module.key, module.value))
    causal = getattr(module, "is_decoder", False)
    return Call(query, key, value, query.shape[-1] ** -0.5, given.get("attention_mask"), causal=causal)


def _roformer(module: Any, given: Arguments) -> Call | None:
    call = _plain(module, given)
    if call is not None and (angles := given.get("sinusoidal_pos")) is not None:
        turn = module.apply_rotary_position_embeddings
        if module.rotary_value:
            call.query, call.key, call.value = turn(angles, call.query, call.key, call.value)
        else:
            call.query, call.key = turn(angles, call.query, call.key)
    return call


def _luke(module: Any, given: Arguments) -> Call | None:
    """Of words alone: entities have queries of their own."""
    if given.get("entity_hidden_states") is not None:
        return None
    call = _plain(module, given | {"hidden_states": given["word_hidden_states"]})
    if call is not None:
        call.output = lambda context, second: (context, None, None)
    return call


def _lilt(module: Any, given: Arguments) -> Call | None:
    call = _plain(module, given)
    if call is not None:
        n, layout = module.num_attention_heads, given["layout_inputs"]
        projections = (module.layout_query, module.layout_key, module.layout_value)
        query, key, call.second_value = (_heads(projection(layout), n) for projection in projections)
        call.bias = LayoutBias(query, key, query.shape[-1] ** -0.5)
        call.output = lambda context, second: (context, second, None)
    return call


def _mpnet(module: Any, given: Arguments) -> Call:
    n, x = module.num_attention_heads, given["hidden_states"]
    query, key, value = (_heads(projection(x), n) for projection in (module.q, module.k, module.v))
    call = Call(query, key, value, query.shape[-1] ** -0.5, given.get("attention_mask"), given.get("position_bias"))
    call.output = lambda context, second: (module.o(context), None)
    return call


def _deberta_v2(module: Any, given: Arguments) -> Call | None:
    if given.get("query_states") is not None:
        return None
    n, x = module.num_attention_heads, given["hidden_states"]
    query, key, value = (_heads(map(x), n) for map in (module.query_proj, module.key_proj, module.value_proj))
    kinds = [kind for kind in ("c2p", "p2c") if kind in module.pos_att_type]
    scaling = _scaling(query.shape[-1] * (1 + len(kinds)))
    bias = None
    if module.relative_attention and kinds:
        span = module.pos_ebd_size
        vectors = module.pos_dropout(given["rel_embeddings"])[None, : 2 * span]
        share = module.share_att_key
        of_keys = (module.key_proj if share else module.pos_key_proj) if "c2p" in kinds else None
        of_queries = (module.query_proj if share else module.pos_query_proj) if "p2c" in kinds else None
        bias = _disentangled(of_keys, of_queries, vectors, given["relative_pos"], span, n, scaling)
    return Call(query, key, value, scaling, _of_pairs(given["attention_mask"]), bias)


def _deberta(module: Any, given: Arguments) -> Call | None:
    if given.get("query_states") is not None or module.talking_head:
        return None
    n, x = module.num_attention_heads, given["hidden_states"]
    query, key, value = _heads(module.in_proj(x), n).chunk(3, -1)
    query, value = query + _heads(module.q_bias[None, None], n), value + _heads(module.v_bias[None, None], n)
    kinds = module.pos_att_type
    scaling = _scaling(query.shape[-1] * (1 + len(kinds)))
    bias = None
    if module.relative_attention and kinds and given.get("rel_embeddings") is not None:
        span, middle = min(x.shape[1], module.max_relative_positions), module.max_relative_positions
        vectors = module.pos_dropout(given["rel_embeddings"])[None, middle - span : middle + span]
        of_keys = module.pos_proj if "c2p" in kinds else None
        of_queries = module.pos_q_proj if "p2c" in kinds else None
        bias = _disentangled(of_keys, of_queries, vectors, given["relative_pos"], span, n, scaling)
    return Call(query, key, value, scaling, _of_pairs(given["attention_mask"]), bias)


def _scaling(size: int) -> float:
    """1/√size, of a root that DeBERTa takes in float32 whatever the model's type."""
    return 1 / float(torch.tensor(size, dtype=torch.float, device="cpu").sqrt())


def _of_pairs(mask: Tensor) -> Tensor:
    """DeBERTa's (B, 1, S, S) of visible pairs; padding, which sees nothing there and would be NaN, sees all."""
    mask = mask.bool()
    return mask | ~mask.any(-1, keepdim=True)


def _disentangled(
    of_keys: nn.Module | None,
    of_queries: nn.Module | None,
    vectors: Tensor,
    relative: Tensor,
    span: int,
    heads: int,
    scaling: float,
) -> DisentangledBias:
    """vectors: (1, K, D) of distances. relative: (1, S, S) query less key, in buckets; -span … span are told apart."""
    numbers = relative.reshape(relative.shape[-2:])
    rows = torch.cat([numbers[0].flip(0), numbers[1:, 0]]) + span
    key_table, query_table = (None if map is None else _heads(map(vectors), heads)[0] for map in (of_keys, of_queries))
    return DisentangledBias(key_table, query_table, rows.long().clamp(0, 2 * span - 1), scaling)


# By file and name of the class of transformers.models; None: it hands its attention to the interface, though the model
# was never declared to support sdpa.
_READERS: dict[str, Callable[[Any, Arguments], Call | None] | None] = {
    "modeling_deberta.DisentangledSelfAttention": _deberta,
    "modeling_lilt.LiltSelfAttention": _lilt,
    "modeling_luke.LukeSelfAttention": _luke,
    "modeling_markuplm.MarkupLMSelfAttention": None,
    "modeling_megatron_bert.MegatronBertSelfAttention": _plain,
    "modeling_mpnet.MPNetSelfAttention": _mpnet,
    "modeling_rembert.RemBertSelfAttention": _plain,
    "modeling_roformer.RoFormerSelfAttention": _roformer,
    "modeling_splinter.SplinterSelfAttention": None,
    "modeling_visual_bert.VisualBertSelfAttention": _plain,
    "modeling_deberta_v2.DisentangledSelfAttention": _deberta_v2,
}


def _name(kind: type) -> str:
    return f"{kind.__module__.removeprefix('transformers.models.').partition('.')[2]}.{kind.__name__}"


def _class_of(module: nn.Module) -> Any:
    """The class in the table whose forward a module runs, or None."""
    for kind in type(module).__mro__:
        if kind.__module__.startswith("transformers.models.") and _name(kind) in _READERS:
            return kind if type(module).forward is vars(kind).get("forward") and "forward" not in vars(module) else None
    return None


def is_read(model: nn.Module) -> bool:
    """Whether a model's attention is of a class that this file knows how to read."""
    return any(_class_of(module) is not None for module in model.modules())


def lend(model: nn.Module, implementation: str, loan: Loan) -> None:
    """As long as the loan lasts, modules that compute attention themselves call the attention function of that name."""
    for module in modules_by_name(model).values():
        kind = _class_of(module)
        if kind is None:
            continue
        read = _READERS[_name(kind)]
        if "ALL_ATTENTION_FUNCTIONS" not in inspect.unwrap(kind.forward).__code__.co_names and read is not None:
            loan.set(module, "forward", _through_interface(module, read, AttentionInterface()[implementation]))
        elif not hasattr(module, "is_causal"):  # sdpa takes a module that does not say for a decoder's
            loan.set(module, "is_causal", False)


def _through_interface(
    module: nn.Module, read: Callable[[Any, Arguments], Call | None], attention: Callable[..., Any]
) -> Callable[..., Any]:
    forward = module.forward
    signature = inspect.signature(forward)

    def computed(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        call = read(module, given | given.pop("kwargs", {}))
        if call is None:
            return forward(*args, **kwargs)
        mask = call.mask if call.mask is None else call.mask.expand(-1, -1, call.query.shape[2], -1)
        stated = {"scaling": call.scaling, "is_causal": call.causal and mask is None, "position_bias": call.bias}
        if call.second_value is not None:
            stated["second_value"] = call.second_value
        context, second = attention(module, call.query, call.key, call.value, mask, **stated)
        return call.output(context.flatten(2), None if second is None else second.flatten(2))

    return computed
