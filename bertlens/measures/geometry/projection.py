"""The stream as a picture: tokens of one station projected onto a plane, and each token's nearest ones by cosine.

A station is a place of the stream: 0 is what the first layer takes in, l + 1 what layer l hands on.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import InputError, check_index, check_name
from ...trace.trace import Trace
from ..largest import largest

METHODS = ("pca", "umap")
ROWS_AT_ONCE = 256  # of cosines at a time


@dataclass(frozen=True)
class Projection:
    """points (n, 2) float64. share (2,): of the vectors' variance along each axis; None for UMAP, which has no axes."""

    points: Tensor
    share: Tensor | None


def pca(vectors: Tensor) -> Projection:
    """The first two principal components of the rows of (n, d), by an exact decomposition in float64.

    The sign of a component is free: each axis points so that the first row that is not at 0 on it (in a BERT [CLS]) is
    positive, and pictures of two layers do not differ by a flip alone. Rows that are all the same lie
    at 0, with shares of NaN; a single dimension leaves the second axis 0.
    Raises InputError for NaN or infinity, and for no rows.
    """
    x = vectors.double()
    if not len(x) or not torch.isfinite(x).all():
        raise InputError("there is nothing to project" if not len(x) else "vectors with NaN or infinity have no axes")
    x = x - x.mean(0)
    n, d = x.shape
    gram = x @ x.T if n <= d else x.T @ x  # of both, the smaller has the same eigenvalues
    values, axes = torch.linalg.eigh(gram)
    values, axes = values.flip(-1).clamp_min(0)[:2], axes.flip(-1)[:, :2]
    points = axes * values.sqrt() if n <= d else x @ axes
    total = x.square().sum()
    if total <= 1e-24 * vectors.double().square().sum():  # what is left of equal rows is rounding
        return Projection(torch.zeros(n, 2, dtype=torch.float64, device=x.device), values.new_full((2,), torch.nan))
    if min(n, d) < 2:
        points, values = (torch.nn.functional.pad(matrix, (0, 1)) for matrix in (points, values))
    away = points.abs() > 1e-9 * points.abs().amax()
    lead = points.gather(0, away.int().argmax(0, keepdim=True))
    return Projection(points * torch.where(lead < 0, -1.0, 1.0), values / total)


def has_umap() -> bool:
    """Whether umap-learn is installed, which comes with the extra `umap`."""
    return importlib.util.find_spec("umap") is not None


def umap(vectors: Tensor) -> Projection:
    """UMAP of the rows of (n, d) by cosine, seed 0: near tokens stay near, distances and directions say nothing.

    McInnes et al. 2018, as umap-learn has it. Raises InputError where it is not installed, for fewer than 4 rows, and
    for NaN or infinity.
    """
    if not has_umap():
        raise InputError("UMAP is not installed: pip install umap-learn, or take method='pca'")
    if len(vectors) < 4 or not torch.isfinite(vectors).all():
        raise InputError("UMAP needs 4 tokens or more, without NaN or infinity: take method='pca'")
    reducer = importlib.import_module("umap").UMAP(
        n_neighbors=min(15, len(vectors) - 1), metric="cosine", init="random", random_state=0
    )
    return Projection(torch.from_numpy(reducer.fit_transform(vectors.double().cpu().numpy())).double(), None)


def nearest(vectors: Tensor, k: int = 8) -> tuple[Tensor, Tensor]:
    """Each row's nearest others by cosine, the nearest first: positions (n, k) and cosines (n, k) float64, in [−1, 1].

    k: at most n − 1 of them. A row of zeros has a cosine of 0 with all. Raises InputError for NaN or infinity.
    """
    x = vectors.double()
    if not torch.isfinite(x).all():
        raise InputError("vectors with NaN or infinity have no cosines")
    unit = torch.nn.functional.normalize(x, dim=-1)
    count = min(k, len(x) - 1)
    blocks = []
    for start in range(0, len(x), ROWS_AT_ONCE):
        cosine = (unit[start : start + ROWS_AT_ONCE] @ unit.T).clamp_(-1, 1)
        cosine.diagonal(start).fill_(-torch.inf)
        blocks.append(largest(cosine, count))
    places, values = zip(*blocks, strict=True)
    return torch.cat(places), torch.cat(values)


def station(trace: Trace, number: int) -> Tensor:
    """(S, D) the stream before layer 0 (number 0) or after layer number − 1.

    Raises SelectionError where there is none, ModelError for a family without an adapter.
    """
    check_index(number, trace.n_layers + 1, "station of the stream")
    return trace.layer_input(0) if number == 0 else trace.layer_output(number - 1)


def project(trace: Trace, number: int, method: str = "pca") -> Projection:
    """The tokens of a trace at a station of the stream, by its number, on a plane.

    Raises SelectionError for an unknown method. Otherwise as `station`, `pca` and `umap`.
    """
    check_name(method, METHODS, "method")
    vectors = station(trace, number)
    return pca(vectors) if method == "pca" else umap(vectors)
