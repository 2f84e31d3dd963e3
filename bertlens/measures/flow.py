"""From layer to layer: what each input token comes to contribute, by the maps of the literature.

Every function of one layer gives a map [query, key]; `rollout` multiplies the maps of all layers. Notation of
`block.py`: c_ij = Σ_h α^h_ij f^h(x_j), x_i the residual, P u / s + β the block's LayerNorm, u_i = Σ_j c_ij + b_O + x_i.
Pre-LN families and MobileBERT: see each function. Errors are those of `norms`. Working memory is bounded: tokens are
taken in chunks.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ..base.limits import LIMITS
from ..errors import InputError, ModelError, SelectionError, check_index
from ..trace.checks import check_finite
from ..trace.trace import Trace
from . import norms
from .attention import mean_weight
from .block import Block, Norm, pair_norms
from .distributions import shares

FLOATS_AT_ONCE = 2**22  # of the largest tensor that is worked on: 16 MB in float32
TOKENS = 1024  # that pass an MLP at once
SAID = 5e8  # bytes of a rollout: from here on it says what it needs before it starts


@torch.no_grad()
def rollout(trace: Trace, kind: str = "attnresln-n", *, normalize: bool = True) -> Tensor:
    """(L, S, S) R_l = A_l R_{l-1} ≥ 0: what layer l's tokens are made of, in shares of the input tokens.

    A_l is a layer's map (see `layer_map` for kinds). With `normalize` its rows sum to 1, and those of R do.
    normalize=False multiplies the lengths of "attn-n", "attnres-n", "attnresln-n" and "globenc" as they are, as
    GlobEnc's authors do: rows of R then have a size, long vectors on the way count for more, and the top token of many
    rows is another one. The other kinds sum to 1 by themselves. Rollout assumes that shares multiply along a path,
    which no model promises. Abnar & Zuidema 2020 (kind="attnres-w"); Modarressi et al. 2022 ("globenc"); Ferrando et
    al. 2022 ("alti"); Mohebbi et al. 2023 ("value-zeroing").
    Warns of its size, L · S² floats, where that passes .5 GB.
    """
    size = trace.n_tokens
    needed = (8 if trace.dtype == "float64" else 4) * trace.n_layers * size**2
    if needed > SAID:
        warnings.warn(
            f"rollout of {kind} keeps {trace.n_layers} maps of {size:,} × {size:,}: {needed / 1e9:.1f} GB", stacklevel=2
        )
    rolled: Tensor | None = None
    for layer in _progress(range(trace.n_layers), f"rollout of {kind}"):
        weights = layer_map(trace, layer, kind, normalize=normalize)
        if rolled is None:
            rolled = weights.new_empty(trace.n_layers, size, size)
        rolled[layer] = weights @ rolled[layer - 1] if layer else weights
    assert rolled is not None  # a trace has layers
    return rolled


def rollout_to(trace: Trace, layer: int) -> Tensor:
    """(S, S) the rollout of AttnResLn-N up to one layer. That of all layers is kept as long as the trace."""
    return trace.kept("rollout", lambda: rollout(trace))[layer].clone()


@torch.no_grad()
def layer_map(trace: Trace, layer: int, kind: str, *, normalize: bool = True) -> Tensor:
    """(S, S) one layer's map ≥ 0; its rows sum to 1, but for lengths with normalize=False.

    kind: "attn-w" α's mean over heads; "attnres-w" half of it and half the identity (Abnar & Zuidema 2020); "attn-n",
    "attnres-n", "attnresln-n" (`norms`), "globenc", lengths, whose rows are divided by their sums or (normalize=False)
    are not; "alti", "value-zeroing".
    Raises SelectionError for another kind, ModelError for cross-attention. The first two need attention weights alone.
    """
    if kind not in KINDS:
        raise SelectionError(f"map {kind!r} does not exist: there are {', '.join(KINDS)}")
    if trace.key_encoding is not None:
        raise ModelError("cross-attention has no map of tokens among themselves: take the encoder's or decoder's")
    if kind in LENGTHS and not normalize:
        return LENGTHS[kind](trace, layer)
    return KINDS[kind](trace, layer)


@torch.no_grad()
def attention_flow(
    trace: Trace,
    kind: str = "attnres-w",
    queries: Sequence[int] | None = None,
    *,
    normalize: bool = False,
    max_tokens: int = LIMITS["flow"].tokens,
) -> Tensor:
    """(n, S) the largest flow from the last layer's tokens to each input token, in [0, 1]. Abnar & Zuidema 2020.

    Layers are joined by pipes of capacity A_l (`layer_map`, rows that sum to 1). queries: tokens of the last layer,
    default all (n = S). Each input token has the pipes for itself, so a row's flows sum to more than 1;
    normalize=True divides it by its sum, as the authors' code does. Exact to 1e-8 (capacities are counted in 2^-30).
    Costs n · S flow problems on L · S² pipes: more than `max_tokens` tokens raise InputError. The
    maps are taken to the CPU. Raises ModelError where the run has NaN or Inf.
    """
    from scipy.sparse import block_array, csr_array
    from scipy.sparse.csgraph import maximum_flow

    size = trace.n_tokens
    if size > max_tokens:
        raise InputError(
            f"attention flow over {size} tokens takes very long: give a text of at most {max_tokens}, or raise "
            "max_tokens and name the queries you need"
        )
    for query in queries or ():
        check_index(query, size, "query")
    check_finite(trace, "nothing flows through it")
    scale = 2**30  # a row's capacities sum to 1, so every flow fits an int32
    weights = [layer_map(trace, layer, kind) for layer in range(trace.n_layers)]
    maps = [(weight.double() * scale).round().int().cpu().numpy() for weight in weights]
    # node l · S + i is token i before layer l; a layer's edges run from its outputs to its inputs
    empty = csr_array((size, size), dtype="int32")
    blocks: list[list[Any]] = [[None] * (len(maps) + 1) for _ in range(len(maps) + 1)]
    for layer, capacity in enumerate(maps):
        blocks[layer + 1][layer] = csr_array(capacity)
    blocks[0][0] = blocks[-1][-1] = empty
    graph = csr_array(block_array(blocks, format="csr"))
    rows = range(size) if queries is None else queries
    flows = [
        [maximum_flow(graph, len(maps) * size + i, j).flow_value / scale for j in range(size)]
        for i in _progress(rows, "attention flow")
    ]
    shares_of_flow = torch.tensor(flows, dtype=weights[0].dtype, device=weights[0].device)
    return shares(shares_of_flow) if normalize else shares_of_flow


@torch.no_grad()
def globenc(trace: Trace, layer: int, dtype: torch.dtype | None = None) -> Tensor:
    """(S, S) ‖P₂ P₁ (c_ij + δ_ij x_i)‖ / (s₁_i s₂_i) ≥ 0: AttnResLn-N through the layer's second LayerNorm too.

    s₂ is the deviation of the true vector in front of that LayerNorm, MLP included; the MLP's own output belongs to no
    token. Lengths: rows have no fixed sum (`rollout` says what follows). Modarressi et al. 2022. In pre-LN families no
    LayerNorm stands on the way from x to the layer's output: it is AttnRes-N. Raises ModelError for MobileBERT, where
    the layer's output leaves the attention's bottleneck.
    """
    block = Block(trace, layer, dtype)
    if not block.adapter.post_ln:
        return norms.attnres_norm(trace, layer, dtype)
    if block.adapter.residual(block.module) is not None:
        raise ModelError(f"GlobEnc is not defined for {block.adapter.family}'s bottleneck: use attnresln-n")
    tail = _LayerTail(block)
    inputs: list[Tensor] = []
    second = block.adapter.mlp_norm(tail.module)
    second.register_forward_pre_hook(lambda module, args: inputs.append(args[0]))
    tail(block.output[None])
    outer = Norm.of(second, block.residual)

    def both(vectors: Tensor) -> Tensor:
        return outer.linear(block.norm.linear(vectors))

    pairs = pair_norms(block, [both])
    lengths = pairs.norms[0]
    lengths.diagonal().copy_(both(block.self_context(pairs.diagonal) + block.residual).norm(dim=-1))
    return lengths / (block.deviation * outer.deviation(inputs[0][0]))[:, None]


@torch.no_grad()
def alti(trace: Trace, layer: int, dtype: torch.dtype | None = None, *, progress: bool = True) -> Tensor:
    """(S, S) ALTI: how near T_ij comes to y_i, in [0, 1]; rows sum to 1. Ferrando et al. 2022.

    T_ij = P (c_ij + δ_ij x_i) / s_i, y_i the block's output, C_ij = max(0, ‖y_i‖₁ − ‖y_i − T_ij‖₁), rows divided by
    their sums. With the model's own LayerNorm. Pre-LN families: no LayerNorm, P = 1 and s = 1.
    """
    block = Block(trace, layer, dtype)
    post_ln, size = block.adapter.post_ln, block.n_tokens
    alpha, y = block.attention_by_source(), block.output
    lengths = y.abs().sum(-1)
    residual = block.norm.linear(block.residual) / block.deviation[:, None] if post_ln else block.residual
    closeness = y.new_empty(size, size)
    for sources in _progress(_chunks(size, FLOATS_AT_ONCE // y.numel()), f"ALTI, layer {layer}", progress):
        vectors = block.transformed(sources)
        if post_ln:
            vectors = block.norm.linear(vectors)
        contributions = alpha[sources].transpose(1, 2) @ vectors.transpose(0, 1)  # (c, S, D)
        if post_ln:
            contributions /= block.deviation[:, None]
        diagonal = torch.arange(size, device=y.device)[sources]
        contributions[torch.arange(len(diagonal), device=y.device), diagonal] += residual[diagonal]
        closeness[:, sources] = (lengths - contributions.neg_().add_(y).abs_().sum(-1)).T
    return shares(closeness.clamp_min_(0))


@torch.no_grad()
def value_zeroing(trace: Trace, layer: int, dtype: torch.dtype | None = None, *, progress: bool = True) -> Tensor:
    """(S, S) how much a layer's output i turns when the value of token j is zero in every head; rows sum to 1.

    C_ij = 1 − cos(h_i, h_i without j), α unchanged, through LayerNorms and MLP; rows divided by their sums. Mohebbi et
    al. 2023. Every family. The layer's MLP runs over S² vectors: about S times the layer's forward pass.
    """
    if trace.rest_changed(layer):
        raise ModelError(f"the MLP or output of layer {layer} was changed in this run: trace.original has its own map")
    block = Block(trace, layer, dtype)
    size, tail = block.n_tokens, _LayerTail(block)
    alpha = block.attention_by_source()
    direction = _unit(tail(block.output[None]))
    turned = direction.new_empty(size, size)
    for sources in _progress(_chunks(size, TOKENS // size), f"value zeroing, layer {layer}", progress):
        # zeroing v_j takes c_ij out of the sum
        sums = block.sum - alpha[sources].transpose(1, 2) @ block.transformed(sources).transpose(0, 1)
        without = _unit(tail(block.norm(sums) if block.adapter.post_ln else sums))
        # 1 − cos as half the squared distance of unit vectors: no digits lost where little turns
        turned[:, sources] = ((direction - without).square().sum(-1) / 2).T
    return shares(turned)


@torch.no_grad()
def effective_attention(trace: Trace, layer: int, dtype: torch.dtype | None = None) -> Tensor:
    """(H, S, S) the part of α that its head's output can show: A U Uᵀ, U a basis of the columns of T = V O (S x D).

    Signed, rows do not sum to 1; A U Uᵀ T = A T. It differs from α only for texts longer than the rank of T (at most
    d). Brunner et al. 2020.
    """
    block = Block(trace, layer, dtype)
    attention = trace.attention(layer, dtype)
    heads = block.weight.unflatten(1, (block.n_heads, -1)).transpose(0, 1).double()  # (H, D, d)
    # T = V Oᵀ has the columns of V Rᵀ, where O = Q R: no decomposition of anything larger than S x d
    small = block.values.double() @ torch.linalg.qr(heads).R.transpose(1, 2)
    basis, spread, _ = torch.linalg.svd(small, full_matrices=False)
    floor = spread[:, :1] * max(small.shape[1:]) * torch.finfo(block.values.dtype).eps
    basis = (basis * (spread > floor)[:, None]).to(attention.dtype)
    return attention @ basis @ basis.transpose(1, 2)


class _LayerTail:
    """What a layer does after its attention block, on a copy of it in the block's dtype: (B, S, D) -> (B, S, D)."""

    def __init__(self, block: Block):
        self.module: Any = copy.deepcopy(block.module).to(block.dtype).eval()
        self._go_on = block.adapter.rest
        self._input = block.trace.layer_input(block.layer).to(block.dtype)

    def __call__(self, attended: Tensor) -> Tensor:
        return self._go_on(self.module, attended, self._input.expand(len(attended), -1, -1))


def _unit(vectors: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vectors, dim=-1)


def _chunks(size: int, step: int) -> list[slice]:
    step = max(1, step)
    return [slice(start, start + step) for start in range(0, size, step)]


def _progress(items: Sequence[Any], name: str, shown: bool = True) -> Iterator[Any]:
    """The items, with a bar once they have taken two seconds."""
    from ..base.progress import Progress

    return iter(Progress(items, desc=name, delay=2, leave=False, disable=not shown))


def _rows_of(measure: Callable[[Trace, int], Tensor]) -> Callable[[Trace, int], Tensor]:
    return lambda trace, layer: shares(measure(trace, layer))


def _with_identity(trace: Trace, layer: int) -> Tensor:
    mean = mean_weight(trace, layer)
    return (mean + torch.eye(len(mean), dtype=mean.dtype, device=mean.device)) / 2


LENGTHS: dict[str, Callable[[Trace, int], Tensor]] = {
    "attn-n": norms.summed_weighted_norm,
    "attnres-n": norms.attnres_norm,
    "attnresln-n": norms.attnresln_norm,
    "globenc": globenc,
}
KINDS: dict[str, Callable[[Trace, int], Tensor]] = {
    "attn-w": mean_weight,
    "attnres-w": _with_identity,
    **{name: _rows_of(measure) for name, measure in LENGTHS.items()},
    "alti": lambda trace, layer: alti(trace, layer, progress=False),
    "value-zeroing": lambda trace, layer: value_zeroing(trace, layer, progress=False),
}
