"""Attention is not only a weight: the norms of what a head really adds, after Kobayashi et al. 2020 and 2021.

Notation of `block.py`: f^h(x_j) what head h makes of source token j, α^h_ij its weight for query token i,
c_ij = Σ_h α^h_ij f^h(x_j). x_i is the residual, P and s_i the parts of the LayerNorm, P u_i / s_i + β.

Block order. Post-LN families (BERT, RoBERTa, XLM-RoBERTa, CamemBERT, ELECTRA, DistilBERT, ALBERT, NomicBERT) are as in
the papers. Pre-LN families (ESM, ModernBERT, GPT-2): f acts on the normalised x_j, as the model's values do; the
residual is the stream itself; the LayerNorm of AttnResLn is the next that the sum meets, the one in front of the MLP.
MobileBERT: all inside its bottleneck, whose output is the residual; its "NoNorm" only scales (s_i = 1).

Every function takes a Trace of Lens and raises ModelError where its family has no adapter or hands out no values, or
where only attention weights were given; SelectionError for a layer that does not exist. `dtype` computes in another
one, say torch.float64. Weights are read from the model when a function is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..base.vocabulary.constants import MIXING_METHODS as METHODS
from ..errors import InputError, SelectionError
from ..trace.trace import Trace
from .block import QUERIES, Block, pair_norms
from .ranks import spearman
from .received import received

TOKENS_AT_ONCE = 256  # tokens whose vectors are there at a time: 9 MB in BERT-base


@dataclass(frozen=True)
class Norms:
    """Everything of one layer (`all_of`), or of all layers with a first dimension L (`summary`)."""

    transformed: Tensor  # (H, S) ‖f(x_j)‖
    attn_n: Tensor  # (S, S) ‖c_ij‖ [query, key]
    attnres_n: Tensor  # (S, S) the same with the residual: only the diagonal differs
    attnresln_n: Tensor  # (S, S)
    mixing: dict[str, Tensor]  # method -> (S,), in the order of METHODS


@torch.no_grad()
def transformed_norm(trace: Trace, layer: int, dtype: torch.dtype | None = None) -> Tensor:
    """(H, S) ‖f^h(x_j)‖ ≥ 0, in the stream's units: the length of what a head takes from token j, before α weighs it.

    f(x) = (x W_V + b_V) W_O: value bias inside, output bias outside. Kobayashi et al. 2020, sections 2.2 and 3.
    """
    block = Block(trace, layer, dtype)
    starts = range(0, trace.n_tokens, TOKENS_AT_ONCE)
    vectors = [block.transformed(slice(start, start + TOKENS_AT_ONCE)) for start in starts]
    return torch.cat([x.norm(dim=-1) for x in vectors], 1)


@torch.no_grad()
def weighted_norm(trace: Trace, layer: int, dtype: torch.dtype | None = None) -> Tensor:
    """(H, S, S) ‖α^h_ij f^h(x_j)‖ = α ‖f(x)‖ ≥ 0 [query, key]. Kobayashi et al. 2020, section 3."""
    return transformed_norm(trace, layer, dtype)[:, None] * trace.attention(layer, dtype)


@torch.no_grad()
def summed_weighted_norm(trace: Trace, layer: int, dtype: torch.dtype | None = None) -> Tensor:
    """(S, S) Attn-N: ‖c_ij‖ = ‖Σ_h α^h_ij f^h(x_j)‖ ≥ 0 [query, key]. Kobayashi et al. 2020, section 3."""
    block = Block(trace, layer, dtype)
    pairs = pair_norms(block, [_itself])
    return _with_diagonal(pairs.norms[0], block.self_context(pairs.diagonal))


@torch.no_grad()
def attnres_norm(trace: Trace, layer: int, dtype: torch.dtype | None = None) -> Tensor:
    """(S, S) AttnRes-N: ‖c_ij + δ_ij x_i‖ ≥ 0 [query, key]. Kobayashi et al. 2021."""
    block = Block(trace, layer, dtype)
    pairs = pair_norms(block, [_itself])
    return _with_diagonal(pairs.norms[0], block.self_context(pairs.diagonal) + block.residual)


@torch.no_grad()
def attnresln_norm(trace: Trace, layer: int, dtype: torch.dtype | None = None) -> Tensor:
    """(S, S) AttnResLn-N: ‖P (c_ij + δ_ij x_i)‖ / s_i ≥ 0 [query, key], without β and b_O, which belong to no token.

    s_i is the deviation of the block's whole sum. Kobayashi et al. 2021.
    """
    block = Block(trace, layer, dtype)
    pairs = pair_norms(block, [block.norm.linear])
    self_context = block.norm.linear(block.self_context(pairs.diagonal) + block.residual)
    return _with_diagonal(pairs.norms[0], self_context) / block.deviation[:, None]


@torch.no_grad()
def mixing_ratio(trace: Trace, layer: int, method: str, dtype: torch.dtype | None = None) -> Tensor:
    """(S,) r_i in [0, 1]: how much of token i's new vector comes from the other tokens.

    r = m / (m + p), p the norm of the token's own part, m the norm of the sum of the others' parts (not the sum of
    norms). method: "attn-n" p = ‖c_ii‖; "attnres-n" with the residual in p; "attnresln-n" both through P / s_i;
    "attn-w" Σ_{j≠i} of α's mean over heads; "attnres-w" half of that, as if residual and attention weighed the same.
    Kobayashi et al. 2021.
    Raises SelectionError for another method.
    """
    if method not in METHODS:
        raise SelectionError(f"mixing ratio {method!r} does not exist: there are {', '.join(METHODS)}")
    block = Block(trace, layer, dtype)
    diagonal = _own_weights(trace, layer, dtype)
    return _mixing(block, diagonal, block.self_context(diagonal))[method]


@torch.no_grad()
def mixing_ratios(
    trace: Trace, dtype: torch.dtype | None = None, diagonals: Sequence[Tensor] | None = None
) -> dict[str, Tensor]:
    """method -> (L, S): `mixing_ratio` by every method and in every layer, without work on pairs.

    diagonals: α_ii (H, S) of each layer, where they are there already.
    """
    layers = []
    for layer in range(trace.n_layers):
        block = Block(trace, layer, dtype)
        diagonal = _own_weights(trace, layer, dtype) if diagonals is None else diagonals[layer]
        layers.append(_mixing(block, diagonal, block.self_context(diagonal)))
    return {method: torch.stack([ratios[method] for ratios in layers]) for method in METHODS}


@torch.no_grad()
def all_of(trace: Trace, layer: int, dtype: torch.dtype | None = None) -> Norms:
    """All norms and mixing ratios of one layer, the work that they share done once."""
    block = Block(trace, layer, dtype)
    pairs = pair_norms(block, [_itself, block.norm.linear])
    self_context = block.self_context(pairs.diagonal)
    with_residual = self_context + block.residual
    normed = pairs.norms[1]
    normed.diagonal().copy_(block.norm.linear(with_residual).norm(dim=-1))
    return Norms(
        transformed=pairs.lengths[0],
        attn_n=_with_diagonal(pairs.norms[0], self_context),
        attnres_n=_with_diagonal(pairs.norms[0], with_residual),
        attnresln_n=normed / block.deviation[:, None],
        mixing=_mixing(block, pairs.diagonal, self_context),
    )


def summary(trace: Trace, dtype: torch.dtype | None = None) -> Norms:
    """All norms and mixing ratios of all layers: Norms with a first dimension L. Holds 12 L S² bytes in float32."""

    def room(like: Tensor) -> Tensor:
        return like.new_empty(trace.n_layers, *like.shape)

    norms: Norms | None = None
    for layer in range(trace.n_layers):
        row = all_of(trace, layer, dtype)
        if norms is None:
            mixing = {method: room(ratio) for method, ratio in row.mixing.items()}
            norms = Norms(room(row.transformed), room(row.attn_n), room(row.attnres_n), room(row.attnresln_n), mixing)
        norms.transformed[layer], norms.attn_n[layer] = row.transformed, row.attn_n
        norms.attnres_n[layer], norms.attnresln_n[layer] = row.attnres_n, row.attnresln_n
        for method, ratio in row.mixing.items():
            norms.mixing[method][layer] = ratio
        del row  # before the next layer's work begins
    assert norms is not None
    return norms


@dataclass(frozen=True)
class FrequencyCorrelation:
    """Spearman's ρ of frequency rank (1 = most frequent) and mean ‖f(x)‖ of a token. Above 0: rare tokens send more."""

    rho: float  # ‖f(x)‖ averaged over all layers and heads
    rho_without_special: float  # the same without the template's tokens
    per_layer: Tensor  # (L,) ‖f(x)‖ averaged over the layer's heads
    n: int  # occurrences of tokens
    counted: bool  # ranks counted from the traces, not given


def frequency_correlation(traces: Iterable[Trace], ranks: Mapping[int, int] | None = None) -> FrequencyCorrelation:
    """Do frequent tokens send shorter vectors? One point per occurrence of a token, over several traces of one model.

    ranks: token id -> frequency rank from 1; ids that are not in it come last. Without it they are counted from the
    traces themselves, equal counts sharing the best rank: then some thousand tokens are needed to mean anything.
    Kobayashi et al. 2020, section 4 (0.75 for bert-base-uncased with ranks of its training text).
    Raises InputError without a trace, ModelError like every norm.
    """
    ids, special, layers = [], [], []
    for trace in traces:
        ids.append(trace.input_ids.cpu())
        special.append(trace.special_mask.cpu())
        means = [transformed_norm(trace, layer).double().mean(0).cpu() for layer in range(trace.n_layers)]
        layers.append(torch.stack(means))
    if not ids:
        raise InputError("no trace given")
    token, lengths, text = torch.cat(ids), torch.cat(layers, 1), ~torch.cat(special)
    rank = _counted_ranks(token) if ranks is None else _looked_up_ranks(token, ranks)
    mean = lengths.mean(0)
    return FrequencyCorrelation(
        rho=spearman(rank, mean),
        rho_without_special=spearman(rank[text], mean[text]),
        per_layer=torch.tensor([spearman(rank, length) for length in lengths], device="cpu"),
        n=len(token),
        counted=ranks is None,
    )


def _counted_ranks(token: Tensor) -> Tensor:
    _, index, counts = torch.unique(token, return_inverse=True, return_counts=True)
    lead = len(counts) - torch.searchsorted(counts.sort().values, counts, right=True)  # types that are more frequent
    return (lead + 1)[index]


def _looked_up_ranks(token: Tensor, ranks: Mapping[int, int]) -> Tensor:
    default = max(ranks.values(), default=0) + 1
    return torch.tensor([ranks.get(number, default) for number in token.tolist()], device="cpu")


def requirements(trace: Trace, layer: int) -> None:
    """Raises the error that the norms of a layer would raise, before any work."""
    block = Block(trace, layer)
    block.norm, block.residual  # noqa: B018  each may say why not


def _own_weights(trace: Trace, layer: int, dtype: torch.dtype | None) -> Tensor:
    """(H, S) α_ii; in another dtype from whole maps."""
    return received(trace, layer).diagonal if dtype is None else trace.attention(layer, dtype).diagonal(0, 1, 2)


def _itself(vectors: Tensor) -> Tensor:
    return vectors


def _with_diagonal(pairs: Tensor, vectors: Tensor) -> Tensor:
    """The norms of the pairs, with those of a token's own vectors (S, D) on the diagonal.

    The diagonal comes from the vectors, not from a quadratic form: the residual is far longer than the parts.
    """
    norms = pairs.clone()
    norms.diagonal().copy_(vectors.norm(dim=-1))
    return norms


def _mixing(block: Block, diagonal: Tensor, self_context: Tensor) -> dict[str, Tensor]:
    """The mixing ratios from α_ii (H, S) and c_ii (S, D)."""
    weight = 1 - diagonal.mean(0)
    project = block.norm.linear
    ratios: list[Tensor] = []
    vectors = (x.split(QUERIES) for x in (block.attended, self_context, block.residual))
    for attended, to_self, residual in zip(*vectors, strict=True):
        context, with_residual = attended - to_self, to_self + residual  # Σ_{j≠i} c_ij, c_ii + x_i
        # s_i divides both parts of the last
        pairs = (context, to_self), (context, with_residual), (project(context), project(with_residual))
        ratios.append(torch.stack([_ratio(mixed, preserved) for mixed, preserved in pairs]))
    by_norm = dict(zip(("attn-n", "attnres-n", "attnresln-n"), torch.cat(ratios, -1), strict=True))
    return {"attn-w": weight, "attnres-w": weight / 2, **by_norm}


def _ratio(mixed: Tensor, preserved: Tensor) -> Tensor:
    m, p = mixed.norm(dim=-1), preserved.norm(dim=-1)
    return m / (m + p)
