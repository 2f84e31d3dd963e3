"""Measures of a set of vectors, whatever they are: rows of a matrix (..., n, d) in, numbers out, float64."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import InputError

ZERO = 1e-12  # a row of at most this norm has no direction
LEAST_POINTS = 100  # for an intrinsic dimension


def usable(vectors: Tensor, mask: Tensor | None = None) -> Tensor:
    """(..., n) bool: rows that count, those with mask True (all without one) and a norm above 1e-12, not NaN.

    vectors (..., n, d), mask (n,) or (..., n).
    """
    valid = torch.linalg.vector_norm(vectors.double(), dim=-1) > ZERO
    return valid if mask is None else valid & mask


def cone_index(vectors: Tensor, mask: Tensor | None = None, normalize: bool = True) -> Tensor:
    """I = ‖Σ_i u_i‖, u_i = x_i / ‖x_i‖, of the rows of (..., n, d): float64 (...) in [0, n]; NaN where no row counts.

    n where all point one way, 0 where they cancel, about √n for random directions, 1 for a single row (which says
    nothing). I² = n + n (n − 1) · mean cosine. mask (n,) or (..., n): True counts. `normalize=False` sums the rows as
    they are, the formula by the letter. Bonino et al. 2025, cone index; on unit rows as in their code.
    """
    valid = usable(vectors, mask)
    rows = torch.where(valid[..., None], vectors.double(), 0.0)  # NaN rows do not count either
    if normalize:
        rows = rows / torch.linalg.vector_norm(rows, dim=-1, keepdim=True).clamp_min(ZERO)
    index = torch.linalg.vector_norm(rows.sum(-2), dim=-1)
    return torch.where(valid.any(-1), index, torch.nan)


def cone_share(vectors: Tensor, mask: Tensor | None = None) -> Tensor:
    """Ī = I / n, float64 (...) in [0, 1], so that sets of different size compare; chance is about 1 / √n.

    Also the mean cosine of the unit rows with their mean. mask as for `cone_index`; NaN where no row counts.
    """
    return cone_index(vectors, mask) / usable(vectors, mask).sum(-1)


def moments(vectors: Tensor) -> dict[str, Tensor]:
    """Each row's distribution over its d entries: mean, sd, skewness, kurtosis, max_z and dimension, all (..., n).

    Population moments: skewness g1, excess kurtosis g2 (0 for a Gaussian), max_z the largest |x − mean| / sd and
    `dimension` (int64) where it is. NaN (dimension −1) for a row whose entries are all the same.
    """
    x = vectors.double()
    mean = x.mean(-1, keepdim=True)
    centred = x - mean
    sd = centred.square().mean(-1, keepdim=True).sqrt()
    flat = sd <= 1e-12 * x.abs().amax(-1, keepdim=True)
    z = torch.where(flat, torch.nan, centred / sd)
    largest, dimension = z.abs().max(-1)
    return {
        "mean": mean[..., 0],
        "sd": sd[..., 0],
        "skewness": z.pow(3).mean(-1),
        "kurtosis": z.pow(4).mean(-1) - 3,
        "max_z": largest,
        "dimension": torch.where(flat[..., 0], -1, dimension),
    }


def participation_ratio(vectors: Tensor) -> Tensor:
    """(Σ λ)² / Σ λ² of the covariance's eigenvalues, (...) in [1, min(n − 1, d)]: k for k equal directions.

    By traces: tr(C)² / tr(C²). NaN for fewer than two rows, or rows that are all the same.
    """
    x = vectors.double()
    x = x - x.mean(-2, keepdim=True)
    gram = x @ x.transpose(-1, -2) if x.shape[-2] <= x.shape[-1] else x.transpose(-1, -2) @ x
    total = gram.diagonal(0, -2, -1).sum(-1)
    ratio = total**2 / gram.square().sum((-2, -1))
    # what is left of equal rows is rounding
    degenerate = total <= 1e-24 * vectors.double().square().sum((-2, -1))
    return torch.where(degenerate, torch.nan, ratio)


# --- cosines between vectors, Ethayarajh 2019 ---


def anisotropy(vectors: Tensor, centre: bool = False, without: int = 0) -> Tensor:
    """Mean cosine over all pairs of different rows of (n, d), 0-d in [−1 / (n − 1), 1]; NaN for fewer than two.

    The baseline of Ethayarajh 2019, over all pairs and not a sample, from the cone index: (I² − n) / (n (n − 1)). A few
    rogue dimensions can carry it (Timkey and van Schijndel 2021): `centre` takes the mean off first,
    `without=k` leaves out the k dimensions that contribute most. Gao et al. 2019 describe the narrow cone.
    """
    if centre:
        vectors = vectors.double() - vectors.double().mean(-2, keepdim=True)
    if without:
        rogue = cosine_contributions(vectors).topk(without).indices
        dimensions = torch.ones(vectors.shape[-1], dtype=torch.bool, device=vectors.device)
        dimensions[rogue] = False
        vectors = vectors[..., dimensions]
    n = usable(vectors).sum(-1)
    return torch.where(n > 1, (cone_index(vectors) ** 2 - n) / (n * (n - 1)), torch.nan)


def cosine_contributions(vectors: Tensor) -> Tensor:
    """(d,) what each dimension gives to the mean cosine; they sum to `anisotropy`. Timkey and van Schijndel 2021."""
    x = vectors.double()
    x = x[usable(x)]
    u = x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    n = len(u)
    return (u.sum(0) ** 2 - u.square().sum(0)) / (n * (n - 1))


def self_similarity(occurrences: Tensor, baseline: float | Tensor = 0.0) -> Tensor:
    """Mean cosine between a word's `occurrences` (m, d) in m contexts, minus `baseline` (the layer's `anisotropy`).

    0-d; NaN for fewer than two. Ethayarajh 2019, definition 1.
    """
    return anisotropy(occurrences) - baseline


def intra_similarity(vectors: Tensor, baseline: float | Tensor = 0.0) -> Tensor:
    """Mean cosine of a sentence's vectors (n, d) with their mean, minus `baseline`: 0-d in [−1, 1] less it.

    Rows without a direction (NaN, or a norm of at most 1e-12) are left out of both; NaN where no row is left.
    Ethayarajh 2019, definition 2 (IntraSim). On unit rows this is `cone_share`.
    """
    x = vectors.double()
    x = x[usable(x)]
    return torch.nn.functional.cosine_similarity(x, x.mean(0, keepdim=True), dim=-1).mean() - baseline


def max_explainable_variance(occurrences: Tensor) -> Tensor:
    """σ_1² / Σ σ² of a word's `occurrences` (m, d): how well one static vector could stand for all. 0-d in [1 / m, 1].

    The vectors as they are, no mean taken off. Rows without a direction (NaN, or a norm of at most 1e-12) are left
    out; NaN where fewer than two are left. Ethayarajh 2019, definition 3 (MEV).
    """
    x = occurrences.double()
    x = x[usable(x)]
    if len(x) < 2:
        return torch.tensor(torch.nan, dtype=torch.float64, device="cpu")
    squares = torch.linalg.svdvals(x) ** 2
    return squares[0] / squares.sum()


# --- intrinsic dimension, Facco et al. 2017 ---


def two_nn(points: Tensor, trim: float = 0.1) -> float:
    """Intrinsic dimension of (N, d) points from the ratios μ of the distances to the second and first neighbour.

    P(μ) = d μ^(−d−1); d by maximum likelihood, unbiased, with the largest `trim` of the ratios taken as "at least as
    large" (for trim=0: (N − 1) / Σ ln μ). Points that occur more than once count once. Facco et al. 2017, eq. 3.
    It is too low where N is small for the dimension: 20 normal dimensions are 13 by 100 points, 15 by 200 and 16.5 by
    1,600. So say N with it, and compare only dimensions of as many points.
    Raises InputError for fewer than 100 different points: collect vectors over a corpus, a sentence has too few.
    """
    x = torch.unique(points.double(), dim=0)
    if len(x) < LEAST_POINTS:
        raise InputError(
            f"TwoNN needs {LEAST_POINTS} different points or more, these are {len(x)}: collect vectors of many texts"
        )
    nearest = torch.cat([_two_nearest(x, start) for start in range(0, len(x), 256)])
    ratios = (nearest[:, 1] / nearest[:, 0]).log().sort().values
    count = max(2, round(len(ratios) * (1 - trim)))
    total = ratios[:count].sum() + (len(ratios) - count) * ratios[count - 1]
    return float((count - 1) / total)


def _two_nearest(x: Tensor, start: int) -> Tensor:
    """(c, 2) distances of 256 points to their nearest others. Not by matrix products: those cancel for near points."""
    distances = torch.cdist(x[start : start + 256], x, compute_mode="donot_use_mm_for_euclid_dist")
    index = torch.arange(len(distances), device=x.device)
    distances[index, start + index] = torch.inf
    return distances.topk(2, largest=False).values
