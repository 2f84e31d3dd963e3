"""Runs of the user's model with a fault put on it for one call, and the pooled vectors that they leave.

All that is lent is taken off again whatever ends the call (`model/loan.py`); weights are swapped in the modules' own
tables, as `torch.func.functional_call` does, so that no model is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..base.interrupts import interruptible
from ..errors import InputError, ModelError
from ..lens import Lens
from ..model import transformers_private as private
from ..model.loan import Loan
from ..run import trust
from ..run.attention_weights import check_precision
from ..sentences.encoders import SentenceEncoder
from .hypothesis import Fault, ModelParts, PassChange, Row, TextLengths
from .pooling_faults import FAULTS, TextStates
from .text_faults import Reader

BATCH = 4  # rows of like length beside each other
JITTER = 1e-6  # relative: what the embeddings of another float engine differ by
Vectors = dict[str, np.ndarray]  # name of a pooling -> (D,) float64
NOTHING = PassChange()


class Runner:
    """A lens' encoder, run row by row with changes. Raises ModelError for one that makes no single vectors."""

    def __init__(self, lens: Lens, reader: Reader):
        encoder: Any = lens.sentences
        if encoder.crosses or not hasattr(encoder, "modes"):
            raise ModelError("parity is of vectors of whole texts: this model makes none")
        self.lens, self.reader, self.parts = lens, reader, ModelParts(lens.borrowed)
        self.pooling: Callable[[Tensor, Tensor], Tensor] = encoder.modes.pooled
        self.left_out = self._left_out(encoder)
        self._made: dict[tuple[str, Row], Vectors] = {}
        self.passes = 0  # of one text

    def _left_out(self, encoder: Any) -> int:
        if not isinstance(encoder, SentenceEncoder) or encoder.module[1].include_prompt or not self.reader.prompt:
            return 0
        return len(self.reader.ids(self.reader.prompt)) - 1  # without the last special token, as that package counts

    @cached_property
    def _is_padding_seen(self) -> bool:
        model = self.lens.borrowed
        return trust.sees_padding(
            model, self.lens.inputs([self.lens.encoding("one text")]), self._pad, self.reader.limit
        )

    @property
    def _pad(self) -> int:
        return self.lens.tokenizer.pad_token_id or 0

    def vectors(
        self, rows: Sequence[Row], change: PassChange, batch: TextLengths, name: str | None, is_bare: bool = False
    ) -> list[Vectors]:
        """Of each row its vector by each pooling. name: by which what was run is known again; None where not."""
        changed = change.read(rows, batch)
        if name is None:
            return self.run(changed, change, is_bare=is_bare)
        missing = list(dict.fromkeys(row for row in changed if (name, row) not in self._made))
        for row, pooled in zip(missing, self.run(missing, change), strict=True):
            self._made[name, row] = pooled
        return [self._made[name, row] for row in changed]

    def run(
        self,
        rows: Sequence[Row],
        change: PassChange,
        size: int = BATCH,
        *,
        jitter: int | None = None,
        kernel: bool = False,
        is_bare: bool = False,
    ) -> list[Vectors]:
        """size: of batches. jitter: seed of noise on the embeddings' output. kernel: attention by the other kernel.
        is_bare: pooled as the encoder does, in no other way."""
        if not rows:
            return []
        check_precision(self.lens.borrowed.device)
        places = sorted(range(len(rows)), key=lambda n: rows[n].length)
        vectors_of: dict[int, Vectors] = {}
        with self.lens.borrowed.locked(), Loan() as loan, torch.no_grad():
            states = self._lend(loan, change, jitter, kernel)
            poolings = FAULTS[: 1 if is_bare else None]
            for members in self._batches(rows, places, size):
                states.clear()
                pooled = self._batch([rows[n] for n in members], change, states, poolings)
                vectors_of |= zip(members, pooled, strict=True)
        self.passes += len(rows)
        return [vectors_of[n] for n in range(len(rows))]

    def _batches(self, rows: Sequence[Row], places: list[int], size: int) -> list[list[int]]:
        lengths = [row.length for row in rows]
        if len(set(lengths)) == 1 or size == 1 or not self._is_padding_seen:
            return [places[n : n + size] for n in range(0, len(places), size)]
        return [[n for n in places if lengths[n] == length] for length in sorted(set(lengths))]

    def _lend(self, loan: Loan, change: PassChange, jitter: int | None, kernel: bool) -> dict[str, list[Tensor]]:
        """Puts a change on the model. Returns where a pass leaves its embeddings and the outputs of its layers."""
        base = self.parts.base
        for module in base.modules():
            if module.training:
                loan.set(module, "training", False)
        if kernel:
            for config in private.configs(base):
                now = private.attention_of(config)
                if now == "sdpa" or (now == "eager" and getattr(base, "_supports_sdpa", False)):
                    loan.set(config, private.IMPLEMENTATION, "eager" if now == "sdpa" else "sdpa")
        if change.weights:
            _swap(loan, base, change.weights())
        for owner, name, value in change.attributes:
            loan.set(owner, name, value)
        for hook in change.hooks:
            owner = hook.module
            register = owner.register_forward_pre_hook if hook.is_before else owner.register_forward_hook
            loan.hook(register(hook.function))
        states: dict[str, list[Tensor]] = {}
        adapter = self.parts.adapter
        if adapter is not None:
            embeddings = adapter.embeddings(base)
            if jitter is not None:
                loan.hook(embeddings.register_forward_hook(_jitter(jitter)))
            loan.hook(embeddings.register_forward_hook(_keep(states, "embedded")))
            for layer in {id(m): m for m in self.parts.layers}.values():
                loan.hook(layer.register_forward_hook(_keep(states, "layers")))
        return states

    def _batch(
        self, rows: list[Row], change: PassChange, states: dict[str, list[Tensor]], poolings: Sequence[Fault]
    ) -> list[Vectors]:
        device = self.lens.borrowed.device
        longest = max(row.length for row in rows)
        ids = torch.full((len(rows), longest), self._pad, device=device)
        mask = torch.zeros(len(rows), longest, dtype=torch.long, device=device)
        for n, row in enumerate(rows):
            ids[n, : len(row.ids)] = torch.tensor(row.ids, device=device)
            mask[n, : row.length if row.is_padding_seen else len(row.ids)] = 1
        inputs: dict[str, Any] = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
        if any(row.shift for row in rows):
            table: Any = self.parts.of_stream("position")
            start = 0 if table.padding_idx is None else table.padding_idx + 1
            shifts = torch.tensor([[row.shift] for row in rows], device=device)
            at = torch.arange(longest, device=device)[None] + shifts + start
            inputs["position_ids"] = at.clamp(max=len(table.weight) - 1).to(device)
        if change.is_causal:
            hidden = (
                torch.ones(longest, longest, dtype=torch.bool, device=device).tril()[None, None]
                & mask.bool()[:, None, None]
            )
            lowest = torch.finfo(self.lens.borrowed.dtype).min
            inputs["attention_mask"] = (~hidden).to(device, self.lens.borrowed.dtype) * lowest
        cast = torch.autocast(device.type, change.autocast) if change.autocast else nullcontext()
        with interruptible(), cast:
            output = self.called(**{name: value for name, value in inputs.items() if name in self.parts.arguments})
        return self._read(output, rows, states, poolings)

    @property
    def called(self) -> Any:
        """What is run: the model without its head."""
        return self.parts.base

    def _read(
        self, output: Any, rows: list[Row], states: dict[str, list[Tensor]], poolings: Sequence[Fault]
    ) -> list[Vectors]:
        final = _wide(output.last_hidden_state)
        layers = states.get("layers", ())
        penultimate = _wide(layers[-2]) if len(layers) > 1 else None
        embedded = _wide(states["embedded"][0]) if states.get("embedded") else None
        pooler = getattr(output, "pooler_output", None)
        poolers = [None] * len(rows) if pooler is None else list(_wide(pooler))
        pooled: list[Vectors] = []
        for n, row in enumerate(rows):
            length = len(row.ids)
            text = TextStates(
                states=final[n, :length],
                before=None if penultimate is None else penultimate[n, :length],
                embedded=None if embedded is None or embedded.shape[-1] != final.shape[-1] else embedded[n, :length],
                padding=None if row.padding is None else final[n, length : row.length],
                special=torch.tensor([i in self.reader.special for i in row.ids], device=final.device),
                own=self.pooling,
                pooler=poolers[n],
                left_out=self.left_out,
            )
            variants = ((fault.name, fault.way(text)) for fault in poolings)
            pooled.append({name: vector.double().cpu().numpy() for name, vector in variants if vector is not None})
        return pooled

    def noise(self, rows: Sequence[Row], batch: TextLengths) -> list[list[Vectors]]:
        """Four runs of the same rows that differ in the order of float operations alone, the last in float64."""
        wide = PassChange(weights=lambda: _as_double(self.parts.base))
        runs = [
            self.run(rows, NOTHING, 1),
            self.run(rows[::-1], NOTHING, 2)[::-1],
            self.run(rows, NOTHING, kernel=True),
        ]
        return [*runs, self.run(rows, wide, 1)]

    def floors(self, rows: Sequence[Row], change: PassChange) -> list[list[Vectors]]:
        """What a rounding of activations differs from itself by: jittered embeddings, and another batch."""
        return [self.run(rows, change, jitter=1), self.run(rows, change, jitter=2), self.run(rows, change, 1)]


def _wide(states: Tensor) -> Tensor:
    """In float32 at least."""
    return states if states.dtype == torch.float64 else states.float()


def _as_double(base: nn.Module) -> dict[str, Tensor]:
    tensors = [*base.named_parameters(), *base.named_buffers()]
    return {name: t.detach().double() for name, t in tensors if t.is_floating_point()}


def _jitter(seed: int) -> Callable[..., Any]:
    generator = torch.Generator().manual_seed(seed)

    def after(module: nn.Module, arguments: Any, output: Any) -> Any:
        tensor = output[0] if isinstance(output, tuple) else output
        noise = torch.randn(tensor.shape, generator=generator, device="cpu").to(tensor)
        moved = tensor * (1 + JITTER * noise)
        return (moved, *output[1:]) if isinstance(output, tuple) else moved

    return after


def _keep(states: dict[str, list[Tensor]], name: str) -> Callable[..., None]:
    def after(module: nn.Module, arguments: Any, output: Any) -> None:
        states.setdefault(name, []).append(output[0] if isinstance(output, tuple) else output)

    return after


def _swap(loan: Loan, base: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Other tensors in the places of a model's own, wherever one stands twice."""
    own_outputs: dict[int, Tensor] = {}
    for name, tensor in tensors.items():
        path, _, leaf = name.rpartition(".")
        own_outputs[id(getattr(base.get_submodule(path), leaf))] = tensor
    for module in base.modules():
        tables: list[dict[str, Any]] = [module._parameters, module._buffers]
        for table in tables:
            for leaf, original in list(table.items()):
                if original is not None and id(original) in own_outputs:
                    loan.callback(table.__setitem__, leaf, original)
                    table[leaf] = own_outputs[id(original)]


def right_row(reader: Reader, text: str) -> Row:
    """Raises InputError for a text of which no token is left."""
    ids = reader.right(text)
    if not ids:
        raise InputError("a text without tokens has no vector: leave it out")
    return Row(ids)
