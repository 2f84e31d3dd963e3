"""How many keys hold nine tenths of a row: exact, and for long rows without sorting them whole."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

HELD = 0.9  # of a row
LONG = 1536  # keys of a row from which on a search is quicker than sorting all of it
SAMPLE = 256  # keys of a long row that say about where its smallest weight that counts lies
GOLDEN = 0.6180339887498949
LARGE = 8  # times the mean weight
ERRORS = 2.5  # standard errors of the sample within which it is looked for


def k90(rows: Tensor, share: float = HELD) -> Tensor:
    """(...) int64 in [1, K]: the least number of keys that hold `share` of a row of (..., K), to 1e-6; K where none do.

    The size of the metastable state of Ramsauer et al. 2021, as Bonino et al. 2025 draw it per head.
    """
    size, least = rows.shape[-1], share - 1e-6
    if size < LONG or rows.device.type != "cpu":
        found = _by_sorting(rows, least)
    else:
        found = _by_search(rows.reshape(-1, size), least).reshape(rows.shape[:-1])
    return found.clamp_max_(size)


def _by_sorting(rows: Tensor, least: float) -> Tensor:
    return (_descending(rows).cumsum(-1) < least).sum(-1) + 1


def _descending(rows: Tensor) -> Tensor:
    """Rows from the largest to the smallest. On a CPU numpy sorts rows of floats tens of times faster than torch."""
    if rows.device.type == "cpu":
        return torch.from_numpy(np.sort(rows.numpy(), axis=-1)).flip(-1)
    return rows.sort(-1, descending=True).values


def _by_search(rows: Tensor, least: float) -> Tensor:
    """As by sorting, of rows (R, K) on the CPU: what lies above a bracket is summed, what lies in it sorted.

    Rows that the bracket does not fit, or in which it is wide, are sorted whole.
    """
    count, size = rows.shape
    low, high = _bracket(rows, least)
    larger, held = _larger(rows, high)
    values = rows.numpy()  # whose comparisons take a third of the time of torch's
    within = (values >= low.numpy()) & (values <= high.numpy())
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
    sums = _descending(torch.from_numpy(candidates)).cumsum(-1).add_(held)
    found = larger[:, 0].long() + (sums < least).sum(-1) + 1
    missed = ~((held[:, 0] < least) & (sums[:, -1] >= least))  # NaN too
    if missed.any():
        found[missed] = _by_sorting(rows[missed], least)
    return found


def _larger(rows: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """(R, 1) how many weights are above one (R, 1) of each row, and their sum. Bools would take five times as long."""
    marks = torch.gt(rows, least, out=torch.empty_like(rows))
    return marks.sum(-1, keepdim=True), marks.mul_(rows).sum(-1, keepdim=True)


def _bracket(rows: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """Two weights (R, 1) each between which the smallest that counts lies, probably.

    What is far above the mean is summed, so that a few large ones cannot mislead the sample, which is taken of the
    rest. Keys of at most τ hold K τ at most together: where that is what may go, the smallest that counts is above τ.
    """
    size = rows.shape[-1]
    total = rows.sum(-1, keepdim=True)
    large = total * (LARGE / size)
    _, held = _larger(rows, large)
    places = torch.arange(1, SAMPLE + 1, dtype=torch.float64, device=rows.device).mul_(GOLDEN).frac_().mul_(size).long()
    sample = rows[:, places]  # spread evenly, in step with nothing that the text repeats
    sample = _descending(sample.masked_fill(sample > large, 0))
    sums, squares = sample.cumsum(-1), sample.square().cumsum(-1)
    share = ((least - held) / (total - held).clamp_min(1e-30)).clamp(0, 1)
    last = sample.shape[-1] - 1
    place = (sums < share * sums[:, -1:]).sum(-1, keepdim=True).clamp_max(last)
    before = squares.gather(-1, place)
    error = ((1 - share) ** 2 * before + share**2 * (squares[:, -1:] - before)).sqrt() * ERRORS
    first = (sums < share * sums[:, -1:] - error).sum(-1, keepdim=True)
    end = (sums < share * sums[:, -1:] + error).sum(-1, keepdim=True)
    low = torch.where(end <= last, sample.gather(-1, end.clamp_max(last)), 0).maximum((total - least) / size)
    high = torch.where(first > 0, sample.gather(-1, first.clamp_max(last)), large).maximum(low)
    concentrated = held >= least
    return torch.where(concentrated, large, low), torch.where(concentrated, torch.inf, high)
