"""Spectra and ranks: of queries, keys, values and attention maps, and of the weights W_Q, W_K that select a subspace.

Everything is computed in float64 and on demand: none of it belongs into a picture that is drawn at once. W_QK is
W_Qᵀ W_K (D, D) in torch's layout (rows: the query's side, columns: the key's), without biases and, in rotary families,
without the rotation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..architectures import affine, encoder_of, require_adapter
from ..errors import InputError, check_index
from ..lens import Lens
from ..trace import Trace

if TYPE_CHECKING:
    import pandas as pd

SMALL = 1e-3  # Bonino et al. count the singular values of the softmax that are at least this


# --- one matrix ---


def singular_values(x: Tensor) -> Tensor:
    """(..., min(m, n)) float64, the largest first, of (..., m, n).

    Raises InputError for NaN and Inf, and so do all measures below that are made of singular values.
    """
    return torch.linalg.svdvals(_finite(x))


def rank(x: Tensor) -> Tensor:
    """Numerical rank (...) int64 of (..., m, n): singular values over max(m, n) · eps · σ_1, eps of the dtype of x.

    0 for a matrix of zeros.
    """
    return _count(singular_values(x), x)


def _count(values: Tensor, x: Tensor) -> Tensor:
    eps = torch.finfo(x.dtype).eps if x.is_floating_point() else torch.finfo(torch.float64).eps
    return (values > max(x.shape[-2:]) * eps * values[..., :1]).sum(-1)


def effective_rank(x: Tensor) -> Tensor:
    """exp of the entropy of σ² / Σ σ², float64 (...) in [1, rank]; NaN for zeros. Roy and Vetterli 2007, with σ²."""
    share = _shares(x)
    return torch.exp(-torch.xlogy(share, share).sum(-1))


def stable_rank(x: Tensor) -> Tensor:
    """‖X‖_F² / σ_1², float64 (...) in [1, rank]; NaN for zeros."""
    return 1 / _shares(x)[..., 0]


def top_share(x: Tensor) -> Tensor:
    """σ_1² / Σ σ², float64 (...) in (0, 1]: how much of the matrix is one direction; NaN for zeros."""
    return _shares(x)[..., 0]


def _shares(x: Tensor) -> Tensor:
    squares = singular_values(x) ** 2
    return squares / squares.sum(-1, keepdim=True)


# --- queries, keys, values, attention ---


def layer_spectra(trace: Trace, layer: int) -> pd.DataFrame:
    """DataFrame(head, of, rank, effective_rank, stable_rank, top_share): each head's query, key, value, context.

    Raises SelectionError for a layer that does not exist, ModelError for a trace without queries.
    """
    import pandas as pd

    context = trace.context(layer).unflatten(-1, (trace.n_heads, -1)).transpose(0, 1)
    matrices = {
        "query": trace.query(layer),
        "key": trace.key(layer),
        "value": trace.value(layer),
        "context": context,
    }
    tables = [_ranks(x).assign(of=name) for name, x in matrices.items()]
    return pd.concat(tables)[["head", "of", "rank", "effective_rank", "stable_rank", "top_share"]].reset_index(
        drop=True
    )


def attention_ranks(trace: Trace, layer: int) -> pd.DataFrame:
    """DataFrame(head, rank, effective_rank, stable_rank, top_share, visible): of the softmax (S, K) of every head.

    visible: singular values of at least 0.001, the count of Bonino et al. 2025's notebook; 1 is a map in which all
    queries take one direction. Raises SelectionError for a layer that does not exist.
    """
    attention = trace.attention(layer)
    return _ranks(attention).assign(visible=(singular_values(attention) >= SMALL).sum(-1).cpu().numpy())


def _ranks(x: Tensor) -> pd.DataFrame:
    import pandas as pd

    found: dict[str, Any] = {"head": torch.arange(len(x))}
    found |= {f.__name__: f(x).cpu() for f in (rank, effective_rank, stable_rank, top_share)}
    return pd.DataFrame({name: values.numpy() for name, values in found.items()})


def k90(attention: Tensor, share: float = 0.9) -> Tensor:
    """(..., S) int64 in [1, K]: the least number of keys that hold `share` of a row of (..., S, K), to 1e-6.

    The size of the metastable state of Ramsauer et al. 2021, as Bonino et al. 2025 draw it per head.
    """
    held = attention.double().sort(-1, descending=True).values.cumsum(-1)
    return (held < share - 1e-6).sum(-1) + 1


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
    """‖UVᵀ‖_F² ÷ the lesser rank, 0-d in [0, 1]: 1 where one row space holds the other, 0 orthogonal, random r / D."""
    u, v = _row_basis(a), _row_basis(b)
    return (u @ v.T).square().sum() / max(1, min(len(u), len(v)))


def _row_basis(x: Tensor) -> Tensor:
    """(rank, D) orthonormal."""
    _, values, basis = torch.linalg.svd(_finite(x), full_matrices=False)
    return basis[: int(_count(values, x))]


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
    """
    query, key = query_weight.double(), key_weight.double()
    rows = ((key @ key.T @ query) * query).sum(0).clamp_min(0).sqrt()
    columns = ((query @ query.T @ key) * key).sum(0).clamp_min(0).sqrt()
    r, c = ((x - x.mean() - g * x.std()).clamp_min(0).sum() for x in (rows, columns))
    return torch.where(r + c > 0, (c - r) / (c + r).clamp_min(torch.finfo(torch.float64).tiny), 0.0)


def symmetry(lens: Lens, layer: int, head: int | None = None) -> float:
    """`symmetry_of` W_QK: of one head, or (None) of the layer's full matrix, the sum over heads. These differ widely.

    Raises SelectionError for an index that does not exist, ModelError for a family without an adapter.
    """
    return float(symmetry_of(*_chosen(lens, layer, head)))


def directionality(lens: Lens, layer: int, head: int | None = None, g: float = 2.0) -> float:
    """`directionality_of` W_QK: of one head, or (None) of the layer's full matrix. Raises like `symmetry`."""
    return float(directionality_of(*_chosen(lens, layer, head), g))


def weights_table(lens: Lens) -> pd.DataFrame:
    """DataFrame(layer, head, symmetry, directionality, overlap, chance): one row per head and one, "all", per layer.

    "all" is the layer's full matrix over all heads, which published medians of symmetry are of. overlap is
    `subspace_overlap` of W_Q and W_K, chance what random subspaces would have, r / D. Raises ModelError for a family
    without an adapter.
    """
    import pandas as pd

    rows = []
    for layer in range(len(_layers(lens)[1])):
        query, key = projections(lens, layer)
        pairs: list[tuple[int | str, Tensor, Tensor]] = [(h, query[h], key[h]) for h in range(len(query))]
        for head, q, k in [*pairs, ("all", query.flatten(0, 1), key.flatten(0, 1))]:
            rows.append(
                {
                    "layer": layer,
                    "head": head,
                    "symmetry": float(symmetry_of(q, k)),
                    "directionality": float(directionality_of(q, k)),
                    "overlap": float(subspace_overlap(q, k)),
                    "chance": min(1.0, len(q) / q.shape[1]),
                }
            )
    return pd.DataFrame(rows)


def projections(lens: Lens, layer: int) -> tuple[Tensor, Tensor]:
    """W_Q and W_K of a layer, each (H, d, D) in float64: q = W_Q x + b.

    Raises SelectionError for a layer that does not exist, ModelError for a family without an adapter and for quantised
    or adapted projections.
    """
    adapter, layers = _layers(lens)
    check_index(layer, len(layers), "layer")
    fused = adapter.value_part is not None
    query, _ = affine(adapter.query_projection(layers[layer]), 0 if fused else None)
    key, _ = affine(adapter.key_projection(layers[layer]), 1 if fused else None)
    heads: int = encoder_of(lens.model).config.num_attention_heads
    return query.detach().double().unflatten(0, (heads, -1)), key.detach().double().unflatten(0, (heads, -1))


def _layers(lens: Lens) -> tuple[Any, Any]:
    base = encoder_of(lens.model)
    adapter = require_adapter(base)
    return adapter, adapter.layers(base)


def _chosen(lens: Lens, layer: int, head: int | None) -> tuple[Tensor, Tensor]:
    query, key = projections(lens, layer)
    if head is None:
        return query.flatten(0, 1), key.flatten(0, 1)
    check_index(head, len(query), "head")
    return query[head], key[head]
