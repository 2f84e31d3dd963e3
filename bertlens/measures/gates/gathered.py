"""What the patterns of a map are judged by, taken from some of its rows at a time: vectors, nothing of S × S."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True)
class Gathered:
    """Of B, the attention among n content tokens (..., n, n); float64, leading dimensions (...) as in the attention."""

    mass: Tensor  # (..., n) m_i = Σ_j B_ij
    columns: Tensor  # (..., n) Σ_i B_ij
    own: Tensor  # (..., n) B_ii
    ahead: Tensor  # (..., n − 1) B_i,i+1
    behind: Tensor  # (..., n − 1) B_i,i−1, from i = 1 on
    by_offset: Tensor  # (..., 2n − 1) mass at j − i = −(n − 1) .. n − 1
    after: Tensor  # (..., n) mass at j > i
    energy: Tensor  # (...) Σ B²
    stays: Tensor  # (..., K, G, n) mass of row i in each block
    within: Tensor  # (..., K, G, n) Σ B ln B of row i in each block
    peak: Tensor  # (..., n) a row's largest weight at |j − i| > 1
    target: Tensor  # (..., n) int64 where it is
    entropy: Tensor  # (..., n) of the whole row, special keys included, in nats
    special: Tensor  # (...) mass on special keys


def gather(rows: Iterable[tuple[Tensor, Tensor]], ways: Tensor) -> Gathered:
    """rows: blocks of successive rows of B and of the attention to special keys, (..., R, n) and (..., R, m).

    ways: (K, G, n) K ways to make G blocks. Overwrites the rows.
    """
    n, first = ways.shape[-1], 0
    by_row: dict[str, list[Tensor]] = defaultdict(list)
    summed: dict[str, Tensor | float] = defaultdict(float)
    for among, special in rows:
        information, skewed = _information(among), _skewed(among)
        members = ways.flatten(0, 1).to(among.dtype).T  # (n, K·G)
        diagonals = {"own": 0, "ahead": 1, "behind": -1}
        found = {name: among.diagonal(first + offset, -2, -1).double().clone() for name, offset in diagonals.items()}
        found |= {"mass": among.sum(-1).double(), "after": skewed[..., n + first :].sum(-1).double()}
        found["entropy"] = -(information.sum(-1) + _information(special).sum(-1)).double()
        for name, values in (("stays", among), ("within", information)):
            found[name] = (values @ members).double().transpose(-1, -2).unflatten(-2, ways.shape[:2])
        sums = {"columns": among.sum(-2).double(), "special": special.sum((-2, -1)).double()}
        sums["by_offset"] = pad(skewed.sum(-2).double()[..., first:], (0, first))
        sums["energy"] = torch.linalg.vector_norm(among, dim=(-2, -1)).double() ** 2
        for offset in diagonals.values():  # in place: this is the last use of the rows
            among.diagonal(first + offset, -2, -1).zero_()
        peak, found["target"] = among.max(-1)
        found["peak"] = peak.double()
        for name, values in found.items():
            by_row[name].append(values)
        for name, values in sums.items():
            summed[name] = summed[name] + values
        first += among.shape[-2]
    return Gathered(**{name: torch.cat(parts, -1) for name, parts in by_row.items()}, **summed)  # type: ignore[arg-type]


def _information(x: Tensor) -> Tensor:
    """x ln x, 0 for 0; three times as fast as xlogy."""
    return x.clamp_min(1e-30).log_().mul_(x)


def _skewed(x: Tensor) -> Tensor:
    """(..., R, 2n − 1) of rows (..., R, n): row i by offset j − i = −(n − 1) .. n − 1, 0 where there is no such key."""
    count, n = x.shape[-2:]
    # rows of 2n − 1 read as rows of 2n: every row starts one further to the left, so diagonals become columns
    flat = x.new_zeros(*x.shape[:-2], 2 * n * count)
    flat[..., : count * (2 * n - 1)].unflatten(-1, (count, 2 * n - 1))[..., n - 1 :] = x
    return flat.unflatten(-1, (count, 2 * n))[..., : 2 * n - 1]
