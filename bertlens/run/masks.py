"""What a mask on every head and every MLP would change of each text's loss, to first order: one backward pass a batch.

Like backward.py, through the attention interface of transformers. A head's context and an MLP's output are multiplied
by a one of the text's own, and the loss is differentiated with respect to these ones: nothing of the parameters'
gradients is computed, and what is kept of a batch is one number for each part and text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..base.interrupts import interruptible
from ..errors import ModelError
from ..model.borrowed import Model
from . import attention_function
from .backward import check_differentiable
from .forward import accepted, borrowed
from .interventions import attend

IMPLEMENTATION = "bertlens-masks"

_active = threading.local()


@dataclass
class _Masks:
    """The ones that a pass was multiplied by, in the order of the calls. B texts, H heads."""

    texts: int
    heads: list[Tensor] = field(default_factory=list)  # (B, 1, H, 1) each
    mlps: list[Tensor] = field(default_factory=list)  # (B, 1, 1) each
    complete: bool = True  # False where an MLP ran on something else than the texts' tokens


def _ones(like: Tensor, *shape: int) -> Tensor:
    return torch.ones(shape, dtype=like.dtype, device=like.device, requires_grad=True)


def _attention(module: nn.Module, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
    call = attend(module, *args, **kwargs)
    context = call.context
    masks: _Masks | None = getattr(_active, "masks", None)
    if masks is None:
        return context, call.second_context
    masks.heads.append(_ones(context, len(context), 1, context.shape[2], 1))
    return context * masks.heads[-1], call.second_context


attention_function.register(IMPLEMENTATION, _attention)


def mask_slopes(
    model: Model, inputs: dict[str, Tensor], n_layers: int, losses: Callable[[Any], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """(B,) losses, (B, L, H) their slopes in a mask ξ on each head's context, (B, L) on each MLP's output, at ξ = 1.

    What off (ξ = 0) changes is −slope to first order: Michel et al. 2019, eq. 2, text by text, with its sign.
    losses: of the model's output, (B,), each of its own text. Slopes of MLPs are NaN for a family without an adapter,
    and where a layer does not run one MLP once on all tokens. float64 on the CPU.
    Raises ModelError where the family does not use the attention interface, or weights cannot be differentiated.
    """
    check_differentiable(model, inputs)
    masks = _Masks(len(inputs["input_ids"]))

    def of_mlp(module: nn.Module, args: Any, output: Any) -> Any:
        if getattr(_active, "masks", None) is not masks:
            return None
        if not isinstance(output, Tensor) or output.ndim != 3 or len(output) != masks.texts:
            masks.complete = False
            return None
        masks.mlps.append(_ones(output, masks.texts, 1, 1))
        return output * masks.mlps[-1]

    with model.locked(), borrowed(model, IMPLEMENTATION) as loan, torch.inference_mode(False), torch.enable_grad():
        inputs = {name: value.clone() for name, value in inputs.items()}  # made in inference mode, perhaps
        if model.adapter is not None:
            for layer in dict.fromkeys(model.adapter.layers(model.base)):  # a shared layer is hooked once
                loan.hook(model.adapter.mlp(layer)[-1].register_forward_hook(of_mlp, prepend=True))
        loan.set(_active, "masks", masks)
        with interruptible():
            values = losses(model.runner(**accepted(model.runner, inputs), return_dict=True))
        if len(masks.heads) != n_layers:
            raise ModelError(
                f"{len(masks.heads)} of {n_layers} layers use the attention interface: no gradients can be had"
            )
        tensors = [*masks.heads, *masks.mlps]
        with interruptible(), attention_function.errors_in_words(model.runner):
            gradients = torch.autograd.grad(values.sum(), tensors, allow_unused=True)
    slopes = [torch.zeros_like(x) if g is None else g for x, g in zip(tensors, gradients, strict=True)]
    heads = torch.stack([slope[:, 0, :, 0] for slope in slopes[:n_layers]], 1)
    mlps = torch.full((masks.texts, n_layers), torch.nan, dtype=torch.float64, device="cpu")
    if masks.complete and len(masks.mlps) == n_layers:
        mlps = torch.stack([slope[:, 0, 0] for slope in slopes[n_layers:]], 1)
    return values.detach().double().cpu(), heads.double().cpu(), mlps.double().cpu()
