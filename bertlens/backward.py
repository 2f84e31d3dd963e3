"""One backward pass: the gradient of a loss with respect to every layer's context, the model left as it was.

Like capture.py, through the attention interface of transformers: the function registered here adds a zero to each
layer's context and asks for the gradient of that zero: the parameters' own gradients are neither needed nor touched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from .architectures import runnable
from .capture import accepted, borrowed, lock_of
from .errors import InputError, ModelError

IMPLEMENTATION = "bertlens-backward"

_active = threading.local()


def _attention(module: nn.Module, *args: Any, **kwargs: Any) -> tuple[Tensor, None]:
    context, _ = sdpa_attention_forward(module, *args, **kwargs)
    zeros: list[Tensor] | None = getattr(_active, "zeros", None)
    if zeros is None:
        return context, None
    zeros.append(torch.zeros_like(context, requires_grad=True))
    return context + zeros[-1], None


AttentionInterface.register(IMPLEMENTATION, _attention)
AttentionMaskInterface.register(IMPLEMENTATION, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])


def context_gradients(
    model: nn.Module, inputs: dict[str, Tensor], n_layers: int, loss: Callable[[Any], Tensor]
) -> tuple[float, list[Tensor]]:
    """The loss of the model's output and, per layer, its gradient with respect to the context: (B, S, H, d).

    Raises InputError where `loss` gives no number that depends on the output, ModelError where the family does not use
    the attention interface.
    """
    runner = runnable(model)
    zeros: list[Tensor] = []
    with lock_of(model), borrowed(runner, IMPLEMENTATION), torch.inference_mode(False), torch.enable_grad():
        # copies: a caller in inference mode made tensors that no graph may hold
        inputs = {name: value.clone() for name, value in inputs.items()}
        _active.zeros = zeros
        try:
            output = runner(**accepted(runner, inputs), return_dict=True)
        finally:
            _active.zeros = None
        if len(zeros) != n_layers:
            raise ModelError(f"{type(runner).__name__} does not use the attention interface: no gradients can be had")
        value = loss(output)
        if not isinstance(value, Tensor) or value.numel() != 1 or not value.requires_grad:
            raise InputError("loss must return one number computed from the model's output, as a tensor")
        found = torch.autograd.grad(value.squeeze(), zeros, allow_unused=True)
    gradients = [zero.detach() if g is None else g for zero, g in zip(zeros, found, strict=True)]
    return float(value.detach()), gradients
