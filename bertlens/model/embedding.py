"""What makes one vector of a text's last hidden states, and a number of two vectors: the mean and its cosine here."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

SIMILARITIES = {  # name of a similarity function -> what its number is called
    "cosine": "cosine similarity",
    "dot": "dot product",
    "euclidean": "negative Euclidean distance",
    "manhattan": "negative Manhattan distance",
}


class Embedder(Protocol):
    """How a model makes a vector of E numbers of a text of S tokens, whose states are D wide.

    The states are the last hidden ones, of a sparse encoder the logits over the vocabulary.
    """

    output_name: str  # of the states in the model's output
    note: str  # beside its numbers, "" where they are the model's own

    @property
    def function(self) -> str:
        """The similarity function, one of SIMILARITIES."""
        ...

    def vector(self, states: Tensor) -> Tensor:
        """(E,) of states (S, D). Gradients pass."""
        ...

    def compare(self, a: Tensor, b: Tensor) -> Tensor:
        """0-d similarity of two vectors (E,). Gradients pass."""
        ...

    def why_no_sum(self, function: str) -> str:
        """Why a similarity, by its name, is no sum over one text's tokens; "" where it is."""
        ...

    def rows(self, states: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        """(S, D) float64 and a constant: how each token's state is read, so that all together give direction · vector.

        direction: (E,). Gains and norms are kept as they are for these states.
        """
        ...


class Means:
    """The mean of all tokens, template ones included, compared by the cosine (Reimers and Gurevych 2019)."""

    output_name, function = "last_hidden_state", "cosine"

    def __init__(self, note: str = "mean of all tokens"):
        self.note = note

    def vector(self, states: Tensor) -> Tensor:
        return states.mean(0)

    def compare(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.cosine_similarity(a, b, dim=0)

    def why_no_sum(self, function: str) -> str:
        return ""

    def rows(self, states: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        direction = direction.double()
        return (direction / len(states)).expand(len(states), -1), direction.new_zeros(())
