"""What one forward pass leaves behind: queries, keys, values, masks, contexts and the layers' inputs and outputs.

`transformers` hands the final query, key and value of every attention call to the function registered under the model's
`attn_implementation`. Ours ("bertlens") keeps references for the calling thread's recorder and calls the sdpa
implementation. Nothing of size heads x tokens x tokens is kept. The model is borrowed: everything that the run changes
on it is put back, whatever ends the run.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from . import transformers_private as private
from .architectures import Adapter, what_works
from .errors import CaptureError, ModelError
from .model import Model

IMPLEMENTATION = "bertlens"
# Arguments that change the scores in a way that q, k, scaling and an additive mask cannot express
_CHANGES_SCORES = ("softcap", "s_aux", "indices")


@dataclass(slots=True)
class Layer:
    """One layer's quantities for a batch (B texts) or, after `Pass.text`, for one text (without the B)."""

    query: Tensor | None = None  # (B, H, S, d), as multiplied: after rotary, bias included
    key: Tensor | None = None  # (B, Hk, S, d); Hk < H where several heads share a key head
    value: Tensor | None = None  # (B, Hk, S, dv)
    scaling: float | None = None
    mask: Tensor | str | None = None  # bool (True = visible) or additive float (B|1, H|1, S, S), "causal", None
    bias: Tensor | None = None  # additive position bias (1|B, H, S, S) where the family has one
    context: Tensor | None = None  # (B, S, H*dv), heads concatenated, before W_O
    attention: Tensor | None = None  # (B, H, S, S), only where queries and keys cannot be had
    attention_output: Tensor | None = None  # (B, S, D)
    layer_input: Tensor | None = None  # (B, S, D)
    layer_output: Tensor | None = None  # (B, S, D)


@dataclass(slots=True)
class Pass:
    """One forward pass over a right-padded batch."""

    layers: list[Layer]
    hidden_states: tuple[Tensor, ...]
    output: Any
    why_no_neurons: str = ""

    def text(self, row: int, n: int) -> Pass:
        """The part that belongs to one text: its row, and its first n positions (padding stands on the right)."""
        rows = self.hidden_states[0].shape[0]
        cut = _Cut(row, n, copy=rows > 1)  # copies: one text of a batch must not keep the others alive
        layers = [
            Layer(
                query=cut(layer.query, 2),
                key=cut(layer.key, 2),
                value=cut(layer.value, 2),
                scaling=layer.scaling,
                mask=cut.mask(layer.mask),
                bias=cut(layer.bias, 2, 3),
                context=cut(layer.context, 1),
                attention=cut(layer.attention, 2, 3),
                attention_output=cut(layer.attention_output, 1),
                layer_input=cut(layer.layer_input, 1),
                layer_output=cut(layer.layer_output, 1),
            )
            for layer in self.layers
        ]
        hidden = tuple(cut(state, 1) for state in self.hidden_states)
        return Pass(layers, hidden, self.output if rows == 1 else cut.output(self.output), self.why_no_neurons)


class _Cut:
    """Cuts one text out of a batch; a tensor that several layers share stays shared."""

    def __init__(self, row: int, n: int, copy: bool):
        self.row, self.n, self.copy = row, n, copy
        self._done: dict[int, Any] = {}

    def __call__(self, x: Tensor | None, *position_dims: int) -> Any:
        if x is None:
            return None
        if id(x) not in self._done:
            part = x[self.row if x.shape[0] > 1 else 0]
            for dim in position_dims:
                part = part.narrow(dim - 1, 0, self.n)
            self._done[id(x)] = part.clone() if self.copy else part
        return self._done[id(x)]

    def mask(self, mask: Tensor | str | None) -> Tensor | str | None:
        """The mask among one text's own tokens: None where all is visible, "causal" where that is all it says."""
        if not isinstance(mask, Tensor):
            return mask
        if id(mask) not in self._done:
            part = mask[self.row if mask.shape[0] > 1 else 0][..., : self.n, : self.n]
            visible = part if part.dtype == torch.bool else part == 0
            lower = torch.ones(self.n, self.n, dtype=torch.bool, device=mask.device).tril()
            if visible.all():
                self._done[id(mask)] = None
            elif part.dtype == torch.bool and (visible == lower).all():
                self._done[id(mask)] = "causal"
            else:
                self._done[id(mask)] = part.clone() if self.copy else part
        return self._done[id(mask)]

    def output(self, output: Any) -> Any:
        """The model's output object for one text. Two-dimensional entries are per text, except start and end logits."""
        parts = {}
        for name, value in output.items():
            if isinstance(value, tuple):
                parts[name] = tuple(self._entry(name, item) for item in value)
            else:
                parts[name] = self._entry(name, value)
        return type(output)(**parts)

    def _entry(self, name: str, value: Any) -> Any:
        if not isinstance(value, Tensor) or value.ndim == 0:
            return value
        part = value[self.row : self.row + 1]
        if value.ndim == 4:  # attention weights
            part = part[..., : self.n, : self.n]
        elif value.ndim == 3 or name in ("start_logits", "end_logits"):
            part = part[:, : self.n]
        return part.clone()


@dataclass
class _Recorder:
    """What the calls of one forward pass bring, in the order they come."""

    attention: list[Layer] = field(default_factory=list)
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    attention_outputs: list[Tensor] = field(default_factory=list)


class _NotExpressible(Exception):
    """The family's attention is more than softmax(q k scaling + mask)."""


_active = threading.local()


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """The attention function registered as "bertlens"."""
    recorder: _Recorder | None = getattr(_active, "recorder", None)
    if recorder is not None and any(kwargs.get(name) is not None for name in _CHANGES_SCORES):
        raise _NotExpressible
    context, _ = sdpa_attention_forward(
        module, query, key, value, attention_mask, scaling=scaling, is_causal=is_causal, **kwargs
    )
    if recorder is not None:
        # sdpa masks causally on its own where the module says so and no mask comes
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        recorder.attention.append(
            Layer(
                query=query,
                key=key,
                value=value,
                scaling=float(query.shape[-1] ** -0.5 if scaling is None else scaling),
                mask="causal" if causal and attention_mask is None and query.shape[2] > 1 else attention_mask,
                bias=kwargs.get("position_bias"),
                context=context.flatten(2),
            )
        )
    return context, None


AttentionInterface.register(IMPLEMENTATION, _attention)
AttentionMaskInterface.register(IMPLEMENTATION, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])

_outside_interface: WeakSet[nn.Module] = WeakSet()  # base models known to need the eager run


def run(model: Model, inputs: dict[str, Tensor]) -> Pass:
    """One forward pass over a right-padded batch, everything recorded, the model left as it was.

    inputs: keyword arguments of the model's forward, `input_ids` (B, S) among them.
    Raises ModelError where neither the attention interface nor an eager run yields attention.
    """
    base, adapter = model.base, model.adapter
    with model.locked():
        if base not in _outside_interface:
            try:
                recorder, output = _forward(model, inputs, IMPLEMENTATION)
            except _NotExpressible:
                pass
            else:
                expected = len(adapter.layers(base)) if adapter else base.config.num_hidden_layers
                if len(recorder.attention) == expected:
                    return _collect(recorder, output, inputs, adapter)
            _outside_interface.add(base)
        recorder, output = _forward(model, inputs, "eager")
        return _collect_eager(base, recorder, output, inputs, adapter)


def _collect(recorder: _Recorder, output: Any, inputs: dict[str, Tensor], adapter: Adapter | None) -> Pass:
    batch, tokens = inputs["input_ids"].shape
    for layer in recorder.attention:
        assert layer.query is not None and layer.key is not None
        queries, keys = layer.query.shape[2], layer.key.shape[2]
        if layer.query.shape[0] != batch or queries != tokens or keys != tokens:
            raise CaptureError(
                f"the model's attention ran over {queries} queries and {keys} keys for {tokens} tokens: prompts or "
                "prefixes added by a wrapper cannot be shown, give Lens the model without them"
            )
    _add_stream(recorder.attention, recorder, adapter)
    return Pass(recorder.attention, output.hidden_states, output)


def _collect_eager(
    base: PreTrainedModel, recorder: _Recorder, output: Any, inputs: dict[str, Tensor], adapter: Adapter | None
) -> Pass:
    tokens = inputs["input_ids"].shape[1]
    attentions = output.get("attentions") or ()
    if not attentions or any(a is None or a.ndim != 4 or a.shape[2:] != (tokens, tokens) for a in attentions):
        raise ModelError(f"{type(base).__name__} returns no attention over its own tokens. {what_works()}")
    layers = [Layer(attention=attention) for attention in attentions]
    _add_stream(layers, recorder, adapter)
    why = (
        f"{type(base).__name__} does not hand its queries and keys to the attention interface of transformers, "
        "so only its attention weights can be shown."
    )
    return Pass(layers, output.hidden_states, output, why)


def _add_stream(layers: list[Layer], recorder: _Recorder, adapter: Adapter | None) -> None:
    if adapter is None:
        return
    for layer, x, a, y in zip(layers, recorder.inputs, recorder.attention_outputs, recorder.outputs, strict=True):
        layer.layer_input, layer.attention_output, layer.layer_output = x, a, y


def _forward(model: Model, inputs: dict[str, Tensor], implementation: str) -> tuple[_Recorder, Any]:
    runner, base, adapter = model.runner, model.base, model.adapter
    recorder = _Recorder()
    arguments = accepted(runner, inputs)
    if "use_cache" in inspect.signature(base.forward).parameters:
        arguments |= accepted(runner, {"use_cache": False})  # a cache would keep every key and value a second time
    outer = getattr(_active, "recorder", None)
    private.announce(runner)
    # not inference_mode: what a module keeps of a pass, such as rotary tables, could never be trained with again
    with borrowed(model, implementation), torch.no_grad():
        handles: list[Any] = []
        try:
            if adapter:
                _hook_stream(base, adapter, recorder, handles)
            _active.recorder = recorder
            output = runner(
                **arguments,
                output_hidden_states=True,
                output_attentions=implementation == "eager",
                return_dict=True,
            )
        finally:
            _active.recorder = outer
            for handle in handles:
                handle.remove()
    return recorder, output


def accepted(runner: nn.Module, arguments: dict[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(runner.forward).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return dict(arguments)
    return {name: value for name, value in arguments.items() if name in parameters}


def _hook_stream(base: PreTrainedModel, adapter: Adapter, recorder: _Recorder, handles: list[Any]) -> None:
    """Temporary hooks on each layer's input and output and the attention block's output; `handles` takes them off."""

    def keep_input(into: list[Tensor]) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, kwargs: Any) -> None:
            if getattr(_active, "recorder", None) is recorder:  # not another thread's run of the same model
                into.append(args[0] if args else kwargs["hidden_states"])

        return hook

    def keep_output(into: list[Tensor]) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            if getattr(_active, "recorder", None) is recorder:
                into.append(output[0] if isinstance(output, tuple) else output)

        return hook

    for layer in dict.fromkeys(adapter.layers(base)):  # a shared layer is hooked once
        handles.append(layer.register_forward_pre_hook(keep_input(recorder.inputs), with_kwargs=True))
        handles.append(layer.register_forward_hook(keep_output(recorder.outputs)))
        module, side = adapter.attention_tap(layer)
        if side == "input":
            hook = module.register_forward_pre_hook(keep_input(recorder.attention_outputs), with_kwargs=True)
        else:
            hook = module.register_forward_hook(keep_output(recorder.attention_outputs))
        handles.append(hook)


@contextmanager
def borrowed(model: Model, implementation: str) -> Iterator[None]:
    """The model in eval mode under an attention implementation; afterwards exactly as it was."""
    runner = model.runner
    modules = list(runner.modules())
    training = [module for module in modules if module.training]
    compiled = any(hasattr(m, "_orig_mod") or m.__dict__.get("_compiled_call_impl") for m in modules)
    # compiled code would run past hooks and recorder: run the same weights eagerly
    eagerly = torch.compiler.set_stance("force_eager") if compiled else nullcontext()
    with private.attention_implementation(runner, implementation), private.without_capturing_hooks(runner), eagerly:
        try:
            for module in training:
                module.training = False
            yield
        finally:
            for module in training:
                module.training = True
