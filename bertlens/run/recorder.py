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

from ..model.families import Adapter
from ..model.loan import Loan
from ..model.plain_modules import epsilon
from .record import Entry


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
