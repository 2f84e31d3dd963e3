"""The run of a trace as a chain of affine maps, and what stands between them: weights, deviations, gates.

Notation, post-LN layer, one token (P, s, β as in `measures/block.py`):
u1 = Σ_h O^h ctx^h + b_O + x,  y = P1 u1/s1 + β1,  u2 = W2 (g ∘ (W1 y + b1)) + b2 + y,  x' = P2 u2/s2 + β2.
Pre-LN: a = x + Σ_h O^h ctx^h + b_O,  x' = a + W2 (g ∘ (W1 n(a) + b1)) + b2. g = act(s)/s, kept as the run had it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from ...base.vocabulary import phrases
from ...errors import ModelError
from ...model.plain_modules import epsilon
from ...model.stream_parts import nothing
from ...run.attention_weights import ROWS, check_precision, scores_part
from ...run.recorder import inverse_deviation
from ...trace.checks import check_finite
from ...trace.trace import Trace
from .affine_maps import Affine, Normed, Rotation
from .score_terms import term_names, unnamed

NEARLY_ZERO = -1e-6  # in place of 0 in act(0)/0: gives 0 for ReLU, whose gate is 1[s > 0]


class Stream:
    """What pulls and pushes go through. Made of a trace that `requirements` accepts; reads captured tensors in place.

    Raises ModelError in words where the stream of the model cannot be split.
    """

    def __init__(self, trace: Trace):
        if not trace.has_neurons:
            raise ModelError(trace.why_no_neurons)
        if trace.changes:
            raise ModelError("a split by source is of a run without changes: take trace.original")
        adapter, _ = trace.borrowed.layer(0)
        if adapter.stream is None:
            raise ModelError(
                f"{adapter.family}'s stream cannot be split by source: it is more than sums and LayerNorms, or its "
                "adapter does not say what it begins with"
            )
        if obstacle := adapter.stream.obstacle(trace.borrowed.base):
            raise ModelError(f"this {adapter.family}'s stream cannot be split by source: {obstacle}")
        trace.check_unchanged()
        self.trace, self.adapter, self.parts, self.model = trace, adapter, adapter.stream, trace.borrowed
        self.base: Any = trace.borrowed.base
        self.modules = list(adapter.layers(self.base))
        self.post_ln = adapter.post_ln
        self.layers = trace.record.layers  # the tensors themselves, only to be read
        check_precision(trace.device)
        self._affine: dict[tuple[int, str], Affine] = {}

    @property
    def dtype(self) -> torch.dtype:
        """Of products with weights: float64 for a float64 model, else float32."""
        return torch.float64 if self._table.dtype == torch.float64 else torch.float32

    @property
    def device(self) -> torch.device:
        """Where the model's embeddings lie."""
        return self._table.device

    @cached_property
    def _table(self) -> Tensor:
        table = self.parts.word(self.base)
        if type(table) is not nn.Embedding:
            raise ModelError(
                f"the word embeddings ({type(table).__name__}) are no plain table: merge or dequantise the model first"
            )
        return table.weight

    def captured(self, x: Tensor | None) -> Tensor:
        """A captured tensor x (...) in the dtype of products; no copy where it is in it already.

        Raises ModelError for None: what was not captured.
        """
        if x is None:
            raise ModelError("the deviations of a LayerNorm were not captured: its class is not torch.nn.LayerNorm")
        return x.detach().to(self.dtype)

    # --- what a layer takes in and gives out, (S, D) ---

    def input(self, layer: int) -> Tensor:
        """(S, D) x of a layer; of layer L what the last layer gives out, before any final norm."""
        top = layer == self.trace.n_layers
        return self.captured(self.layers[layer - 1].layer_output if top else self.layers[layer].layer_input)

    def attended(self, layer: int) -> Tensor:
        """(S, D) what the attention block of a layer gives out, before the residual."""
        return self.captured(self.layers[layer].attention_output)

    def context(self, layer: int) -> Tensor:
        """(S, H·d) the heads' sums of values, side by side, before the output matrix."""
        return self.captured(self.layers[layer].context)

    # --- the maps ---

    def _cached(self, layer: int, name: str, make: Callable[[], Affine]) -> Affine:
        if (layer, name) not in self._affine:
            self._affine[layer, name] = make()
        return self._affine[layer, name]

    def plain(self, module: nn.Module, part: int | None = None) -> Affine:
        """A module's projection, or a part of it (a third of a fused one), as the run multiplied by it.

        Raises ModelError where it is quantised or adapted otherwise.
        """
        weight, bias = self.model.affine(module, part)
        cast = self.dtype
        return Affine(weight.detach().to(cast), None if bias is None else bias.detach().to(cast))

    def projection(self, layer: int, which: str, head: int) -> Affine:
        """W_Q, W_K or W_V (`which`: "query", "key", "value") of one head; (d, D)."""
        adapter, module = self.adapter, self.modules[layer]
        fused = adapter.value_part is not None
        number = ("query", "key", "value").index(which)
        third = adapter.value_part if which == "value" else number if fused else None
        joint = self._cached(layer, which, lambda: self.plain(getattr(adapter, f"{which}_projection")(module), third))
        captured = getattr(self.layers[layer], which)
        shared = self.trace.n_heads // captured.shape[0]  # heads that share a key head
        size = len(joint.weight) // captured.shape[0]
        rows = slice(head // shared * size, (head // shared + 1) * size)
        weight, bias = joint.weight[rows], None if joint.bias is None else joint.bias[rows]
        factor = self.parts.query_factor(module) if which == "query" else 1.0
        if factor != 1.0:
            weight, bias = weight * factor, None if bias is None else bias * factor
        return Affine(weight, bias)

    def output(self, layer: int) -> Affine:
        """W_O, b_O."""
        module = self.adapter.output_projection(self.modules[layer])
        return self._cached(layer, "output", lambda: self.plain(module))

    def mlp(self, layer: int) -> tuple[Affine, Affine | None, Affine]:
        """The branch that is activated, the branch that it gates (None without), the projection out."""
        *inner, _ = self.adapter.mlp(self.modules[layer])
        branches = [self._cached(layer, f"inner {i}", lambda m=m: self.plain(m)) for i, m in enumerate(inner)]  # type: ignore[misc]
        if self.parts.fused_gate:
            weights = branches[0].weight.chunk(2)
            biases = (None, None) if branches[0].bias is None else branches[0].bias.chunk(2)
            branches = [Affine(w, b) for w, b in zip(weights, biases, strict=True)]
        return branches[0], branches[1] if len(branches) > 1 else None, self.mlp_output(layer)

    def mlp_output(self, layer: int) -> Affine:
        """W2, b2."""
        module = self.adapter.mlp(self.modules[layer])[-1]
        return self._cached(layer, "outer", lambda: self.plain(module))

    def attention_norm(self, layer: int) -> Normed | None:
        """The attention block's LayerNorm: behind its sum (post-LN) or what it reads through (pre-LN; maybe none)."""
        module = self.adapter.attention_norm(self.modules[layer])
        if type(module) is nn.Identity:
            return None
        return self.normed(module, self.layers[layer].attention_scale if self.post_ln else self.input(layer))

    def mlp_norm(self, layer: int) -> Normed:
        """The MLP's LayerNorm: behind its sum (post-LN), or what the MLP reads through (pre-LN)."""
        module = self.adapter.mlp_norm(self.modules[layer])
        return self.normed(module, self.layers[layer].mlp_scale if self.post_ln else self.attended(layer))

    def final_norm(self) -> Normed | None:
        """The norm behind the last layer; None where the family has none."""
        module = self.parts.final_norm(self.base)
        return None if module is None else self.normed(module, self.input(self.trace.n_layers))

    def normed(self, module: Any, intake: Tensor | None) -> Normed:
        """A LayerNorm module as this run had it. intake: (S,) 1/s of the run, or the (S, D) vectors that it took in.

        Raises ModelError for another class.
        """
        eps = epsilon(module)
        if eps is None:
            raise ModelError(f"a {type(module).__name__} is not a LayerNorm that a stream can be split through")
        intake = self.captured(intake)
        scale = inverse_deviation(intake, eps) if intake.ndim == 2 else intake
        size = module.normalized_shape[0] if module.weight is None else len(module.weight)
        ones, zeros = (make(size, dtype=torch.float64, device=self.device) for make in (torch.ones, torch.zeros))
        return Normed(
            ones if module.weight is None else module.weight.detach().double(),
            zeros if module.bias is None else module.bias.detach().double(),
            scale.double(),
        )

    # --- gates ---

    def mlp_input(self, layer: int, tokens: Tensor) -> Tensor:
        """(T, D) what the MLP takes in at some tokens."""
        y = self.attended(layer)[tokens]
        if self.post_ln:
            return y
        norm, y = self.mlp_norm(layer), y.double()
        return (y - y.mean(-1, keepdim=True)) * norm.weight * norm.scale[tokens, None] + norm.bias

    def neurons(self, layer: int, tokens: Tensor) -> Tensor:
        """(T, F) float64 what the MLP's last projection takes in at some tokens."""
        activated, gated, _ = self.mlp(layer)
        y = self.mlp_input(layer, tokens)
        active = self.parts.activation(self.modules[layer])(activated(y).double())
        return active if gated is None else active * gated(y).double()

    def gates(self, layer: int, tokens: Tensor) -> tuple[Tensor, Affine]:
        """(T, F) float64 of tokens (T,) and the map that they are kept on: neurons = gates ∘ map(y).

        act(s)/s; in a gated MLP its activated branch act(s), the other branch being the map. Raises ModelError for an
        activation that is not 0 at 0.
        """
        activated, gated, _ = self.mlp(layer)
        act = self.parts.activation(self.modules[layer])
        s = activated(self.mlp_input(layer, tokens)).double()
        if gated is not None:
            return act(s), gated
        check_activation(act)
        return gate(act, s), activated

    # --- one head's attention ---

    def attention(self, layer: int, head: int, tokens: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """α of one head for some queries, tokens (T,), some at a time: which of them, (R, S) float64."""
        record, of = self.layers[layer], slice(head, head + 1)
        for start in range(0, len(tokens), ROWS):
            batch = tokens[start : start + ROWS].cpu()
            runs = batch.tensor_split(1 + (batch.diff() != 1).nonzero()[:, 0])
            scores = [scores_part(record, of, slice(int(run[0]), int(run[-1]) + 1))[0] for run in runs]
            yield slice(start, start + len(batch)), torch.cat(scores).double().softmax(-1)

    def heads(self, layer: int, which: str, head: int) -> Tensor:
        """(S, d) the vectors of one head as the model multiplies them. which: "query", "key" or "value"."""
        captured = getattr(self.layers[layer], which)
        return self.captured(captured[head * len(captured) // self.trace.n_heads])

    def rotation(self, layer: int) -> Rotation | None:
        """How queries and keys of all tokens are turned; None where they are not.

        Raises ModelError where a rotation cannot be seen.
        """
        rotations = self.trace.record.entry.rotations
        if not rotations:
            if self.parts.rotary is not nothing and _rotates(self.base):
                raise ModelError(
                    f"this release of transformers rotates {self.adapter.family}'s queries and keys where it cannot be "
                    "seen: update transformers to split its scores"
                )
            return None
        cos, sin = rotations[self.parts.rotation_key(self.modules[layer])]
        return Rotation(cos.double(), sin.double(), self.parts.neighbours)

    # --- the beginning ---

    @cached_property
    def embedded(self) -> dict[str, Tensor]:
        """kind -> (S, E) word, position and type as far as the model has them: what its embeddings sum up.

        Raises ModelError for tables that are no plain ones.
        """
        entry = self.trace.record.entry
        ids = {"position": entry.position_ids, "type": entry.type_ids}
        vectors: dict[str, Tensor] = {}
        for kind, index in ids.items():
            table = getattr(self.parts, kind)(self.base)
            if table is not None and index is not None:
                if type(table) is not nn.Embedding:
                    raise ModelError(
                        f"the {kind} embeddings ({type(table).__name__}) are no plain table: merge the model first"
                    )
                vectors[kind] = self.captured(table.weight[index])
        if not self.parts.scaled_words:
            return {"word": self.captured(self._table[self.trace.input_ids])} | vectors
        total = self._embedded_sum
        return {"word": total - sum(vectors.values(), torch.zeros_like(total))} | vectors

    @cached_property
    def _embedded_sum(self) -> Tensor:
        """(S, E) the embeddings' sum, told from layer 0's input; behind a norm up to a constant, which that drops."""
        total, norm = self.input(0), self.embedding_norm
        if norm is None:
            return total
        if (norm.weight == 0).any():
            raise ModelError("a LayerNorm weight of the embeddings is 0: what it took in cannot be told")
        return ((total.double() - norm.bias) / norm.weight / norm.scale[:, None]).to(self.dtype)

    @cached_property
    def _embedded_alike(self) -> Affine:
        """x + c, c the vector that the embeddings add to every token alike. Raises ModelError where they do not."""
        total = self._embedded_sum
        surplus = total - sum(self.embedded.values(), torch.zeros_like(total))
        surplus = surplus - surplus.mean(-1, keepdim=True)
        rounding = 32 * torch.finfo(self._table.dtype).eps * total.abs().max()
        if ((surplus - surplus[0]).abs() > rounding).any():
            raise ModelError(f"this {self.adapter.family} was given a layout, of which a split by source has no part")
        return Affine(torch.eye(surplus.shape[-1], dtype=self.dtype, device=self.device), surplus.mean(0))

    @cached_property
    def embedding_norm(self) -> Normed | None:
        """The LayerNorm of the embeddings; None where the family has none."""
        module = self.parts.norm(self.base)
        return None if module is None else self.normed(module, self.trace.record.entry.inverse_deviation)

    @cached_property
    def embedding_projection(self) -> Affine | None:
        """From the width of the embeddings to that of the stream; None where they are the same."""
        module = self.parts.projection(self.base)
        return None if module is None else self.plain(module)

    @property
    def entry(self) -> list[Normed | Affine]:
        """What the embeddings' sum goes through before layer 0, in that order."""
        maps = [self.embedding_norm, self.embedding_projection]
        if self.parts.projected_first:
            maps.reverse()
        alike = [self._embedded_alike] if self.parts.surplus else []
        return [map for map in (*alike, *maps) if map is not None]

    @property
    def notes(self) -> tuple[str, ...]:
        """What every answer says of itself."""
        notes = [phrases.OF_THIS_RUN]
        entry = self.trace.record.entry
        if entry.rotations:
            notes.append("No position source: positions rotate queries and keys and are added to no vector.")
        elif entry.position_ids is None:
            but = ", but terms beside q·k to its scores" if term_names(self.trace, 0) else ""
            notes.append(f"No position source: the model adds no position embedding{but}.")
        if entry.type_ids is None:
            notes.append(phrases.NO_TYPE_SOURCE)
        return tuple(notes)


def _rotates(base: nn.Module) -> bool:
    return any("Rotary" in type(module).__name__ for module in base.modules())


def gate(act: Callable[[Tensor], Tensor], s: Tensor) -> Tensor:
    """act(s)/s, at 0 its limit from below; Φ(s) of GELU, 1[s > 0] of ReLU, σ(s) of SiLU."""
    safe = torch.where(s.abs() < torch.finfo(s.dtype).tiny, torch.full_like(s, NEARLY_ZERO), s)
    return act(safe) / safe


def check_activation(act: Any) -> None:
    """Raises ModelError for an activation with act(0) ≠ 0, which is no gate on its input."""
    if float(act(torch.zeros(1, dtype=torch.float64, device="cpu"))) != 0:
        name = getattr(act, "__name__", type(act).__name__)
        raise ModelError(f"{name} is not 0 at 0: an MLP with it cannot be opened as a gate on its input")


def requirements(trace: Trace) -> None:
    """Raises the ModelError that a split of the stream would raise, before any work."""
    stream = Stream(trace)
    check_finite(trace)
    for layer in range(trace.n_layers):
        stream.rotation(layer), stream.attention_norm(layer), stream.mlp_norm(layer)
        if unnamed(trace, layer):
            raise ModelError("its mask adds numbers to scores beside q·k, which come from no source that has a name")
        adapter, module = stream.adapter, stream.modules[layer]
        attention = (adapter.query_projection, adapter.key_projection, adapter.output_projection)
        for projection in (*(find(module) for find in attention), *adapter.mlp(module)):
            stream.model.check_plain(projection)
    stream.embedded, stream.entry, stream.final_norm()
