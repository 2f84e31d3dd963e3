"""The largest of some numbers, in an order that no processor and no ties change."""

from __future__ import annotations

import torch
from torch import Tensor


def largest(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row, places and values (..., k), of equal ones the first, NaN last.

    rows: (..., n) numbers. As a stable sort has them, in a tenth of its time.
    """
    numbers = rows.nan_to_num(-torch.inf, torch.inf, -torch.inf)
    places = numbers.topk(k).indices
    if k:  # of equals at the end topk takes any
        floor = numbers.gather(-1, places).amin(-1, keepdim=True)
        tied = (numbers >= floor).sum(-1) > k
        places[tied] = numbers[tied].sort(dim=-1, descending=True, stable=True).indices[..., :k]
    places = places.sort(-1).values
    order = numbers.gather(-1, places).sort(dim=-1, descending=True, stable=True).indices
    places = places.gather(-1, order)
    return places, rows.gather(-1, places)
