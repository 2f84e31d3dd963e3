"""Some examples of a task as the model takes them at once."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..text.encoding import Encoding


@dataclass(frozen=True)
class Batch:
    """B examples and the model's inputs: B texts, of pairs that are read apart 2 B, the first ones first."""

    rows: list[int]
    encodings: list[Encoding]
    inputs: dict[str, Tensor]

    @property
    def texts(self) -> list[int]:
        """The row of each input."""
        return self.rows * (len(self.encodings) // len(self.rows))
