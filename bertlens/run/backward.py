"""One backward pass: the gradient of a loss with respect to every layer's context, the model left as it was.

Like forward.py, through the attention interface of transformers: the function registered here adds a zero to each
layer's context and asks for the gradient of that zero: the parameters' own gradients are neither needed nor touched.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..base.interrupts import interruptible
from ..errors import InputError, ModelError
from ..model.borrowed import Model
from ..model.loan import Loan
from . import attention_function
from .changes import Change
from .forward import accepted, borrowed
from .interventions import Run, attend, changed

IMPLEMENTATION = "bertlens-backward"
NO_GRADIENT = "loss must return one number computed from the model's output, as a tensor"

_active = threading.local()


def _attention(module: nn.Module, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
    call = attend(module, *args, **kwargs)
    context = call.context
    zeros: list[Tensor] | None = getattr(_active, "zeros", None)
    if zeros is None:
        return context, call.second_context
    zeros.append(torch.zeros_like(context, requires_grad=True))
    return context + zeros[-1], call.second_context


attention_function.register(IMPLEMENTATION, _attention)


def context_gradients(
    model: Model,
    inputs: dict[str, Tensor],
    n_layers: int,
    loss: Callable[[Any], Tensor],
    changes: Sequence[Change] = (),
) -> tuple[float, list[Tensor]]:
    """The loss of the model's output and, per layer, its gradient with respect to the context: (B, S, H, d).

    changes: of every text's run; the context is then what it was changed to.

    Raises InputError where `loss` gives no number that depends on the output, ModelError where the family does not use
    the attention interface or a layer cannot be differentiated.
    """
    check_differentiable(model, inputs)
    value, zeros, gradients = _backward(model, inputs, loss, changes)
    if len(zeros) != n_layers:
        raise ModelError(f"{len(zeros)} of {n_layers} layers use the attention interface: no gradients can be had")
    return value, [zero.detach() if g is None else g for zero, g in zip(zeros, gradients, strict=True)]


def check_differentiable(model: Model, inputs: dict[str, Tensor]) -> None:
    """Raises ModelError where gradients stop at a layer, as at weights quantised for forward passes only.

    There, torch gives zeros and not an error. Costs nothing where every weight is a floating-point tensor, else one
    pass over the first text of the inputs.
    """
    weights = [module.weight for module in model.base.modules() if getattr(module, "weight", None) is not None]
    if all(isinstance(weight, Tensor) and weight.is_floating_point() for weight in weights):
        return
    example = {name: value[:1] for name, value in inputs.items() if name != "labels"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says where it cannot go on; the error below says it for us
            _, _, gradients = _backward(model, example, lambda output: output[0].float().square().sum())
    except InputError:
        gradients = [None]
    if not all(g is not None and g.any() for g in gradients):
        raise ModelError("no gradient flows back through the model's quantised weights: dequantise the model first")


def word_gradients(
    model: Model,
    inputs: dict[str, Tensor],
    metric: Callable[[Any], Tensor],
    changes: Sequence[Change] = (),
    words: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """What a number of each text is, (B,), the word embeddings (B, S, E) that it was run on, and its gradient there.

    metric: of the model's output for the batch, (B,), each of its own text. words: vectors that stand in place of the
    word embeddings, behind which positions, types and norms follow as ever; None: those of the tokens. changes: of
    every text's run. Raises like `context_gradients`.
    """
    check_differentiable(model, inputs)
    zeros: list[Tensor] = []
    leaves: list[Tensor] = []

    def leaf(module: nn.Module, args: Any, output: Tensor) -> Tensor | None:
        if leaves or getattr(_active, "zeros", None) is not zeros:  # types that are looked up, or another thread's run
            return None
        leaves.append((output if words is None else words.to(output)).detach().clone().requires_grad_())
        return leaves[0].clone()  # CTRL scales what it looks up in place, which no leaf may be

    with _graph(model) as loan:
        loan.hook(model.embedding.register_forward_hook(leaf, prepend=True))
        output = _output(model, inputs, changes, zeros)
        with interruptible():
            values = metric(output)
        if not leaves:
            name = type(model.embedding).__name__
            raise ModelError(f"the model looks words up elsewhere than in its {name}: no gradient can be had there")
        if not values.requires_grad:
            raise InputError(NO_GRADIENT)
        with interruptible(), attention_function.errors_in_words(model.runner):
            [gradient] = torch.autograd.grad(values.sum(), leaves)
    return values.detach(), leaves[0].detach(), gradient


@contextmanager
def _graph(model: Model) -> Iterator[Loan]:
    """The model borrowed, and a graph made, whatever the caller's mode."""
    with model.locked(), borrowed(model, IMPLEMENTATION) as loan, torch.inference_mode(False), torch.enable_grad():
        yield loan


def _output(model: Model, inputs: dict[str, Tensor], changes: Sequence[Change], zeros: list[Tensor]) -> Any:
    """The model's output with a graph; per call of the attention interface, the zero added to its context."""
    # copies: a caller in inference mode made tensors that no graph may hold
    inputs = {name: value.clone() for name, value in inputs.items()}
    _active.zeros = zeros
    try:
        with changed(model, Run([changes] * len(inputs["input_ids"]))), interruptible():
            output = model.runner(**accepted(model.runner, inputs), return_dict=True)
    finally:
        _active.zeros = None
    if not zeros:
        name = type(model.runner).__name__
        raise ModelError(f"{name} does not use the attention interface: no gradients can be had")
    return output


def _backward(
    model: Model, inputs: dict[str, Tensor], loss: Callable[[Any], Tensor], changes: Sequence[Change] = ()
) -> tuple[float, list[Tensor], Sequence[Tensor | None]]:
    """The loss; per call of the attention interface, the zero added to its context and the loss's gradient there."""
    zeros: list[Tensor] = []
    with _graph(model):
        output = _output(model, inputs, changes, zeros)
        with interruptible():
            value = loss(output)
        if not isinstance(value, Tensor) or value.numel() != 1 or value.is_complex() or not value.requires_grad:
            raise InputError(NO_GRADIENT)
        with interruptible(), attention_function.errors_in_words(model.runner):
            gradients = torch.autograd.grad(value.squeeze(), zeros, allow_unused=True)
    return float(value.detach()), zeros, gradients
