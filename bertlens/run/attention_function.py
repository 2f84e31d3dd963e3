"""An attention function of the user's, registered with transformers: which config names one, and the weights in it.

It is called as the model would call it. Such functions are linear in the values, so where one returns no weights, its
context for the unit matrix in place of the values is the weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PretrainedConfig

from ..base.interrupts import is_of_handler
from ..base.quotes import quotation
from ..errors import ModelError
from ..model.transformers_private import (
    ALL_ATTENTION_FUNCTIONS,
    ALL_MASK_ATTENTION_FUNCTIONS,
    AttentionMaskInterface,
    attention_of,
    configs,
)
from .attention_call import AttentionCall
from .changed_keys import with_allowed
from .changes import Change

Function = Callable[..., Any]
_LIBRARIES = (__name__.partition(".")[0], "transformers")
NOISE = 1e-5  # in float32, beside the largest value: of two orders of summing


def users_function(config: PretrainedConfig) -> Function | None:
    """The attention function that a config's implementation names, None where its code is the library's.

    A mask function of the user's makes another function of the library's too.
    """
    name = attention_of(config)
    function = ALL_ATTENTION_FUNCTIONS.get(name)
    if function is None or (_of_library(function) and _of_library(ALL_MASK_ATTENTION_FUNCTIONS.get(name))):
        return None
    return function


def _of_library(function: Function | None) -> bool:
    """By the module of its code: what it is called may be another's, as behind functools.wraps."""
    if isinstance(function, functools.partial) and function.keywords.keys() == {"implementation"}:
        function = function.func  # a kernel of the hub
    code = getattr(function, "__globals__", {})
    return function is None or str(code.get("__name__")).partition(".")[0] in _LIBRARIES


def register(implementation: str, attention: Function) -> None:
    """Under the interfaces of transformers; `implementation_of` hands it a user's function as `function`."""
    AttentionInterface.register(implementation, attention)
    AttentionMaskInterface.register(implementation, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])


def users_functions(module: nn.Module) -> tuple[tuple[int, ...], ...]:
    """What tells the functions of a model's configs, and those of their masks, from others; () where there are none."""
    names = [attention_of(config) for config in configs(module) if users_function(config) is not None]
    return tuple((id(ALL_ATTENTION_FUNCTIONS[name]), id(ALL_MASK_ATTENTION_FUNCTIONS.get(name))) for name in names)


def implementation_of(implementation: str, config: PretrainedConfig) -> str:
    """What a config is to be set to for a registered implementation: its own masks, where a user's function runs."""
    function = users_function(config)
    if function is None:
        return implementation
    if implementation == "eager":
        return str(attention_of(config))  # as it is
    name, masked = attention_of(config), attention_of(config) in AttentionMaskInterface()
    variant = f"{implementation}:{name}{'' if masked else ':no mask'}"
    if masked:  # else transformers makes none, nor for a name that has none
        AttentionMaskInterface.register(variant, ALL_MASK_ATTENTION_FUNCTIONS[name])
    attention = AttentionInterface()[implementation]
    AttentionInterface.register(variant, functools.partial(attention, function=function))
    return variant


class NoWeights(ModelError):
    """An attention function of the user's has no weights: there are no maps, and the rest is as the model has it."""

    def __init__(self, function: Function, why: str = "its context is no weighted sum of the values"):
        super().__init__(f"{name_of(function)} gives no attention weights: {why}")


@dataclass
class FunctionCall(AttentionCall):
    """A call of attention that a user's function answered. B texts, H heads, Hk key heads, S tokens."""

    function: Function = field(kw_only=True)
    original: Tensor = field(kw_only=True)  # (B, S, H, d) the context before changes
    of_values: Callable[[Tensor], Tensor] = field(kw_only=True)  # (B, Hk, S, d) other values -> (B, S, H, d)

    @classmethod
    def of(
        cls, function: Function, module: Any, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any
    ) -> FunctionCall:
        """args, kwargs: what the model passes after the values, the mask first."""

        def heads(context: Tensor) -> Tensor:
            return context if context.ndim == 4 else context.unflatten(-1, (query.shape[1], -1))

        def of_values(values: Tensor) -> Tensor:
            return heads(function(module, query, key, values, *args, **kwargs)[0])

        context, beside = function(module, query, key, value, *args, **kwargs)
        if torch.is_grad_enabled() and value.requires_grad and not context.requires_grad:
            raise ModelError(no_gradient(function))
        call = cls(
            heads(context), query, key, value, args[0], function=function, original=heads(context), of_values=of_values
        )
        call.second_context = beside
        return call

    @functools.cached_property
    def attention(self) -> Tensor | None:
        """(B, H, S, S) the weights of the sums of values that the context is before changes; None where it is none."""
        batch, tokens, heads = self.original.shape[:3]
        returned = self.second_context
        shape = batch, heads, tokens, self.value.shape[2]
        if isinstance(returned, Tensor) and returned.shape == shape and self._is_sum(returned):
            return returned
        return self._unit_weights if self._is_sum(self._unit_weights) else None

    def alpha(self, b: int, head: int) -> Tensor:
        """(S, S), in float32 at least. Raises ModelError where there are no weights."""
        if self.attention is None:
            raise NoWeights(self.function)
        weights = self.attention[b, head]
        return weights.to(torch.promote_types(weights.dtype, torch.float32))

    def visible(self, b: int, head: int) -> Tensor:
        """Raises ModelError: a function may hide keys on its own."""
        raise ModelError(f"{name_of(self.function)} does not tell which keys a query sees")

    def check_hidden(self, allowed: Tensor) -> None:
        """Raises ModelError where keys that are not allowed, (B, H|1, S, S), have weights all the same."""
        with torch.no_grad():
            weights = self._unit_weights
        if not bool((weights.masked_fill(allowed, 0) == 0).all()):
            raise ModelError(no_mask(self.function))

    @functools.cached_property
    def _unit_weights(self) -> Tensor:
        """(B, H, S, S) the context of the unit matrix: at once, or, as a function may count on the values' shape, as
        many columns at a time as they have entries."""
        tokens, width = self.value.shape[2:]
        if tokens > width:
            try:
                weights = self._of_unit_matrix(tokens)
                if self._is_sum(weights):
                    return weights
            except Exception as error:
                if is_of_handler(error):
                    raise
        return self._of_unit_matrix(width)

    def _of_unit_matrix(self, width: int) -> Tensor:
        tokens = self.value.shape[2]
        blocks = []
        for start in range(0, tokens, width):
            columns = torch.arange(min(width, tokens - start), device=self.value.device)
            unit = self.value.new_zeros(*self.value.shape[:3], width)
            unit[:, :, start + columns, columns] = 1
            blocks.append(self.of_values(unit)[..., : len(columns)])
        return torch.cat(blocks, -1).transpose(1, 2)

    def _is_sum(self, weights: Tensor) -> bool:
        """Whether the weights' sums of values are the context, wherever it is a number."""
        dtype = torch.promote_types(self.original.dtype, torch.float32)
        values = self.value.repeat_interleave(weights.shape[1] // self.value.shape[1], 1).to(dtype)
        gap = ((weights.to(dtype) @ values).transpose(1, 2) - self.original)[self.original.isfinite()].abs()
        noise = max(NOISE, 8 * torch.finfo(self.original.dtype).eps)
        return bool((gap <= noise * float(values.nan_to_num(0, 0, 0).abs().max())).all())


def name_of(function: Function) -> str:
    """As a sentence begins with it."""
    return f"the attention function {getattr(function, '__name__', type(function).__name__)}"


def no_gradient(function: Function) -> str:
    """Why there are no gradients."""
    return f"{name_of(function)} cannot be differentiated: write it without no_grad, detach and changes in place"


@contextmanager
def errors_in_words(module: nn.Module) -> Iterator[None]:
    """Around a backward pass through a model: ModelError where a user's function cannot be differentiated."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        if function := next((f for config in configs(module) if (f := users_function(config))), None):
            raise ModelError(no_gradient(function)) from error
        raise


def no_mask(function: Function) -> str:
    """Why no key can be hidden."""
    return f"{name_of(function)} does not heed a mask: no token can be hidden from it"


def check_without_scores(change: Change, function: Function) -> None:
    """Raises ModelError for a change of queries, keys or scores."""
    if change.needs_scores:
        raise ModelError(f"{quotation(change)} is about scores, which {name_of(function)} does not tell")


def mask_for(function: Function, mask: Any, causal: bool, allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """A model's mask, with what is not allowed, (B, H|1, S, S), hidden as well; where it has none, an additive one.

    Raises ModelError for a mask that is no tensor of pairs.
    """
    if mask is None:
        visible = with_allowed(None, causal, allowed)
        return torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill(~visible, -torch.inf)
    if not isinstance(mask, Tensor) or mask.ndim != 4:
        raise ModelError(no_mask(function))
    return with_allowed(mask, False, allowed)
