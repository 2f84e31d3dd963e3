"""How the stream of one pass began and was normed: ids of positions and types, rotations, deviations of LayerNorms.

A post-LN stream cannot be split afterwards without the deviations: a LayerNorm's output no longer tells them. They are
taken with torch's own kernel, so they are the very numbers that the run divided by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import CaptureError
from ..model.families import Adapter
from ..model.loan import Loan
from ..model.plain_modules import epsilon
from .record import Entry, Layer


@dataclass
class StreamRecorder:
    """What hooks bring during one pass, in the order of the calls."""

    attention_norm: list[Tensor] = field(default_factory=list)
    mlp_norm: list[Tensor] = field(default_factory=list)
    ids: dict[nn.Module, list[Tensor]] = field(default_factory=dict)
    entry: Entry = field(default_factory=Entry)

    def hook(self, base: nn.Module, adapter: Adapter, watching: Callable[[], bool], loan: Loan) -> None:
        """Hooks on the modules that the adapter names, as long as the loan lasts.

        watching: whether a call belongs to this pass.
        """
        stream = adapter.stream
        if stream is None:
            return

        def ids_of(module: nn.Module, args: Any, kwargs: Any) -> None:
            if watching():
                self.ids[module].append(args[0] if args else kwargs["input"])

        def rotation(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            if watching():
                kind = kwargs.get("layer_type", args[2] if len(args) > 2 else "")
                self.entry.rotations[kind or ""] = stream.angles(output)

        def entry_norm(deviation: Tensor) -> None:
            self.entry.inverse_deviation = deviation

        for table in {find(base) for find in (stream.position, stream.type)} - {None}:
            self.ids[table] = []
            loan.hook(table.register_forward_pre_hook(ids_of, with_kwargs=True))
        if (rotary := stream.rotary(base)) is not None:
            loan.hook(rotary.register_forward_hook(rotation, with_kwargs=True))
        self._norm(stream.norm(base), entry_norm, watching, loan)
        if adapter.post_ln:  # in pre-LN families the stream itself tells them
            for layer in dict.fromkeys(adapter.layers(base)):  # a shared layer is hooked once
                self._norm(adapter.attention_norm(layer), self.attention_norm.append, watching, loan)
                self._norm(adapter.mlp_norm(layer), self.mlp_norm.append, watching, loan)

    def _norm(self, module: Any, take: Callable[[Tensor], None], watching: Callable[[], bool], loan: Loan) -> None:
        eps = epsilon(module)
        if eps is None:
            return

        def deviation(module: Any, args: Any, kwargs: Any) -> None:
            if watching():
                take(inverse_deviation(args[0] if args else kwargs["input"], eps))

        loan.hook(module.register_forward_pre_hook(deviation, with_kwargs=True))

    def began(self, base: nn.Module, adapter: Adapter) -> Entry:
        """The entry, once the pass is over."""
        stream = adapter.stream
        if stream is not None:
            position, kind = stream.position(base), stream.type(base)
            if self.ids.get(position):
                self.entry.position_ids = self.ids[position][0]
            calls = self.ids.get(kind, [])
            if kind is stream.word(base):
                calls = calls[1:]  # the first call looks words up
            self.entry.type_ids = calls[0] if calls else None
        return self.entry


@dataclass
class PassRecorder:
    """What the calls of one forward pass bring, in the order they come."""

    attention: list[Layer] = field(default_factory=list)
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    attention_outputs: list[Tensor] = field(default_factory=list)
    stream: StreamRecorder = field(default_factory=StreamRecorder)

    def hook(self, base: nn.Module, adapter: Adapter, watching: Callable[[], bool], loan: Loan) -> None:
        """Hooks on each layer's input and output and the attention block's output, as long as the loan lasts.

        watching: whether a call belongs to this pass.
        """

        def keep_input(into: list[Tensor]) -> Callable[..., None]:
            def hook(module: nn.Module, args: Any, kwargs: Any) -> None:
                if watching():
                    into.append(args[0] if args else kwargs["hidden_states"])

            return hook

        def keep_output(into: list[Tensor]) -> Callable[..., None]:
            def hook(module: nn.Module, args: Any, output: Any) -> None:
                if watching():
                    into.append(output[0] if isinstance(output, tuple) else output)

            return hook

        self.stream.hook(base, adapter, watching, loan)
        for layer in dict.fromkeys(adapter.layers(base)):  # a shared layer is hooked once
            loan.hook(layer.register_forward_pre_hook(keep_input(self.inputs), with_kwargs=True))
            loan.hook(layer.register_forward_hook(keep_output(self.outputs)))
            module, side = adapter.attention_tap(layer)
            if side == "input":
                loan.hook(module.register_forward_pre_hook(keep_input(self.attention_outputs), with_kwargs=True))
            else:
                loan.hook(module.register_forward_hook(keep_output(self.attention_outputs)))

    def fill(self, layers: list[Layer], adapter: Adapter | None) -> None:
        """Give the layers their place in the stream. Raises CaptureError where not all were seen to run."""
        if adapter is None:
            return
        ran = {len(self.inputs), len(self.attention_outputs), len(self.outputs)}
        if ran != {len(layers)}:
            raise CaptureError(
                f"of {len(layers)} layers {min(ran)} were seen to run: one that is called by its forward, or more than "
                "once, cannot be followed; call it as a module"
            )
        for layer, x, a, y in zip(layers, self.inputs, self.attention_outputs, self.outputs, strict=True):
            layer.layer_input, layer.attention_output, layer.layer_output = x, a, y
        scales = (by_layer(calls, len(layers)) for calls in (self.stream.attention_norm, self.stream.mlp_norm))
        for layer, attention, mlp in zip(layers, *scales, strict=True):
            layer.attention_scale, layer.mlp_scale = attention, mlp


def inverse_deviation(u: Tensor, eps: float) -> Tensor:
    """(...) 1/s of vectors (..., D), s = √(variance + eps); float32 or float64."""
    u = u if u.dtype == torch.float64 else u.float()
    rstd: Tensor = torch.native_layer_norm(u, u.shape[-1:], None, None, eps)[2]
    return rstd[..., 0]


def by_layer(calls: list[Tensor], n_layers: int) -> list[Tensor | None]:
    """One tensor (B, S) for each layer: a feed-forward block that runs in chunks of tokens norms once for each."""
    chunks, remainder = divmod(len(calls), n_layers)
    if remainder or not chunks:
        return [None] * n_layers
    return [torch.cat(calls[i : i + chunks], 1) for i in range(0, len(calls), chunks)]
