"""One layer's attention block as a sum of vectors, and the norms of these vectors for all pairs of tokens.

After Kobayashi et al. 2020 the block's output for token i is u_i = Σ_j c_ij + b_O + x_i, c_ij = Σ_h α^h_ij f^h(x_j) and
f^h(x_j) = O^h v^h_j (value bias inside, b_O outside, O^h the head's columns of W_O). For a linear map M that does not
depend on i, ‖M c_ij‖² = a_ijᵀ G_j a_ij, a_ij the H weights of a pair and G_j[h,h'] = M f^h(x_j) · M f^h'(x_j): one
H x H matrix per source token j replaces every tensor of pairs x D.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ..errors import ModelError
from ..model.plain_modules import epsilon
from ..run.attention_weights import scores_part
from ..run.score_bias import ScoreBias
from ..trace.trace import Trace

Map = Callable[[Tensor], Tensor]

# Tokens worked on at a time: the vectors of so many sources (1.2 MB in BERT-base) and the weights of so many queries
# (3 MB at 512 tokens) stay in the cache
SOURCES = 32
QUERIES = 128
# A norm below this part of Σ_h α ‖f‖ has lost too much to cancellation in float32 (error ~ eps · (Σ_h α ‖f‖ / norm)²,
# here up to 200 eps): such entries are computed anew from their vectors, in float64.
CANCELLED = 0.07


@dataclass(frozen=True)
class Norm:
    """A LayerNorm as P u / s(u) + β: P is linear and the same for every token, s the deviation of the whole vector."""

    weight: Tensor  # γ (D,)
    bias: Tensor  # β (D,)
    eps: float | None  # None for MobileBERT's NoNorm, which only scales: P = diag(γ), s = 1

    @classmethod
    def of(cls, module: nn.Module, like: Tensor) -> Norm:
        """The norm of a module, in the dtype of `like`. Raises ModelError for what is no LayerNorm."""
        norm: Any = module
        kind, eps = type(module).__name__, epsilon(module)
        if eps is None and kind != "NoNorm":
            raise ModelError(f"{kind} is not a LayerNorm that the norms of Kobayashi et al. are defined for")
        size = like.shape[-1]
        weight = like.new_ones(size) if norm.weight is None else norm.weight.detach().to(like.dtype)
        bias = like.new_zeros(size) if norm.bias is None else norm.bias.detach().to(like.dtype)
        return cls(weight, bias, eps)

    def linear(self, x: Tensor) -> Tensor:
        """P x of vectors (..., D): x less its mean, times the weight."""
        return x * self.weight if self.eps is None else (x - x.mean(-1, keepdim=True)).mul_(self.weight)

    def deviation(self, u: Tensor) -> Tensor:
        """s(u), without the last dimension."""
        if self.eps is None:
            return u.new_ones(u.shape[:-1])
        return ((u - u.mean(-1, keepdim=True)).square_().mean(-1) + self.eps).sqrt()  # ten times as fast as var

    def __call__(self, u: Tensor) -> Tensor:
        return self.linear(u) / self.deviation(u)[..., None] + self.bias


class Block:
    """The attention block of one layer over one input. S tokens, H heads of d dimensions, stream width D.

    dtype: what everything is computed in, by default as the trace gives it (float32, float64 for double models).
    Raises ModelError where only attention weights were given, where the family hands out no values or has no adapter,
    and for quantised or adapted projections.
    """

    def __init__(self, trace: Trace, layer: int, dtype: torch.dtype | None = None):
        self.trace, self.layer = trace, layer
        values = trace.value(layer)  # first: says why where there are none
        self.dtype = dtype or values.dtype
        self.values = values.to(self.dtype)  # (H, S, d)
        for head, factor in trace.changed_contexts(layer).items():
            if factor is None:
                raise ModelError(
                    f"the context of head {layer}.{head} was replaced in this run and is no sum over tokens: "
                    "trace.original has the norms of its own"
                )
            self.values[head] *= factor  # so loud is what it passes on; of a head that is off nothing
        self.adapter, self.module = trace.layer_module(layer)
        self.model = trace.borrowed
        self._projection = self.adapter.output_projection(self.module)
        self.model.check_plain(self._projection)

    @cached_property
    def _output(self) -> tuple[Tensor, Tensor | None]:
        return self.model.affine(self._projection)

    @cached_property
    def weight(self) -> Tensor:
        """(D, H·d) W_O."""
        return self._output[0].detach().to(self.dtype)

    @cached_property
    def bias(self) -> Tensor:
        """(D,) b_O."""
        weight, bias = self._output
        return self.values.new_zeros(len(weight)) if bias is None else bias.detach().to(self.dtype)

    @property
    def n_heads(self) -> int:
        """Heads of the layer."""
        return self.values.shape[0]

    @property
    def n_tokens(self) -> int:
        """Tokens of the text."""
        return self.values.shape[1]

    @cached_property
    def norm(self) -> Norm:
        """The first LayerNorm that the block's sum meets: its own in post-LN families, the MLP's in pre-LN ones."""
        find = self.adapter.attention_norm if self.adapter.post_ln else self.adapter.mlp_norm
        return Norm.of(find(self.module), self.trace.layer_input(self.layer)[0].to(self.dtype))

    @cached_property
    def residual(self) -> Tensor:
        """(S, D) x: what the block adds to its attention: the layer's input, in MobileBERT its bottleneck's output."""
        x = self.trace.layer_input(self.layer).to(self.dtype)
        bottleneck: Any = self.adapter.residual(self.module)
        if bottleneck is None:
            return x
        weight, bias = self.model.affine(bottleneck.dense)
        narrow = linear(x, weight.detach().to(self.dtype), None if bias is None else bias.detach().to(self.dtype))
        return Norm.of(bottleneck.LayerNorm, narrow)(narrow)

    @cached_property
    def attended(self) -> Tensor:
        """(S, D) Σ_j c_ij = W_O context, without b_O."""
        return linear(self.trace.context(self.layer).to(self.dtype), self.weight)

    @cached_property
    def sum(self) -> Tensor:
        """(S, D) u = Σ_j c_ij + b_O + x: the block's output, before the LayerNorm in post-LN families."""
        return self.attended + self.bias + self.residual

    @cached_property
    def output(self) -> Tensor:
        """(S, D) the block's output, after the LayerNorm in post-LN families."""
        return self.norm(self.sum) if self.adapter.post_ln else self.sum

    @cached_property
    def deviation(self) -> Tensor:
        """(S,) s_i of the LayerNorm, from the whole sum."""
        return self.norm.deviation(self.sum)

    def transformed(self, tokens: slice = slice(None)) -> Tensor:
        """(H, n, D) f^h(x_j) for some source tokens j."""
        heads = self.weight.unflatten(1, (self.n_heads, -1)).permute(1, 2, 0)  # (H, d, D)
        return self.values[:, tokens] @ heads

    def self_context(self, diagonal: Tensor) -> Tensor:
        """(S, D) c_ii, from the diagonal α_ii (H, S)."""
        return linear((diagonal[:, :, None] * self.values).transpose(0, 1).flatten(1), self.weight)

    def attention_by_source(self, queries: slice = slice(None)) -> Tensor:
        """(S_j, H, n) attention weights of some query tokens, the source first: a chunk of sources is contiguous."""
        if self.trace.changed_weights(self.layer) or not self.trace.has_neurons:
            return self.trace.attention(self.layer, self.dtype)[:, queries].permute(2, 0, 1).contiguous()
        alpha = self._keys.new_empty(self.n_tokens, self.n_heads, len(range(self.n_tokens)[queries]))
        record = self.trace.record.layers[self.layer]
        if isinstance(record.bias, ScoreBias):  # written out for all queries it is heads x tokens x tokens
            wide = replace(record, query=self._queries, key=self._keys)
            alpha.copy_(scores_part(wide, slice(None), queries).permute(2, 0, 1))
        else:
            torch.matmul(self._keys, self._queries[:, queries].transpose(1, 2), out=alpha.transpose(0, 1))
            alpha *= self.trace.scaling(self.layer)
            if self._mask is not None:
                alpha += self._mask[..., queries, :].transpose(-1, -2).movedim(-2, 0)
        alpha -= alpha.amax(0)
        alpha.exp_()
        alpha /= alpha.sum(0)
        return alpha

    @cached_property
    def _queries(self) -> Tensor:
        return self.trace.query(self.layer).to(self.dtype)

    @cached_property
    def _keys(self) -> Tensor:
        return self.trace.key(self.layer).to(self.dtype)

    @cached_property
    def _mask(self) -> Tensor | None:
        """(1, S, S) or (H, S, S), additive."""
        mask = self.trace.dense_mask(self.layer)
        return mask if mask is None or mask.ndim == 3 else mask[None]


@dataclass(frozen=True)
class Pairs:
    """What `pair_norms` finds, for M linear maps."""

    norms: Tensor  # (M, S_i, S_j) ‖M c_ij‖
    lengths: Tensor  # (M, H, S_j) ‖M f^h(x_j)‖
    diagonal: Tensor  # (H, S) α^h_ii


def pair_norms(block: Block, maps: Sequence[Map]) -> Pairs:
    """‖M c_ij‖ for all pairs of a block and each M of the maps, in the exact head-Gram form (see the top of this file).

    Where the heads' vectors cancel, the entry is computed from the vectors themselves, in float64. The working memory
    is about 10 MB and does not grow with the pairs.
    """
    size, heads = block.n_tokens, block.n_heads
    forms = block.values.new_empty(len(maps), size, heads + 1, heads)
    for start in range(0, size, SOURCES):
        sources = slice(start, start + SOURCES)
        f = block.transformed(sources)
        for m, transform in enumerate(maps):
            vectors = transform(f).transpose(0, 1)  # (c, H, D)
            torch.matmul(vectors, vectors.transpose(1, 2), out=forms[m, sources, :heads])
    lengths = forms[:, :, :heads].diagonal(0, 2, 3).sqrt()  # (M, S, H)
    # one more row gives Σ_h α ‖M f‖, the norm that there would be if no head cancelled another
    forms[:, :, heads] = lengths
    norms = forms.new_empty(len(maps), size, size)
    diagonal = forms.new_empty(heads, size)
    for start in range(0, size, QUERIES):
        queries = slice(start, start + QUERIES)
        alpha = block.attention_by_source(queries)
        diagonal[:, queries] = alpha[queries].diagonal(0, 0, 2)
        for source in range(0, size, SOURCES):
            sources = slice(source, source + SOURCES)
            weights = alpha[sources]  # (c, H, n)
            for m, transform in enumerate(maps):
                products = forms[m, sources] @ weights
                bound = products[:, heads]
                joint = products[:, :heads].mul_(weights).sum(1).clamp_min_(0).sqrt_()  # (c, n)
                if (cancelled := joint < CANCELLED * bound).any():
                    _recompute(joint, cancelled, weights, transform(block.transformed(sources)))
                norms[m, queries, sources] = joint.T
    return Pairs(norms, lengths.transpose(1, 2), diagonal)


def _recompute(joint: Tensor, cancelled: Tensor, weights: Tensor, vectors: Tensor) -> None:
    """Put ‖Σ_h α M f‖ from the vectors (H, c, D), in float64, where heads cancel."""
    for j in cancelled.any(1).nonzero()[:, 0].tolist():
        rows = weights[j].T[cancelled[j]].double()
        joint[j, cancelled[j]] = (rows @ vectors[:, j].double()).norm(dim=-1).to(joint.dtype)
