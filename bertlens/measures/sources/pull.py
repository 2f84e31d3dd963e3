"""The pull-back: a direction that reads one layer's input, taken down through the stream to everything it came from.

A reading is Σ_t λ_t w_t · n(x_t) + const over tokens t of one layer's input, n the norm it is read through. On the way
down every LayerNorm is w ← Pᵀw/s, and what is added to the stream is a part: its dot product with w. Between tokens
only 1/s differs, so one direction with a number per token serves all of them; with MLPs opened, gates differ too, and
each token goes with its own direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from .affine_maps import Affine, Normed
from .stream import Stream


@dataclass(frozen=True)
class Reading:
    """What is read of the stream. N directions at once, each of its own or the same for all T tokens."""

    layer: int  # whose input; L: the last layer's output
    tokens: Tensor  # (T,) int64
    share: Tensor | None  # (T,) λ float64; None: tokens are not summed up, results are (T, N)
    vector: Tensor  # (T or 1, N, D) float64
    constant: Tensor  # (N,), or (T, N) where tokens are not summed up
    normed: bool = True  # through the layer's norm in pre-LN families, or the final norm


@dataclass
class Pull:
    """A direction on its way down. w_t = scale_t · vector_t."""

    stream: Stream
    tokens: Tensor
    share: Tensor | None
    vector: Tensor  # (T or 1, N, D)
    scale: Tensor  # (T,)
    all_tokens: bool  # tokens are all tokens, in order

    @property
    def weights(self) -> Tensor:
        """(T,) λ · scale."""
        return self.scale if self.share is None else self.share * self.scale

    def rows(self, x: Tensor) -> Tensor:
        """(T, ...) of the tokens read."""
        return x if self.all_tokens else x[self.tokens]

    def read(self, x: Tensor) -> Tensor:
        """(N,) Σ_t λ_t w_t · x_t of captured vectors x (S, D); (T, N) where tokens are not summed up."""
        if len(self.vector) == 1:
            return self._read_shared(self.rows(x))
        products = torch.einsum("td,tnd->tn", self.rows(x).double(), self.vector)
        return self._summed(products)

    def _read_shared(self, x: Tensor) -> Tensor:
        if self.share is None:
            return (x @ self.vector[0].T.to(x.dtype)).double() * self.scale[:, None]
        pooled = self.weights.to(x.dtype) @ x
        return self.vector[0] @ pooled.double()

    def _summed(self, products: Tensor) -> Tensor:
        """(N,) or (T, N) of what each token's own direction reads."""
        if self.share is None:
            return products * self.scale.view(-1, *[1] * (products.ndim - 1))
        return torch.tensordot(self.weights, products, dims=1)

    def read_constant(self, b: Tensor | None) -> Tensor:
        """The same of one vector b (D,) that every token was given."""
        if b is None:
            shape = (self.vector.shape[1],) if self.share is not None else (len(self.scale), self.vector.shape[1])
            return self.vector.new_zeros(shape)
        products = self.vector @ b.double()  # (T or 1, N)
        if len(products) == 1:
            return products[0] * self.weights.sum() if self.share is not None else products * self.scale[:, None]
        return self._summed(products)

    def back(self, map: Affine) -> Pull:
        return replace(self, vector=map.back(self.vector))

    def through(self, norm: Normed) -> Pull:
        """Pᵀw/s."""
        return replace(self, vector=norm.back(self.vector), scale=self.scale * self.rows(norm.scale))

    def gated(self, gates: Tensor) -> Pull:
        """g ∘ w, gates (T, F)."""
        if len(gates) == 1 and len(self.vector) == 1:
            return replace(self, vector=self.vector * gates[None])
        return replace(self, vector=self.vector * gates[:, None])

    def plus(self, other: Pull) -> Pull:
        """The sum of two directions of the same tokens, whose scales may differ."""
        if torch.equal(self.scale, other.scale):
            return replace(self, vector=self.vector + other.vector)
        ratio = (other.scale / self.scale)[:, None, None]
        return replace(self, vector=self.vector + ratio * other.vector)

    def read_heads(self, context: Tensor, output: Affine) -> Tensor:
        """(H, N) each head's part, or (T, H, N): its context (S, H·d) through its columns of W_O."""
        heads = self.stream.trace.n_heads
        r = self.back(output).vector.unflatten(-1, (heads, -1))  # (T or 1, N, H, d)
        x = self.rows(context)
        if len(r) == 1 and self.share is not None:
            pooled = (self.weights.to(x.dtype) @ x).double().unflatten(-1, (heads, -1))
            return torch.einsum("hd,nhd->hn", pooled, r[0])
        products = torch.einsum("thd,tnhd->thn", x.double().unflatten(-1, (heads, -1)), r.expand(len(x), -1, -1, -1))
        return self._summed(products)


@dataclass
class Parts:
    """What a pull found. Numbers are (N,), or (T, N) where tokens are not summed up."""

    bias: Tensor
    heads: dict[int, Tensor]  # layer -> (H, ...), or one (...) for all heads together
    mlps: dict[int, Tensor]  # layer -> (...); empty where MLPs are opened
    embedded: dict[str, Tensor]  # word, position, type


def begin(stream: Stream, reading: Reading) -> tuple[Pull, Tensor]:
    """The pull at the stream itself, below the norm that the reading reads through, and its constant part."""
    tokens = reading.tokens
    all_tokens = len(tokens) == stream.trace.n_tokens and bool(
        (tokens == torch.arange(len(tokens), device=tokens.device)).all()
    )
    ones = torch.ones(len(tokens), dtype=torch.float64, device=stream.device)
    pull = Pull(stream, tokens, reading.share, reading.vector, ones, all_tokens)
    bias = reading.constant
    if reading.normed:
        top = reading.layer == stream.trace.n_layers
        norm = stream.final_norm() if top else None if stream.post_ln else stream.attention_norm(reading.layer)
        if norm is not None:
            bias = bias + pull.read_constant(norm.bias)
            pull = pull.through(norm)
    return pull, bias


class PullStep(NamedTuple):
    """Where a pull stands: at the sum that a layer's MLP or its attention was added to, or where it began."""

    place: str  # "reading", "mlp", "attention"
    layer: int
    pull: Pull
    bias: Tensor  # of every vector that was added to all tokens alike since the step before
    contribution: Tensor  # (N,) of the MLP, (H, N) of the heads; empty at the reading and of opened MLPs


def descend(
    stream: Stream, reading: Reading, *, through_mlps: bool = False, together: bool = False, down_to: int = 0
) -> Iterator[PullStep]:
    """The pull on its way from the reading to layer `down_to`. together: the heads of a layer as one part."""
    pull, bias = begin(stream, reading)
    nothing = bias.new_zeros(0)
    yield PullStep("reading", reading.layer, pull, bias, nothing)
    for layer in reversed(range(down_to, reading.layer)):
        b2 = stream.mlp_output(layer).bias
        if through_mlps:
            pull, bias = _below_norm(pull, stream.mlp_norm(layer) if stream.post_ln else None)
            yield PullStep("mlp", layer, pull, bias + pull.read_constant(b2), nothing)
            pull, bias = _opened(pull, layer)
        else:
            total = pull.read(stream.input(layer + 1))
            pull, beta = _below_norm(pull, stream.mlp_norm(layer) if stream.post_ln else None)
            bias = pull.read_constant(b2)
            # the sum is known, through its norm, and so is what the MLP was added to: what is left is the MLP
            yield PullStep("mlp", layer, pull, beta + bias, total - beta - bias - pull.read(stream.attended(layer)))
            bias = torch.zeros_like(bias)
        pull, beta = _below_norm(pull, stream.attention_norm(layer) if stream.post_ln else None)
        output, context = stream.output(layer), stream.context(layer)
        bias = bias + beta + pull.read_constant(output.bias)
        contribution = pull.back(output).read(context) if together else pull.read_heads(context, output)
        yield PullStep("attention", layer, pull, bias, contribution)


def _below_norm(pull: Pull, norm: Normed | None) -> tuple[Pull, Tensor]:
    """Below a LayerNorm, and β's part."""
    if norm is None:
        return pull, pull.read_constant(None)
    return pull.through(norm), pull.read_constant(norm.bias)


def _opened(pull: Pull, layer: int) -> tuple[Pull, Tensor]:
    """Below an opened MLP and beside it: W2 diag(g) (W1 y + b1) is affine in y; and the part of its biases inside."""
    stream = pull.stream
    gates, inner = stream.gates(layer, pull.tokens)
    inside = pull.back(stream.mlp_output(layer)).gated(gates)
    bias = inside.read_constant(inner.bias)
    inside, beta = _below_norm(inside.back(inner), None if stream.post_ln else stream.mlp_norm(layer))
    return pull.plus(inside), bias + beta


def parts(stream: Stream, reading: Reading, *, through_mlps: bool = False, together: bool = False) -> Parts:
    """All that a reading came from: the sum of everything is what it reads."""
    steps = descend(stream, reading, through_mlps=through_mlps, together=together)
    _, _, pull, bias, _ = next(steps)
    heads, mlps = {}, {}
    for place, layer, pull, constant, contribution in steps:  # noqa: B007
        bias = bias + constant
        if place == "attention":
            heads[layer] = contribution
        elif not through_mlps:
            mlps[layer] = contribution
    for map in reversed(stream.entry):
        bias = bias + pull.read_constant(map.bias)
        pull = pull.through(map) if isinstance(map, Normed) else pull.back(map)
    return Parts(bias, heads, mlps, {kind: pull.read(vectors) for kind, vectors in stream.embedded.items()})
