"""Numbers of tokens on the units of an alignment."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .alignment import Unit


def members(units: Sequence[Unit], like: Tensor, mean: bool = False) -> Tensor:
    """(tokens, units) 1 where a token is a piece of the word, or its share of it; of words that follow each other."""
    start = units[0].pieces[0]
    found = like.new_zeros(units[-1].pieces[-1] + 1 - start, len(units))
    for number, unit in enumerate(units):
        found[[piece - start for piece in unit.pieces], number] = 1 / len(unit.pieces) if mean else 1
    return found


def spread(x: Tensor, dim: int, places: list[int | None]) -> Tensor:
    """Entries of one dimension at new places, NaN where there is none."""
    index = torch.tensor([0 if place is None else place for place in places], device=x.device)
    gaps = torch.tensor([place is None for place in places], device=x.device)
    found = x.index_select(dim, index)
    return found.masked_fill(gaps if dim == -1 else gaps[:, None], torch.nan)
