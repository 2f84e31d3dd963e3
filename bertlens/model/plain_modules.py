"""Projections and LayerNorms as plain numbers, whichever class a family uses for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ModelError
from .modules import is_wrapper


class NotPlain(ModelError):
    """A module whose stored weight is not what it multiplies by: quantised, or adapted in another way than LoRA."""


@dataclass(frozen=True, eq=False)
class HeadThird:
    """Queries, keys or values of a projection that makes all three head by head, as DeBERTa's first version does."""

    projection: nn.Module  # its outputs are q, k, v of head 0, then of head 1 ...
    number: int  # 0, 1 or 2
    heads: int
    bias: Tensor | None = None  # (H·d,) added behind the projection

    def affine(self) -> tuple[Tensor, Tensor | None]:
        """Weight (H·d, D) and bias, as `affine`."""
        weight, bias = (
            None if x is None else x.unflatten(0, (self.heads, 3, -1))[:, self.number].flatten(0, 1)
            for x in affine(self.projection)
        )
        assert weight is not None
        terms = [x for x in (bias, self.bias) if x is not None]
        return weight, torch.stack(terms).sum(0) if terms else None


def check_plain(module: Any) -> None:
    """Raises NotPlain for a projection that `affine` would not take; of its class alone, nothing is computed."""
    if isinstance(module, HeadThird):
        check_plain(module.projection)
    elif hasattr(module, "lora_A") and hasattr(module, "base_layer"):
        check_plain(module.base_layer)
        runs = not (module.disable_adapters or module.merged)
        if runs and any(name in module.lora_A and name in module.lora_variant for name in module.active_adapters):
            raise NotPlain("adapted by more than LoRA adds: merge it first (model.merge_and_unload())")  # as DoRA does
    elif type(module) is not nn.Linear and type(module).__name__ != "Conv1D":
        raise NotPlain(f"a {type(module).__name__}, not a plain projection: merge or dequantise the model first")
    elif is_wrapper(module.weight):
        kind = type(module.weight).__name__
        raise NotPlain(f"a {type(module).__name__} of quantised weights ({kind}): dequantise the model first")


def affine(module: Any, part: int | None = None) -> tuple[Tensor, Tensor | None]:
    """Weight (out, in) and bias (out,) or None of a projection, whichever class the family uses for it.

    part: 0, 1 or 2 takes that third of the outputs (fused q, k, v). A projection with LoRA adapters gives the weight
    that it multiplies by, what its adapters add included. Raises NotPlain for other adapters and quantised modules.
    """
    check_plain(module)
    if isinstance(module, HeadThird):
        return module.affine()
    weight: Any
    bias: Any
    if hasattr(module, "lora_A"):
        weight, bias = _with_lora(module)
    else:
        weight, bias = module.weight, module.bias
        if type(module) is not nn.Linear:  # a Conv1D
            weight = weight.T
    if part is not None:
        weight = weight.chunk(3)[part]
        bias = None if bias is None else bias.chunk(3)[part]
    return weight, bias


def _with_lora(module: Any) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of a LoRA layer of PEFT as it runs now: its base's, and what its active adapters add."""
    weight, bias = affine(module.base_layer)
    if module.disable_adapters or module.merged:
        return weight, bias
    for name in module.active_adapters:
        if name not in module.lora_A:
            continue
        delta = module.get_delta_weight(name)
        weight = weight + (delta.T if type(module.base_layer).__name__ == "Conv1D" else delta).to(weight.dtype)
        added = getattr(module.lora_B[name], "bias", None)  # AdaLoRA's is a parameter, without one
        if added is not None:
            added = added * module.scaling[name]
            bias = added if bias is None else bias + added
    return weight, bias


def epsilon(module: Any) -> float | None:
    """ε of a LayerNorm (x - mean) / √(variance + ε) · weight + bias; None for a module of another class."""
    if type(module) is nn.LayerNorm:
        return float(module.eps)
    return float(module.variance_epsilon) if type(module).__name__ == "DebertaLayerNorm" else None
