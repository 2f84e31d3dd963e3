"""Words taken out of a text's reading: seen by no head, and left out of the pooling."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..errors import ModelError
from ..run.changes import Hide
from ..run.forward import output_of
from ..run.interventions import Run
from .parts import Side

TOKENS = 768  # of a batch: so many rows times the text's length, at most


@torch.no_grad()
def without_words(side: Side) -> Iterator[Tensor]:
    """(n, E) batches of W + 1 vectors of a text: with all its words, and without each. See `Similarity.effects`."""
    trace, encoder = side.trace, side.lens.sentences
    if not trace.has_neurons:
        raise ModelError(trace.why_no_neurons)
    assert trace.model is not None
    sets: list[list[int]] = [[], *side.words]
    size = max(1, TOKENS // trace.n_tokens)
    for start in range(0, len(sets), size):
        batch = sets[start : start + size]
        rows = [tuple(map(Hide, gone)) for gone in batch]
        states = output_of(trace.model, trace.inputs(len(batch)), Run(rows)).last_hidden_state
        keep = side.keep.repeat(len(batch), 1)
        for row, gone in zip(keep, batch, strict=True):
            row[gone] = False
        yield encoder.vectors(states, keep)
