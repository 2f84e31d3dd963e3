"""What changes (changes.py) do in an attention call: hidden keys, cut weights, given patterns, contexts replaced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from .attention_call import AttentionCall, attention_call, attention_context
from .attention_function import Function, FunctionCall, check_without_scores, mask_for
from .changed_keys import (
    Emphasis,
    all_or,
    allowed_keys,
    check_rows,
    hides,
    no_key_left,
    of_head,
    visible_keys,
    with_allowed,
    with_logarithms,
)
from .changes import Change, Cut, Dim, Mean, Neuron, Off, Patch, Pattern, Resample, Scale
from .score_bias import ScoreBias


def by_function(
    rows: Sequence[Sequence[Change]],
    function: Function,
    layer: int,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Any,
    *args: Any,
    **kwargs: Any,
) -> AttentionCall:
    """A call of a user's function, changed row by row. Raises ModelError for a change that it cannot be asked for."""
    pairs = [(b, change) for b, row in enumerate(rows) for change in row]
    for _, change in pairs:
        check_without_scores(change, function)
    hidden = [(b, change) for b, change in pairs if hides(change)]
    allowed = allowed_keys(hidden, query) if hidden else None
    if allowed is not None:
        mask = mask_for(function, mask, getattr(module, "is_causal", False), allowed, query.dtype)
        check_rows(mask, {b for b, _ in hidden}, layer)
    call = FunctionCall.of(function, module, query, key, value, mask, *args, **kwargs)
    if not pairs:
        return call
    if allowed is not None:
        call.check_hidden(allowed)
    call.context = call.context.clone()
    for b, row in enumerate(rows):
        _set_weights(call, b, row, call, Emphasis(allowed, None), layer)
        _set_contexts(call, b, row)
    return call


def by_sdpa(
    rows: Sequence[Sequence[Change]],
    layer: int,
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **kwargs: Any,
) -> AttentionCall:
    """A call of transformers' sdpa with the changes of each row. Raises SelectionError where a token keeps no key."""
    heads = query.shape[1]
    pairs = [(b, change) for b, row in enumerate(rows) for change in row]
    causal = (getattr(module, "is_causal", True) if is_causal is None else is_causal) and mask is None
    neurons = [(b, change) for b, change in pairs if isinstance(change, Neuron)]
    if neurons:
        if key.shape[1] < heads:  # heads that share a key: each gets its own
            key, value = (x.repeat_interleave(heads // x.shape[1], 1) for x in (key, value))
            module, is_causal = SimpleNamespace(is_causal=getattr(module, "is_causal", True)), causal
        query, key = query.clone(), key.clone()
        for b, change in neurons:
            query[b, change.head, :, change.n] = 0
            key[b, change.head, :, change.n] = 0
    hidden = [(b, c) for b, c in pairs if hides(c)]
    dimmed = [(b, c) for b, c in pairs if isinstance(c, Dim) and c.factor]
    base_mask, allowed, logarithms = mask, None, None
    if hidden:
        allowed = allowed_keys(hidden, query)
        mask = with_allowed(mask, causal, allowed)
        check_rows(mask, {b for b, _ in hidden}, layer)
    if dimmed:
        logarithms = query.new_zeros(len(query), 1, 1, query.shape[2])
        for b, dim in dimmed:
            logarithms[b, :, :, dim.token] += math.log(dim.factor)
        mask = with_logarithms(mask, causal, logarithms)

    def context_of(group: slice, visible: Tensor | None) -> Tensor:
        q, k, v = (x[:, group] for x in (query, key, value))
        return attention_context(module, q, k, v, visible, scaling, is_causal, **kwargs).clone()

    masked: set[Any] = {getattr(change, "head", None) for _, change in (*hidden, *dimmed)}  # heads with their own mask
    bias = kwargs.get("position_bias")
    if mask is None or not masked or None in masked or key.shape[1] < heads or bias is not None:
        call = attention_call(module, query, key, value, mask, scaling, is_causal, **kwargs)
        call.context = call.context.clone()
        call.second_context = None if call.second_context is None else call.second_context.clone()
    else:  # sdpa makes numbers of a mask, which it need not for the other heads
        call = AttentionCall(context_of(slice(None), base_mask), query, key, value, mask)
        for head in masked:
            call.context[:, :, head : head + 1] = context_of(slice(head, head + 1), mask[:, head : head + 1])
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = _Scores(call, causal and mask is None, scale, bias)
    for b, row in enumerate(rows):
        _set_weights(call, b, row, scores, Emphasis(allowed, logarithms), layer)
        _set_contexts(call, b, row)
    return call


@dataclass
class _Scores:
    """α of one head of one text, as sdpa has it."""

    call: AttentionCall
    causal: bool
    scaling: float
    bias: Tensor | ScoreBias | None

    def visible(self, b: int, head: int) -> Tensor:
        """(S, S) bool."""
        mask = self.call.mask
        if mask is None:
            size = self.call.query.shape[2]
            visible = torch.ones(size, size, dtype=torch.bool, device=self.call.query.device)
            visible = visible.tril() if self.causal else visible
        else:
            visible = visible_keys(of_head(mask, b, head))
        bias = self._bias(b, head)
        return visible if bias is None else visible & (bias != -torch.inf)

    def alpha(self, b: int, head: int) -> Tensor:
        """(S, S), in float32 at least."""
        query, key = self._wide
        shared = head // (query.shape[1] // key.shape[1])
        scores = query[b, head] @ key[b, shared].T * self.scaling
        bias = self._bias(b, head)
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        if self.call.mask is not None and self.call.mask.dtype != torch.bool:
            scores = scores + of_head(self.call.mask, b, head).to(scores.dtype)
        return scores.masked_fill(~self.visible(b, head), -torch.inf).softmax(-1)

    @property
    def _wide(self) -> tuple[Tensor, Tensor]:
        dtype = torch.promote_types(self.call.query.dtype, torch.float32)
        return self.call.query.to(dtype), self.call.key.to(dtype)

    def _bias(self, b: int, head: int) -> Tensor | None:
        """(S, S) or None."""
        if isinstance(self.bias, ScoreBias):
            part = self.bias.part(*self._wide, heads=slice(head, head + 1))
            return (part if part.ndim == 3 else part[b])[0]
        return None if self.bias is None else of_head(self.bias, b, head)


def _set_weights(
    call: AttentionCall,
    b: int,
    row: Sequence[Change],
    scores: _Scores | FunctionCall,
    emphasis: Emphasis,
    layer: int,
) -> None:
    """Contexts from α that is given, or zero in places after the softmax."""
    patterns = {c.head: c for c in row if isinstance(c, Pattern)}
    zeros = [c for c in row if isinstance(c, Cut) and not c.renormalize]
    n_heads = call.query.shape[1]
    heads = set(patterns) | {h for c in zeros for h in (range(n_heads) if c.head is None else (c.head,))}
    like = call.query.new_empty(0, dtype=torch.promote_types(call.query.dtype, torch.float32))
    for head in sorted(heads):
        if head in patterns:
            alpha = _pattern(patterns[head], scores, b, head, like, emphasis, layer)
        else:
            alpha = scores.alpha(b, head)
        gone = torch.zeros(alpha.shape, dtype=torch.bool, device=alpha.device)
        for cut in zeros:
            if cut.head is None or cut.head == head:
                gone[all_or(cut.query), all_or(cut.key)] = True
        alpha = alpha.masked_fill(gone, 0)
        value = call.value[b, head // (n_heads // call.value.shape[1])]
        call.context[b, :, head] = (alpha @ value.to(alpha.dtype)).to(call.context.dtype)
        if call.second_value is not None and call.second_context is not None:
            call.second_context[b, :, head] = (alpha @ call.second_value[b, head].to(alpha.dtype)).to(
                call.context.dtype
            )
        call.weights[head] = alpha
    call.patterned |= frozenset(patterns)


def _pattern(
    change: Pattern,
    scores: _Scores | FunctionCall,
    b: int,
    head: int,
    like: Tensor,
    emphasis: Emphasis,
    layer: int,
) -> Tensor:
    """like: of the type and on the device of what comes out."""
    if change.uniform:
        alpha = scores.visible(b, head).to(like)
        alpha = alpha / alpha.sum(-1, keepdim=True)
    else:
        alpha = change.weights.to(like)
    factors = emphasis.factors(b, head, alpha)
    if factors is None or bool((factors == 1).all()):
        return alpha
    # what -inf or a logarithm before a softmax would have done: so much less there, the rest of the row as much larger
    remainder = alpha * factors
    total, rest_total = alpha.sum(-1, keepdim=True), remainder.sum(-1, keepdim=True)
    if bool(((rest_total == 0) & (total > 0)).any()):
        raise no_key_left(layer, int(((rest_total == 0) & (total > 0)).nonzero()[0, 0]), head)
    return remainder * torch.where(total > 0, total / rest_total.where(rest_total > 0, 1), 0)


def _set_contexts(call: AttentionCall, b: int, row: Sequence[Change]) -> None:
    """What replaces Σ α v, in the order given."""
    context = call.context
    for change in row:
        if isinstance(change, Off):
            heads = range(context.shape[2]) if change.head is None else (change.head,)
            context[b, :, list(heads)] = 0
            call.contexts |= dict.fromkeys(heads, 0.0)
        elif isinstance(change, Scale):
            for head in range(context.shape[2]) if change.head is None else (change.head,):
                context[b, :, head] *= change.factor
                factor = call.contexts.get(head, 1.0)
                call.contexts[head] = None if factor is None else factor * change.factor
        elif isinstance(change, Mean):
            context[b, :, change.head] = context[b, :, change.head].mean(0)
            if call.contexts.get(change.head) != 0:
                call.contexts[change.head] = None
        elif isinstance(change, Resample):
            context[b, :, change.head] = change.vectors.to(context)
            call.contexts[change.head] = None
        elif isinstance(change, Patch):
            context[b, change.token] = change.vectors.to(context)
            call.contexts |= dict.fromkeys(range(context.shape[2]))
