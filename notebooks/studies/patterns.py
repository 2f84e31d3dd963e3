"""Texts and models for experiments with patterns: shuffled words; a model that is not told of positions or types."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

import torch

from bertlens.lens import Lens


def untold(lens: Lens, *, types: bool = False, positions: bool = False) -> Lens:
    """A lens on a copy of the model that is not told in which sentence a token is, or at which position."""
    model = copy.deepcopy(lens.model)
    embeddings: Any = model.embeddings
    with torch.no_grad():
        if types:
            table = embeddings.token_type_embeddings.weight
            table[1] = table[0]
        if positions:
            table = embeddings.position_embeddings.weight
            table[:] = table[:32].mean(0)
    return Lens(model, lens.tokenizer)


def shuffled(pairs: Sequence[tuple[str, str]], seed: int = 0) -> list[tuple[str, str]]:
    """The pairs with the words of each sentence in another order."""
    order = random.Random(seed)

    def mixed(sentence: str) -> str:
        words = sentence.rstrip(".").lower().split()
        order.shuffle(words)
        return " ".join(words) + "."

    return [(mixed(a), mixed(b)) for a, b in pairs]
