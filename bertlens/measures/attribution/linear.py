"""The linearised model: attention weights, deviations of LayerNorms and gates of MLPs as the run had them.

With them kept the model is affine in what goes in, so a number that is read off the last layer is a sum over tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import InputError
from ...trace.checks import check_finite
from ...trace.trace import Trace
from ..metrics import Metric, Read
from ..sources import Reading
from ..sources.affine_maps import Affine, Normed
from ..sources.stream import Stream
from .attribution import Attribution, reader


@torch.no_grad()
def linearised(trace: Trace, metric: Metric | Read) -> Attribution:
    """Σ_d x_d ∂F/∂x_d with attention, LayerNorm deviations and gates detached; x is word + position + type.

    The values and the `bias` (every vector that all tokens were given alike) sum to the number itself. metric: a logit,
    a difference of logits, a class or a similarity. Whatever acts through attention or a gate, and not through what is
    passed on, is not seen. Bach et al. 2015 (LRP-0) as Ali et al. 2022 (2202.07304) take it through attention and
    LayerNorm; gates as in DecompX (2306.02873).
    Raises InputError for a metric that is no sum of parts, ModelError like `sources.logit`, and on a changed trace.
    """
    _, answer = reader(trace, metric)
    if not isinstance(metric, Metric) or metric.reading is None:
        named = metric.name if isinstance(metric, Metric) else "a function of the output"
        raise InputError(f"{named} is no sum of parts: use whatif.logit, difference, label or similarity")
    stream = Stream(trace)
    check_finite(trace)
    values, bias = pulled(stream, metric.reading(trace))
    notes = (*stream.notes, "Attention weights and gates of MLPs as they were in this run, too.")
    return Attribution(trace, "linearised", metric, values.cpu(), answer, notes, bias=float(bias))


def pulled(stream: Stream, reading: Reading) -> tuple[Tensor, Tensor]:
    """(S,) float64 what each input token puts into a reading of one number, and what all biases do: they sum to it."""
    pull = _Pull(stream, reading)
    if reading.normed:
        pull.norm(stream.final_norm())
    for layer in reversed(range(stream.trace.n_layers)):
        pull.mlp(layer)
        pull.attention(layer)
    for map in reversed(stream.entry):
        pull.norm(map) if isinstance(map, Normed) else pull.affine(map)
    embedded = sum(stream.embedded.values(), torch.zeros((), dtype=stream.dtype, device=stream.device))
    return (pull.rows * embedded.double()).sum(-1), pull.bias


class _Pull:
    """A direction for every token of the stream, on its way down. Notation as in `sources.stream`."""

    def __init__(self, stream: Stream, reading: Reading):
        self.stream = stream
        vectors = reading.vector[:, 0].expand(len(reading.tokens), -1)
        share = torch.ones_like(vectors[:, 0]) if reading.share is None else reading.share
        self.rows = vectors.new_zeros(stream.trace.n_tokens, vectors.shape[-1])  # (S, D) float64
        self.rows.index_add_(0, reading.tokens, share[:, None] * vectors)
        self.bias = reading.constant.sum()

    def _constant(self, rows: Tensor, b: Tensor | None) -> None:
        if b is not None:
            self.bias = self.bias + rows.sum(0) @ b.double()

    def _through(self, rows: Tensor, norm: Normed | None) -> Tensor:
        if norm is None:
            return rows
        self._constant(rows, norm.bias)
        return norm.back(rows) * norm.scale[:, None]

    def norm(self, norm: Normed | None) -> None:
        self.rows = self._through(self.rows, norm)

    def affine(self, map: Affine) -> None:
        self._constant(self.rows, map.bias)
        self.rows = map.back(self.rows)

    def mlp(self, layer: int) -> None:
        stream = self.stream
        norm, outer = stream.mlp_norm(layer), stream.mlp_output(layer)
        if stream.post_ln:
            self.norm(norm)
        self._constant(self.rows, outer.bias)
        gates, inner = stream.gates(layer, torch.arange(len(self.rows), device=stream.device))
        inside = outer.back(self.rows) * gates
        self._constant(inside, inner.bias)
        inside = inner.back(inside)
        self.rows = self.rows + (inside if stream.post_ln else self._through(inside, norm))

    def attention(self, layer: int) -> None:
        stream = self.stream
        norm, output = stream.attention_norm(layer), stream.output(layer)
        if stream.post_ln:
            self.norm(norm)
        self._constant(self.rows, output.bias)
        alpha = stream.trace.attention(layer).double()  # (H, S, S)
        heads = output.back(self.rows).unflatten(-1, (len(alpha), -1))  # (S, H, d)
        inside = torch.zeros_like(self.rows)
        for head, weights in enumerate(alpha):
            values = stream.projection(layer, "value", head)
            fetched = weights.T @ heads[:, head]
            self._constant(fetched, values.bias)
            inside = inside + values.back(fetched)
        self.rows = self.rows + (inside if stream.post_ln else self._through(inside, norm))
