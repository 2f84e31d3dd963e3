"""One call of attention as the model makes it: contexts by transformers' sdpa, a bias written out for some queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..model.transformers_private import sdpa_attention_forward
from .score_bias import ScoreBias

WRITTEN_OUT = 2**24  # numbers of a bias that are written out at a time


@dataclass
class AttentionCall:
    """One attention call as it was computed, changes included. B texts, H heads, S tokens."""

    context: Tensor  # (B, S, H, d)
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    second_value: Tensor | None = None  # (B, H, S, d') of a second stream, which the same weights mix
    second_context: Any = None  # (B, S, H, d'); of a user's function what it returns beside the context
    weights: dict[int, Tensor] = field(default_factory=dict)  # head -> (S, S) α that is no softmax; of the last row
    patterned: frozenset[int] = frozenset()  # heads whose α was given
    # head -> what Σ α v is multiplied by, None where another vector stands in its place
    contexts: dict[int, float | None] = field(default_factory=dict)


def attention_call(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float | None = None,
    is_causal: bool | None = None,
    second_value: Tensor | None = None,
    **kwargs: Any,
) -> AttentionCall:
    """The call as the model makes it."""
    values = value if second_value is None else torch.cat([value, second_value], -1)
    context = attention_context(module, query, key, values, mask, scaling, is_causal, **kwargs)
    call = AttentionCall(context, query, key, value, mask)
    if second_value is not None:
        call.context, call.second_context = context.tensor_split([value.shape[-1]], -1)
        call.second_value = second_value
    return call


def attention_context(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float | None,
    is_causal: bool | None,
    position_bias: Tensor | ScoreBias | None = None,
    **kwargs: Any,
) -> Tensor:
    """(B, S, H, d) by transformers' sdpa; with a bias that is not written out, so many queries at a time."""
    if not isinstance(position_bias, ScoreBias):
        kwargs["position_bias"] = position_bias
        kwargs |= {"scaling": scaling, "is_causal": is_causal}
        return sdpa_attention_forward(module, query, key, value, mask, **kwargs)[0]
    texts, heads, n, _ = query.shape
    step = max(1, WRITTEN_OUT // (texts * heads * n))
    blocks = []
    for start in range(0, n, step):
        rows = slice(start, start + step)
        added = position_bias.part(query, key, queries=rows)
        added = _biased(added.expand(texts, *added.shape[-3:]), None if mask is None else mask[..., rows, :])
        blocks.append(attention_context(module, query[:, :, rows], key, value, added, scaling, False, **kwargs))
    return torch.cat(blocks, 1)


def _biased(bias: Tensor, mask: Tensor | None) -> Tensor:
    """A bias with a mask in it, finite where it hides: a query that sees nothing is no NaN."""
    least = torch.finfo(bias.dtype).min
    if mask is None:
        return bias
    return torch.where(mask, bias, least) if mask.dtype == torch.bool else (bias + mask).clamp_min(least)
