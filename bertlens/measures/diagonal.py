"""Diagonals of a block of a map, some of whose cells may lie outside of it."""

from __future__ import annotations

import torch
from torch import Tensor


class Diagonal:
    """The cells (i, i + offset) of a block (..., R, C)."""

    def __init__(self, block: Tensor, offset: int):
        rows = torch.arange(block.shape[-2], device=block.device)
        inside = (rows + offset >= 0) & (rows + offset < block.shape[-1])
        self.block, self.rows, self.columns = block, rows[inside], rows[inside] + offset

    def get(self) -> Tensor:
        """(..., R), 0 outside."""
        found = self.block.new_zeros(self.block.shape[:-1])
        found[..., self.rows] = self.block[..., self.rows, self.columns]
        return found

    def clear(self) -> None:
        """Set to 0."""
        self.block[..., self.rows, self.columns] = 0
