"""How many keys hold nine tenths of a row: exact, and for long rows without sorting them whole."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..base.limits import within
from ..base.vocabulary.constants import ROW_SHARE

SAMPLE = 256  # keys of a long row that say about where its smallest weight that counts lies
GOLDEN = 0.6180339887498949
ERRORS = 2.5  # standard errors of the sample within which it is looked for


def k90(rows: Tensor, share: float = ROW_SHARE) -> Tensor:
    """(...) int64 in [1, K]: the least number of keys that hold `share` of rows (..., K), to 1e-6; K where none do.

    The size of the metastable state of Ramsauer et al. 2021, as Bonino et al. 2025 draw it per head.
    """
    size, target = rows.shape[-1], share - 1e-6
    if within("sorted", size) or rows.device.type != "cpu":
        counts = _by_sorting(rows, target)
    else:
        counts = _by_search(rows.reshape(-1, size), target).reshape(rows.shape[:-1])
    return counts.clamp_max_(size)


def _by_sorting(rows: Tensor, target: float) -> Tensor:
    return _left(rows, rows.sum(-1, keepdim=True) - target)


def _left(rows: Tensor, rest: Tensor) -> Tensor:
    """How many keys of rows (..., K) are left when the smallest, which hold `rest` (..., 1) at most, are taken away."""
    smallest = torch.searchsorted(_ascending(rows).cumsum(-1), rest, right=True)  # sums only grow: none is negative
    return rows.shape[-1] - torch.where(rest.isnan(), 0, smallest)[..., 0]


def _ascending(rows: Tensor) -> Tensor:
    """On a CPU numpy sorts rows of floats tens of times faster than torch."""
    if rows.device.type == "cpu":
        return torch.from_numpy(np.sort(rows.numpy(), axis=-1))
    return rows.sort(-1).values


def _by_search(rows: Tensor, target: float) -> Tensor:
    """As by sorting, of rows (R, K) on the CPU: what lies above a bracket is summed, what lies in it sorted.

    Rows that the bracket does not fit, or in which it is wide, are sorted whole.
    """
    count, size = rows.shape
    low, high = _bracket(rows, target)
    marks = torch.gt(rows, high, out=torch.empty_like(rows))  # bools would take five times as long
    larger, mass = marks.sum(-1), marks.mul_(rows).sum(-1)
    values = rows.numpy()  # whose comparisons take a third of the time of torch's
    within = (values > low.numpy()) & (values <= high.numpy())
    places = np.flatnonzero(within)
    starts = np.searchsorted(places, np.arange(count + 1) * size)
    widths = np.diff(starts)
    wide = widths > size // 4
    if wide.any():
        within[wide] = False
        places = np.flatnonzero(within)
        widths[wide] = 0
    candidates = np.zeros((count, max(1, widths.max())), values.dtype)
    candidates[np.arange(candidates.shape[1]) < widths[:, None]] = values.reshape(-1)[places]
    among = torch.from_numpy(candidates)
    slack = among.sum(-1, keepdim=True) + (mass - target)[:, None]
    counts = larger.long() + _left(among, slack)
    missed = ~((mass < target) & (slack[:, 0] >= 0))  # NaN too
    if missed.any():
        counts[missed] = _by_sorting(rows[missed], target)
    return counts


def _bracket(rows: Tensor, target: float) -> tuple[Tensor, Tensor]:
    """(R, 1) a weight that the smallest that counts is above, and one that it is not, both probably.

    A sample says what the keys of at most a weight hold together, which few large ones cannot mislead; what may be left
    out is the rest of the row.
    """
    size = rows.shape[-1]
    slack = rows.sum(-1, keepdim=True) - target
    places = torch.arange(1, SAMPLE + 1, dtype=torch.float64, device=rows.device).mul_(GOLDEN).frac_().mul_(size).long()
    sample = _ascending(rows.index_select(1, places))  # spread evenly, in step with nothing that the text repeats
    sums = sample.cumsum(-1)
    error = sample.square().cumsum(-1).sub_(sums.square() / SAMPLE).clamp_min_(0).sqrt_().mul_(ERRORS)
    sample_slack = slack * (SAMPLE / size)
    under = (sums + error < sample_slack).sum(-1, keepdim=True)
    upto = (sums - error < sample_slack).sum(-1, keepdim=True)
    low = torch.where(under > 0, sample.gather(-1, (under - 1).clamp_min(0)), 0)
    high = torch.where(upto < SAMPLE, sample.gather(-1, upto.clamp_max(SAMPLE - 1)), torch.inf)
    return low.maximum(slack / size), high  # keys of at most rest / K hold no more than the rest together
