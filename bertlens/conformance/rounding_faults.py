"""Rounding as other programs do it: of weights, which is exact, and of activations, which has a floor of its own.

Q4_0, Q4_1, Q8_0: blocks of 32 values, as ggml's reference rounds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .hypothesis import FORWARD, Fault, Hook, ModelParts, PassChange

Round = Callable[[Tensor], Tensor]
BLOCK = 32


def symmetric(x: Tensor, dim: int | None, levels: int = 127) -> Tensor:
    """Rounded to 2 · levels + 1 steps around 0, one scale for each row along `dim`; None for all alike."""
    peak = x.abs().amax() if dim is None else x.abs().amax(dim, keepdim=True)
    scale = (peak / levels).clamp_min(torch.finfo(torch.float32).tiny)
    return (x / scale).round().clamp(-levels, levels) * scale


def asymmetric(x: Tensor, levels: int = 255) -> Tensor:
    """One scale and one zero point for all; 0 stays 0."""
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = ((high - low) / levels).clamp_min(torch.finfo(torch.float32).tiny)
    zero = (-low / scale).round()
    return ((x / scale).round() + zero).clamp(0, levels).sub(zero) * scale


def _blocks(round_blocks: Round) -> Round:
    def function(x: Tensor) -> Tensor:
        return x if x.shape[-1] % BLOCK else round_blocks(x.unflatten(-1, (-1, BLOCK))).flatten(-2)

    return function


def _inverse(d: Tensor) -> Tensor:
    return torch.where(d == 0, torch.zeros_like(d), 1 / d)


def _q4_0(x: Tensor) -> Tensor:
    d = x.gather(-1, x.abs().argmax(-1, keepdim=True)) / -8
    return ((x * _inverse(d) + 8.5).trunc().clamp(0, 15) - 8) * d.half().float()


def _q4_1(x: Tensor) -> Tensor:
    low = x.amin(-1, keepdim=True)
    d = (x.amax(-1, keepdim=True) - low) / 15
    return ((x - low) * _inverse(d) + 0.5).trunc().clamp(0, 15) * d.half().float() + low.half().float()


def _q8_0(x: Tensor) -> Tensor:
    d = x.abs().amax(-1, keepdim=True) / 127
    scaled = x * _inverse(d)
    return (scaled.sign() * (scaled.abs() + 0.5).floor()) * d.half().float()


Q4_0, Q4_1, Q8_0 = map(_blocks, (_q4_0, _q4_1, _q8_0))


def by_row(x: Tensor) -> Tensor:
    return symmetric(x, -1)


def by_column(x: Tensor) -> Tensor:
    return symmetric(x, 0)


def by_matrix(x: Tensor) -> Tensor:
    return symmetric(x, None)


def _blocks_of_int8(x: Tensor) -> Tensor:
    return _blocks(lambda blocks: symmetric(blocks, -1))(x)


def _through(dtype: torch.dtype) -> Round:
    return lambda x: x.to(dtype).to(x.dtype)


def _weights(function: Round, embeddings: bool = False) -> Callable[[ModelParts], PassChange | None]:
    def way(parts: ModelParts) -> PassChange | None:
        if not parts.linears():
            return None

        def weights() -> dict[str, Tensor]:
            tensors = [m.weight for m in parts.linears()] + (parts.tables() if embeddings else [])
            return parts.named({t: function(t.detach()) for t in tensors})

        return PassChange(weights=weights)

    return way


def _all(dtype: torch.dtype) -> Callable[[ModelParts], PassChange | None]:
    def way(parts: ModelParts) -> PassChange | None:
        return PassChange(weights=lambda: {n: _through(dtype)(p.detach()) for n, p in parts.base.named_parameters()})

    return way


def _both(weight: Round, activation: Round) -> Callable[[ModelParts], PassChange | None]:
    def before(module: Any, arguments: Any) -> Any:
        return (activation(arguments[0]), *arguments[1:])

    def way(parts: ModelParts) -> PassChange | None:
        if not parts.linears():
            return None
        hooks = tuple(Hook(module, True, before) for module in parts.linears())
        return PassChange(
            weights=lambda: parts.named({m.weight: weight(m.weight.detach()) for m in parts.linears()}), hooks=hooks
        )

    return way


def _computed_in(dtype: torch.dtype) -> Callable[[ModelParts], PassChange | None]:
    def way(parts: ModelParts) -> PassChange | None:
        return PassChange(weights=lambda: {n: p.detach().to(dtype) for n, p in parts.base.named_parameters()})

    return way


FAULTS = (
    Fault("weights rounded to float16", FORWARD, _all(torch.float16)),
    Fault("weights rounded to bfloat16", FORWARD, _all(torch.bfloat16)),
    Fault("weights rounded to float8", FORWARD, _weights(_through(torch.float8_e4m3fn))),
    Fault("8-bit weights by row", FORWARD, _weights(by_row)),
    Fault("8-bit weights by column", FORWARD, _weights(by_column)),
    Fault("8-bit weights by matrix", FORWARD, _weights(by_matrix)),
    Fault("8-bit weights by matrix, with a zero point", FORWARD, _weights(asymmetric)),
    Fault("8-bit weights by row, embeddings too", FORWARD, _weights(by_row, True)),
    Fault("Q8_0 weights", FORWARD, _weights(Q8_0)),
    Fault("Q8_0 weights, embeddings too", FORWARD, _weights(Q8_0, True)),
    Fault("Q4_0 weights", FORWARD, _weights(Q4_0)),
    Fault("Q4_0 weights, embeddings too", FORWARD, _weights(Q4_0, True)),
    Fault("Q4_1 weights", FORWARD, _weights(Q4_1)),
    Fault("4-bit weights by row", FORWARD, _weights(lambda x: symmetric(x, -1, 7))),
    Fault("8-bit weights by matrix, activations by tensor", FORWARD, _both(by_matrix, asymmetric), True),
    Fault("8-bit weights with a zero point, activations by tensor", FORWARD, _both(asymmetric, asymmetric), True),
    Fault("8-bit weights by row, activations by tensor", FORWARD, _both(by_row, asymmetric), True),
    Fault("8-bit weights by row, activations by token", FORWARD, _both(by_row, by_row), True),
    Fault("Q4_0 weights, activations in blocks of 32", FORWARD, _both(Q4_0, _blocks_of_int8), True),
    Fault("Q8_0 weights, activations in blocks of 32", FORWARD, _both(Q8_0, _blocks_of_int8), True),
    Fault("computed in float16", FORWARD, _computed_in(torch.float16), True),
    Fault("computed in bfloat16", FORWARD, _computed_in(torch.bfloat16), True),
    Fault("computed under autocast to bfloat16", FORWARD, lambda parts: PassChange(autocast=torch.bfloat16), True),
)
