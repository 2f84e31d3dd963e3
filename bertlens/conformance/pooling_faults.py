"""Faults of the pooling: other vectors of one text, of states that are kept, so that they cost no forward pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .hypothesis import POOLING, RIGHT, Fault


@dataclass(frozen=True, eq=False)
class TextStates:
    """What a pass left of one text of S tokens, of which P more are padding."""

    states: Tensor  # (S, D) the last hidden ones
    before: Tensor | None  # (S, D) of the layer before last
    embedded: Tensor | None  # (S, D) the embeddings' output
    padding: Tensor | None  # (P, D) last states of its padding, None in a run without
    special: Tensor  # (S,) bool
    own: Callable[[Tensor, Tensor], Tensor]  # the encoder's pooling of (1, S, D) and (1, S)
    pooler: Tensor | None  # (D,) the pooler's output
    left_out: int = 0  # tokens of the prompt that the encoder does not pool

    def right(self, states: Tensor | None = None) -> Tensor:
        """(D,) as the encoder pools."""
        states = self.states if states is None else states
        keep = torch.ones(1, len(states), dtype=torch.bool, device=states.device)
        keep[:, : self.left_out] = False
        return self.own(states[None], keep)[0]


def _weighted(text: TextStates) -> Tensor:
    weights = torch.arange(1, len(text.states) + 1, device=text.states.device, dtype=text.states.dtype)
    return (weights[:, None] * text.states).sum(0) / weights.sum()


def _first_content(text: TextStates) -> Tensor:
    return text.states[min(1, len(text.states) - 1)]


def _content(text: TextStates) -> Tensor | None:
    return text.states[~text.special].mean(0) if bool((~text.special).any()) else torch.zeros_like(text.states[0])


def _with_padding(text: TextStates) -> Tensor | None:
    return None if text.padding is None else torch.cat([text.states, text.padding]).mean(0)


def _last_column(text: TextStates) -> Tensor | None:
    return None if text.padding is None else torch.cat([text.states, text.padding])[-1]


def _median(text: TextStates) -> Tensor:
    return text.states.median(0).values


def _of(name: str) -> Callable[[TextStates], Tensor | None]:
    return lambda text: None if getattr(text, name) is None else text.right(getattr(text, name))


def _first_and_last(text: TextStates) -> Any:
    return None if text.embedded is None else (text.right(text.embedded) + text.right()) / 2


FAULTS = (
    Fault(RIGHT, POOLING, TextStates.right),
    Fault("mean of all tokens", POOLING, lambda text: text.states.mean(0)),
    Fault("first token", POOLING, lambda text: text.states[0]),
    Fault("token behind the first", POOLING, _first_content),
    Fault("last token", POOLING, lambda text: text.states[-1]),
    Fault("maximum over tokens", POOLING, lambda text: text.states.amax(0)),
    Fault("minimum over tokens", POOLING, lambda text: text.states.amin(0)),
    Fault("median over tokens", POOLING, _median),
    Fault("mean weighted by position", POOLING, _weighted),
    Fault("special tokens not pooled", POOLING, _content),
    Fault("layer before last", POOLING, _of("before")),
    Fault("embeddings alone", POOLING, _of("embedded")),
    Fault("mean of first and last layer", POOLING, _first_and_last),
    Fault("the pooler's output", POOLING, lambda text: text.pooler),
    Fault("sum over tokens", POOLING, lambda text: text.states.sum(0)),
    Fault("sum by √n", POOLING, lambda text: text.states.sum(0) / len(text.states) ** 0.5),
    Fault("padding pooled too", POOLING, _with_padding),
    Fault("last column, padding too", POOLING, _last_column),
)
