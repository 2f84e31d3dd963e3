"""What the patterns of a map are judged by, taken from some of its rows at a time: vectors, nothing of S × S."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...base.generators import Steps
from ..distributions import Diagonal, information

OFFSETS = {"diagonal": 0, "ahead": 1, "behind": -1}
CHUNK = 64  # keys of which the largest is found first


@dataclass(frozen=True)
class PatternSums:
    """Of B, the attention among n content tokens (..., n, n); float64, leading dimensions (...) as in the attention."""

    mass: Tensor  # (..., n) m_i = Σ_j B_ij
    columns: Tensor  # (..., n) Σ_i B_ij
    diagonal: Tensor  # (..., n) B_ii
    ahead: Tensor  # (..., n − 1) B_i,i+1
    behind: Tensor  # (..., n − 1) B_i,i−1, from i = 1 on
    by_offset: Tensor  # (..., 2n − 1) mass at j − i = −(n − 1) .. n − 1
    upper: Tensor  # (..., n) mass at j > i
    energy: Tensor  # (...) Σ B²
    stays: Tensor  # (..., K, G, n) mass of row i in each block
    within: Tensor  # (..., K, G, n) Σ B ln B of row i in each block
    peak: Tensor  # (..., n) a row's largest weight at |j − i| > 1
    target: Tensor  # (..., n) int64 where it is
    entropy: Tensor  # (..., n) of the whole row, special keys included, in nats
    special: Tensor  # (...) mass on special keys


def pattern_sums(rows: Iterable[tuple[int, Tensor, Tensor]], ways: Tensor) -> Steps[PatternSums]:
    """In steps, one for each block of rows. Overwrites the rows.

    rows: blocks of successive rows of B, as the first key and the weights (..., R, C) of the keys from there on, and of
    the attention to special keys (..., R, m). ways: (K, G, n) K ways to make G blocks.
    """
    n, start = ways.shape[-1], 0
    run, members = _runs(ways)
    by_row: dict[str, list[Tensor]] = defaultdict(list)
    summed: dict[str, Tensor] = {}
    for first_key, among, special in rows:
        count, width = among.shape[-2:]
        keys = slice(first_key, first_key + width)
        diagonals = {name: Diagonal(among, start + at - first_key) for name, at in OFFSETS.items()}
        block = {name: diagonal.get().double() for name, diagonal in diagonals.items()}
        skewed = _skewed(among)  # its columns are the offsets from the last row's to the first key on
        block |= {"mass": among.sum(-1).double()}
        block["upper"] = skewed[..., max(0, start + count - first_key) :].sum(-1).double()
        inside = information(among)
        block["entropy"] = -(inside.sum(-1) + information(special).sum(-1)).double()
        for name, values in (("stays", among), ("within", inside)):
            by_run = _by_run(values, run[keys], len(members)).double() @ members
            block[name] = by_run.transpose(-1, -2).unflatten(-2, ways.shape[:2])
        if not summed:
            summed = {name: among.new_zeros(*among.shape[:-2], size, dtype=torch.float64) for name, size in _sizes(n)}
        summed["columns"][..., keys] += among.sum(-2).double()
        summed["special"][..., 0] += special.sum((-2, -1)).double()
        offset = n + first_key - start - count
        summed["by_offset"][..., offset : offset + skewed.shape[-1]] += skewed.sum(-2).double()
        summed["energy"][..., 0] += among.square().sum((-2, -1)).double()
        for diagonal in diagonals.values():  # in place: this is the last use of the rows
            diagonal.clear()
        peak, target = _largest(among)
        block |= {"peak": peak.double(), "target": torch.where(peak > 0, target + first_key, 0)}
        for name, values in block.items():
            by_row[name].append(values)
        start += count
        yield
    vectors = {name: torch.cat(blocks, -1) for name, blocks in by_row.items()}
    vectors |= {"ahead": vectors["ahead"][..., :-1], "behind": vectors["behind"][..., 1:]}
    sums = {name: values[..., 0] if name in ("energy", "special") else values for name, values in summed.items()}
    return PatternSums(**vectors, **sums)


def _sizes(n: int) -> list[tuple[str, int]]:
    """Of what is summed over the rows."""
    return [("columns", n), ("by_offset", 2 * n - 1), ("energy", 1), ("special", 1)]


def _runs(ways: Tensor) -> tuple[Tensor, Tensor]:
    """(n,) the run of successive tokens, alike in every way, that each belongs to, and (P, K·G) where each run is."""
    members = ways.flatten(0, 1)
    borders = (members[:, 1:] != members[:, :-1]).any(0)
    run = torch.cat([borders.new_zeros(1, dtype=torch.long), borders.cumsum(0)])
    starts = torch.cat([borders.new_ones(1), borders]).nonzero()[:, 0]
    return run, members[:, starts].T.contiguous()


def _by_run(values: Tensor, run: Tensor, count: int) -> Tensor:
    """(..., count) sums over the columns (C,) of each run."""
    totals = values.new_zeros(*values.shape[:-1], count)
    if values.device.type != "cpu":
        return totals.index_add_(-1, run, values)
    starts = np.flatnonzero(np.diff(run.numpy(), prepend=-1))
    sums = np.add.reduceat(values.numpy(), starts, axis=-1)
    totals[..., int(run[0]) : int(run[-1]) + 1] = torch.from_numpy(sums)
    return totals


def _largest(rows: Tensor) -> tuple[Tensor, Tensor]:
    """max(-1) of rows (..., C), the first of equals, in a fifth of its time: of the largest of 64 keys at a time."""
    size = rows.shape[-1] // CHUNK * CHUNK
    if size < 4 * CHUNK:
        peak, target = rows.max(-1)
        return peak, target
    chunks = rows[..., :size].unflatten(-1, (-1, CHUNK))
    _, chunk = chunks.amax(-1).max(-1)
    peak, within = chunks.gather(-2, chunk[..., None, None].expand(*chunk.shape, 1, CHUNK))[..., 0, :].max(-1)
    target = chunk * CHUNK + within
    if size < rows.shape[-1]:
        tail, at = rows[..., size:].max(-1)
        peak, target = torch.where(tail > peak, tail, peak), torch.where(tail > peak, at + size, target)
    return peak, target


def _skewed(x: Tensor) -> Tensor:
    """(..., R, C + R − 1) of rows (..., R, C): row i by offset −(R − 1) .. C − 1, 0 where there is no such key."""
    count, size = x.shape[-2:]
    width = size + count - 1
    # rows of W read as rows of W + 1: every row starts one further to the left, so diagonals become columns
    flat = x.new_zeros(*x.shape[:-2], (width + 1) * count)
    flat[..., : count * width].unflatten(-1, (count, width))[..., count - 1 :] = x
    return flat.unflatten(-1, (count, width + 1))[..., :width]
