"""Spectra and ranks: of queries, keys, values and attention maps, and of the weights W_Q, W_K that select a subspace.

Everything is computed in float64 and on demand: none of it belongs into a picture that is drawn at once. W_QK is
W_Qᵀ W_K (D, D) in torch's layout (rows: the query's side, columns: the key's), without biases and, in rotary families,
without the rotation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ..base.dataframes import pd
from ..errors import InputError, ModelError, check_index
from ..model.borrowed import Model
from ..model.families import require_adapter
from ..trace.checks import check_finite
from ..trace.trace import Trace
from .k90 import k90

__all__ = ["k90"]

LEAST_COUNTED = 1e-3  # Bonino et al. count the singular values of the softmax that are at least this


# --- one matrix ---


def singular_values(x: Tensor) -> Tensor:
    """(..., min(m, n)) float64, the largest first, of (..., m, n).

    Raises InputError for NaN and Inf, and so do all measures below that are made of singular values.
    """
    return torch.linalg.svdvals(_finite(x))


@dataclass(frozen=True)
class Spectrum:
    """The singular values of matrices (..., m, n), taken once, and what follows from them, each (...).

    A matrix of zeros has rank 0; its other numbers are NaN.
    """

    values: Tensor  # (..., min(m, n)) float64, the largest first
    least: float  # singular values up to this part of the largest count as 0: max(m, n) · eps of the matrix's dtype

    @classmethod
    def of(cls, x: Tensor) -> Spectrum:
        """Raises InputError for NaN and Inf."""
        eps = torch.finfo(x.dtype if x.is_floating_point() else torch.float64).eps
        return cls(singular_values(x), max(x.shape[-2:]) * eps)

    @property
    def rank(self) -> Tensor:
        """Numerical rank, int64."""
        return (self.values > self.least * self.values[..., :1]).sum(-1)

    @property
    def effective_rank(self) -> Tensor:
        """exp of the entropy of σ² / Σ σ², in [1, rank]. Roy and Vetterli 2007, with σ²."""
        return torch.exp(torch.special.entr(self._shares).sum(-1))

    @property
    def stable_rank(self) -> Tensor:
        """‖X‖_F² / σ_1², in [1, rank]."""
        return 1 / self.top_share

    @property
    def top_share(self) -> Tensor:
        """σ_1² / Σ σ², in (0, 1]: how much of the matrix is one direction."""
        return self._shares[..., 0]

    @property
    def _shares(self) -> Tensor:
        squares = self.values**2
        return squares / squares.sum(-1, keepdim=True)

    def table(self) -> pd.DataFrame:
        """DataFrame(head, rank, effective_rank, stable_rank, top_share) of matrices (H, m, n)."""
        names = ("rank", "effective_rank", "stable_rank", "top_share")
        columns = {name: getattr(self, name).cpu().numpy() for name in names}
        return pd.DataFrame({"head": range(len(self.values)), **columns})


def rank(x: Tensor) -> Tensor:
    """`Spectrum.rank` of (..., m, n)."""
    return Spectrum.of(x).rank


def effective_rank(x: Tensor) -> Tensor:
    """`Spectrum.effective_rank` of (..., m, n)."""
    return Spectrum.of(x).effective_rank


def stable_rank(x: Tensor) -> Tensor:
    """`Spectrum.stable_rank` of (..., m, n)."""
    return Spectrum.of(x).stable_rank


def top_share(x: Tensor) -> Tensor:
    """`Spectrum.top_share` of (..., m, n)."""
    return Spectrum.of(x).top_share


# --- queries, keys, values, attention ---


def layer_spectra(trace: Trace, layer: int) -> pd.DataFrame:
    """DataFrame(head, of, rank, effective_rank, stable_rank, top_share): each head's query, key, value, context.

    Raises SelectionError for a layer that does not exist, ModelError for a trace without queries.
    """
    tables = [Spectrum.of(x).table().assign(of=name) for name, x in head_vectors(trace, layer).items()]
    return pd.concat(tables)[["head", "of", "rank", "effective_rank", "stable_rank", "top_share"]].reset_index(
        drop=True
    )


def head_vectors(trace: Trace, layer: int) -> dict[str, Tensor]:
    """ "query", "key", "value", "context" -> (H, S, d): the vectors of every head."""
    return {
        "query": trace.query(layer),
        "key": trace.key(layer),
        "value": trace.value(layer),
        "context": trace.head_context(layer),
    }


def attention_ranks(trace: Trace, layer: int) -> pd.DataFrame:
    """DataFrame(head, rank, effective_rank, stable_rank, top_share, visible): of the softmax (S, K) of every head.

    visible: singular values of at least 0.001, the count of Bonino et al. 2025's notebook; 1 is a map in which all
    queries take one direction. Raises SelectionError for a layer that does not exist.
    """
    spectrum = Spectrum.of(trace.attention(layer))
    return spectrum.table().assign(visible=(spectrum.values >= LEAST_COUNTED).sum(-1).cpu().numpy())


@dataclass(frozen=True)
class SymmetricRank:
    """rank(QKᵀ), rank(QKᵀ + KQᵀ), and by how much the second stays under its bound."""

    rank: int
    symmetric: int

    @property
    def bound(self) -> int:
        """2 · rank(QKᵀ), by rank(A + B) ≤ rank A + rank B."""
        return 2 * self.rank

    @property
    def defect(self) -> int:
        """bound − symmetric ≥ 0: 0 where QKᵀ and its transpose share no direction, the rank where Q = K."""
        return self.bound - self.symmetric


def symmetric_rank(query: Tensor, key: Tensor) -> SymmetricRank:
    """The ranks of QKᵀ and of its symmetric part, from Q and K (S, d).

    No matrix has more rank than rows: a defect says something about the head only where S > 2 d.
    Bonino et al. 2025, theorem 4.2.1 (rank of a sum, equality where column and row spaces meet only in 0; Marsaglia and
    Styan 1974), applied to QKᵀ + KQᵀ.
    """
    product = query.double() @ key.double().T
    return SymmetricRank(int(rank(product)), int(rank(product + product.T)))


# --- weights ---


def principal_angles(a: Tensor, b: Tensor) -> Tensor:
    """Angles between the row spaces of (r, D) and (r', D), radians in [0, π/2], ascending, as many as the lesser rank.

    Arccosines of the singular values of UVᵀ, U and V orthonormal bases (Björck and Golub 1973).
    """
    cosines = torch.linalg.svdvals(_row_basis(a) @ _row_basis(b).T)
    return torch.arccos(cosines.clamp(0, 1))


def subspace_overlap(a: Tensor, b: Tensor) -> Tensor:
    """‖UVᵀ‖_F² ÷ the lesser rank, 0-d in [0, 1]: 1 where one row space holds the other, 0 where they are orthogonal.

    Chance: of random subspaces of ranks r ≤ r' the mean is r' / D, the larger rank over D. Subspaces of one model have
    more in common than random ones: what another head's have (`head_overlaps`) is the nearer baseline.
    """
    return _overlap(_row_basis(a), _row_basis(b))


def head_overlaps(query_weights: Tensor, key_weights: Tensor) -> Tensor:
    """(H, H) float64 in [0, 1]: `subspace_overlap` of W_Q of head a with W_K of head b, both (H, r, D).

    The diagonal is each head with itself; the mean of a row beside it, `of_others`, is its baseline.
    """
    queries, keys = ([_row_basis(x) for x in weights] for weights in (query_weights, key_weights))
    return torch.stack([torch.stack([_overlap(u, v) for v in keys]) for u in queries])


def of_others(overlaps: Tensor) -> Tensor:
    """(H,) means of the rows of (H, H) beside the diagonal; NaN for a single head."""
    return (overlaps.sum(-1) - overlaps.diagonal()) / (len(overlaps) - 1)


def _overlap(u: Tensor, v: Tensor) -> Tensor:
    """Of row spaces by their orthonormal bases."""
    return (u @ v.T).square().sum() / max(1, min(len(u), len(v)))


def _row_basis(x: Tensor) -> Tensor:
    """(rank, D) orthonormal."""
    _, values, basis = torch.linalg.svd(_finite(x), full_matrices=False)
    return basis[: int((values > max(x.shape) * torch.finfo(x.dtype).eps * values[:1]).sum())]


def _finite(x: Tensor) -> Tensor:
    if not x.isfinite().all():
        raise InputError("the matrix holds NaN or Inf: trace.nan_layer says in which layer they begin")
    return x.double()


def symmetry_of(query_weight: Tensor, key_weight: Tensor) -> Tensor:
    """s = 2 ‖(W + Wᵀ) / 2‖_F² / ‖W‖_F² − 1 of W = W_Qᵀ W_K, 0-d float64 in [−1, 1], from W_Q and W_K (r, D).

    1 symmetric, −1 skew, 0 random or strictly triangular. Saponati et al. 2025 (arXiv 2502.10927), eq. of the symmetry
    score, as tr(WW) / ‖W‖_F², without forming W.
    """
    query, key = query_weight.double(), key_weight.double()
    crossed = key @ query.T
    return (crossed * crossed.T).sum() / ((query @ query.T) * (key @ key.T)).sum()


def directionality_of(query_weight: Tensor, key_weight: Tensor, g: float = 2.0) -> Tensor:
    """d = (C − R) / (C + R) of W = W_Qᵀ W_K, 0-d float64 in [−1, 1], from W_Q and W_K (r, D).

    R and C: summed excess of W's row and column norms over their mean + g · standard deviation. Above 0: single columns
    stand out (key dimensions), below 0: rows (query dimensions); 0 where none does, and for symmetric W. Saponati et
    al. 2025 (arXiv 2502.10927); their plots show it with the other sign.

    Chance is wide, as few norms pass the threshold. Of random weights of 32 × 384 the sd is .23 and 95 % lie within
    ±.46, of 64 × 768 within ±.33 (`directionality_chance`): a value inside says nothing about the head.
    """
    query, key = query_weight.double(), key_weight.double()
    rows = ((key @ key.T @ query) * query).sum(0).clamp_min(0).sqrt()
    columns = ((query @ query.T @ key) * key).sum(0).clamp_min(0).sqrt()
    r, c = ((x - x.mean() - g * x.std()).clamp_min(0).sum() for x in (rows, columns))
    return torch.where(r + c > 0, (c - r) / (c + r).clamp_min(torch.finfo(torch.float64).tiny), 0.0)


@lru_cache(maxsize=64)
def directionality_chance(rank: int, width: int, g: float = 2.0, seed: int = 0) -> float:
    """c in (0, 1]: 95 % of random W_Q, W_K (rank, width) have a `directionality_of` in [−c, c].

    For entries that are independent normals, from 5,000 draws of the norms of W's rows and columns as independent χ
    with ν = rank · width / (rank + width) degrees of freedom (their first two moments, Satterthwaite 1946; drawn after
    Wilson and Hilferty 1931). Against whole random matrices c is up to .02 too wide at the sizes of real heads, and up
    to a tenth for widths of some dozens.
    """
    random = np.random.default_rng(seed)
    spread = 2 / 9 * (1 / rank + 1 / width)
    draws = []
    for _ in range(10):  # a few MB at a time
        roots = 1 - spread + spread**0.5 * random.standard_normal((500, 2, width), np.float32)
        norms = np.clip(roots, 0, None) ** 1.5  # χ / √ν
        floor = norms.mean(-1, keepdims=True) + g * norms.std(-1, ddof=1, keepdims=True)
        rows, columns = np.clip(norms - floor, 0, None).sum(-1).T
        draws.append(np.abs(columns - rows) / np.maximum(rows + columns, np.finfo(np.float32).tiny))
    return float(np.quantile(np.concatenate(draws), 0.95))


class _Borrowing(Protocol):
    """A Lens: what has a borrowed model."""

    @property
    def borrowed(self) -> Model: ...


def symmetry(lens: _Borrowing, layer: int, head: int | None = None) -> float:
    """`symmetry_of` W_QK: of one head, or (None) of the layer's full matrix, the sum over heads. These differ widely.

    Raises SelectionError for an index that does not exist, ModelError for a family without an adapter.
    """
    return float(symmetry_of(*_chosen(lens, layer, head)))


def directionality(lens: _Borrowing, layer: int, head: int | None = None, g: float = 2.0) -> float:
    """`directionality_of` W_QK: of one head, or (None) of the layer's full matrix. Raises like `symmetry`.

    Chance: `directionality_chance` of the weights' size, (d, D) or (H·d, D).
    """
    return float(directionality_of(*_chosen(lens, layer, head), g))


def weights_table(lens: _Borrowing) -> pd.DataFrame:
    """One row per head and one, "all", per layer: DataFrame with the columns

    layer; head; symmetry
    directionality; directionality_chance: c, 95 % of random weights of this size lie in [−c, c]
    overlap: `subspace_overlap` of W_Q and W_K; chance: what random subspaces would have, r / D
    overlap_others: mean overlap of W_Q with W_K of the layer's other heads, NaN for a single head

    "all" is the layer's full matrix over all heads, which published medians of symmetry are of; it spans everything, so
    that its overlap would be 1 by construction: NaN, as are the two beside it. Raises ModelError for a family without
    an adapter.
    """
    rows: list[dict[str, object]] = []
    for layer in range(_n_layers(lens.borrowed)):
        heads, layer_row = layer_weights(*projections(lens.borrowed, layer))
        rows += [{"layer": layer, "head": head, **row} for head, row in enumerate(heads)]
        rows.append({"layer": layer, "head": "all", **layer_row})
    return pd.DataFrame(rows)


def layer_weights(query: Tensor, key: Tensor) -> tuple[list[dict[str, float]], dict[str, float]]:
    """The numbers of `weights_table` of one layer from `projections`: one row per head, and "all"."""
    overlaps = head_overlaps(query, key)
    peer_overlaps = of_others(overlaps)
    heads = [
        _symmetries(query[head], key[head])
        | {"overlap": float(overlaps[head, head]), "chance": query.shape[1] / query.shape[2]}
        | {"overlap_others": float(peer_overlaps[head])}
        for head in range(len(query))
    ]
    nothing = dict.fromkeys(("overlap", "chance", "overlap_others"), float("nan"))
    return heads, _symmetries(query.flatten(0, 1), key.flatten(0, 1)) | nothing


def _symmetries(query: Tensor, key: Tensor) -> dict[str, float]:
    return {
        "symmetry": float(symmetry_of(query, key)),
        "directionality": float(directionality_of(query, key)),
        "directionality_chance": directionality_chance(*query.shape),
    }


def projections(model: Model, layer: int) -> tuple[Tensor, Tensor]:
    """W_Q and W_K of a layer, each (H, d, D) in float64: q = W_Q x + b.

    Raises SelectionError for a layer that does not exist, ModelError for a family without an adapter and for quantised
    or adapted projections.
    """
    query, key = weights_of(model, layer)
    heads: int = model.base.config.num_attention_heads
    return query.detach().double().unflatten(0, (heads, -1)), key.detach().double().unflatten(0, (heads, -1))


def requirements(trace: Trace, layer: int) -> None:
    """Raises the error that spectra of a layer, of its weights and of its run, would raise, before any work."""
    adapter, module = trace.layer_module(layer)
    check_finite(trace, "they have no spectra")
    if not trace.has_neurons:
        raise ModelError(trace.why_no_neurons)
    for find in (adapter.query_projection, adapter.key_projection):
        trace.borrowed.check_plain(find(module))


def weights_of(model: Model, layer: int) -> tuple[Tensor, Tensor]:
    """W_Q and W_K of a layer as the model has them, (H·d, D); errors as `projections`."""
    check_index(layer, _n_layers(model), "layer")
    adapter, module = model.layer(layer)
    fused = adapter.value_part is not None
    query, _ = model.affine(adapter.query_projection(module), 0 if fused else None)
    key, _ = model.affine(adapter.key_projection(module), 1 if fused else None)
    return query, key


def _n_layers(model: Model) -> int:
    return len(require_adapter(model.base).layers(model.base))


def _chosen(lens: _Borrowing, layer: int, head: int | None) -> tuple[Tensor, Tensor]:
    query, key = projections(lens.borrowed, layer)
    if head is None:
        return query.flatten(0, 1), key.flatten(0, 1)
    check_index(head, len(query), "head")
    return query[head], key[head]
