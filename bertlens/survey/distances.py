"""How far apart heads are: Jensen-Shannon divergence of their attention, and a map of them in two dimensions.

Computed text by text: no attention of the corpus is kept.
"""

from __future__ import annotations

import math
import warnings
from functools import cache

import numpy as np
import torch

from ..base.batch_work import partial_work
from ..base.dataframes import pd
from ..base.scikit_learn import scikit_learn
from ..errors import InputError, check_name, check_number, check_seed
from ..lens import Lens
from ..measures.distributions import divergences
from .corpus import Corpus, traces

VARIANTS = ("mean", "sum", "smoothed", "sqrt")
SMOOTHING = 1e-3  # Clark's for distances: 0.999 α + 0.001 / n


def head_distances(
    lens: Lens | None,
    corpus: Corpus,
    variant: str = "mean",
    *,
    batch_size: int = 8,
    truncation: bool = False,
    limit: int | None = None,
    progress: bool = True,
    column: str | tuple[str, str] | None = None,
) -> np.ndarray:
    """(L·H, L·H) Jensen-Shannon divergences of heads in nats, head index = layer · H + head; symmetric, zero diagonal.

    JS(p, q) = H((p + q) / 2) − (H(p) + H(q)) / 2 of the rows of two heads, at most ln 2 a token. Corpus and the other
    arguments as for `head_stats`. An interrupt ends the run with a warning, and the texts done so far count.
    variant "mean": averaged over all tokens of the corpus; "sum": summed, so that it grows with the corpus (Clark et
    al. 2019, section 6); "smoothed": the sum of rows 0.999 α + 0.001 / n, as Clark's released code has it; "sqrt":
    square root of the mean, in [0, √ln 2], a metric.
    Raises SelectionError for another variant, InputError for an empty corpus or texts that cannot be read.
    """
    check_name(variant, VARIANTS, "variant")
    total, tokens, texts = None, 0, 0
    smoothing = SMOOTHING if variant == "smoothed" else 0.0
    with partial_work(lambda: f"distances over the first {texts} texts that were done" if texts else ""):
        for trace in traces(lens, corpus, "head distances", batch_size, truncation, limit, progress, column):
            rows = torch.cat([trace.attention(layer) for layer in range(trace.n_layers)])
            of_text = divergences(rows.mul_(1 - smoothing).add_(smoothing / trace.n_tokens))
            if total is not None and total.shape != of_text.shape:
                raise InputError("traces of different models have no heads in common: use one model")
            total = of_text if total is None else total + of_text
            tokens, texts = tokens + trace.n_tokens, texts + 1
    assert total is not None  # a corpus has texts
    divergence = total.cpu().numpy()
    if variant in ("mean", "sqrt"):
        divergence /= tokens
    return np.sqrt(divergence) if variant == "sqrt" else divergence


def head_map(distances: np.ndarray, n_heads: int, seed: int = 0) -> pd.DataFrame:
    """Heads in two dimensions by metric multidimensional scaling: DataFrame(layer, head, x, y).

    distances (L·H, L·H), n_heads H. Five starts, the best is taken (Clark et al. 2019, figure 6). How far to trust it,
    in attrs: stress √(Σ (d − d')² ÷ Σ d²), d' the distances on the map: by what share of d, root mean square, they are
    off; 0 for a perfect map (scikit-learn's stress-1; Kruskal's divides by Σ d'²). even_stress: that of as many heads
    that are all equally far apart, so without anything to show; .35 for 12 heads, .41 for 72. nearest_kept: of how
    many heads the nearest on the map is the nearest by `distances` (`nearest_heads`). No groups are told: on real
    heads the silhouette chooses one head against all others.
    Needs scikit-learn (pip install scikit-learn). Raises InputError for distances that are not square, or do not
    go with n_heads.
    """
    distances, seed = square(distances), check_seed(seed)
    if len(distances) % check_number(n_heads, "n_heads is how many heads a layer has,", 1, len(distances)):
        raise InputError(f"{len(distances)} heads do not make layers of {n_heads}: n_heads is the heads of one layer")
    points, stress = _scaling(distances, seed)
    layers, heads = np.divmod(np.arange(len(points)), n_heads)
    table = pd.DataFrame({"layer": layers, "head": heads, "x": points[:, 0], "y": points[:, 1]})
    map_distances = np.linalg.norm(points[:, None] - points, axis=-1)
    agreement = nearest_heads(map_distances, 1)[0] == nearest_heads(distances, 1)[0]
    table.attrs = {"stress": stress, "even_stress": _even_stress(len(points)), "nearest_kept": int(agreement.sum())}
    return table


def nearest_heads(distances: np.ndarray, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """(N, k) int the nearest heads of each head, nearest first, as layer · H + head; (N, k) how far they are.

    distances (N, N); k is cut to N − 1. Equal distances: the head that stands first.
    Raises InputError for distances that are not square.
    """
    gaps, k = np.array(square(distances)), check_number(k, "k is how many heads to name,", 1)
    np.fill_diagonal(gaps, np.inf)
    nearest = np.argsort(gaps, axis=1, kind="stable")[:, : min(k, len(gaps) - 1)]
    return nearest, np.take_along_axis(gaps, nearest, axis=1)


def clustering(distances: np.ndarray) -> np.ndarray:
    """(L·H − 1, 4) linkage matrix of average-linkage clustering, as scipy.cluster.hierarchy.dendrogram takes it.

    Raises InputError for distances that are not square.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    return linkage(squareform(square(distances), checks=False), method="average")


def square(distances: np.ndarray) -> np.ndarray:
    """The distances as float64 (N, N). Raises InputError for any that are not square."""
    try:
        distances = np.asarray(distances, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError("distances are numbers of a (heads, heads) array") from None
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or len(distances) < 3:
        raise InputError(f"distances are (heads, heads) of three heads and more, not {distances.shape}")
    return distances


def _scaling(distances: np.ndarray, seed: int) -> tuple[np.ndarray, float]:
    """(N, 2), turned so that the first axis is the longest, the same on every machine; and the stress."""
    MDS = scikit_learn("manifold", "a map of heads needs").MDS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the defaults that change are all given
        points = MDS(2, **_settings(MDS), n_init=5, max_iter=500, random_state=seed).fit_transform(distances)
    _, _, axes = np.linalg.svd(points - points.mean(0), full_matrices=False)
    points = (points - points.mean(0)) @ axes.T
    points *= np.sign(points[np.abs(points).argmax(0), [0, 1]])
    map_distances = np.linalg.norm(points[:, None] - points, axis=-1)
    size = float((distances**2).sum())
    return points, math.sqrt(((map_distances - distances) ** 2).sum() / size) if size else 0.0


@cache
def _even_stress(n: int) -> float:
    return _scaling(1 - np.eye(n), seed=0)[1]


def _settings(kind: type) -> dict[str, object]:
    """scikit-learn 1.8 took the name `dissimilarity` from the argument and gave it another one."""
    import inspect

    parameters = inspect.signature(kind).parameters
    settings: dict[str, object] = (
        {"metric": "precomputed"} if "metric_mds" in parameters else {"dissimilarity": "precomputed"}
    )
    return settings | ({"init": "random"} if "init" in parameters else {})
