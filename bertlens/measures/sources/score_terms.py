"""What a family adds to its scores beside q·k: parts of a score that come from no vector of the stream."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ...base.vocabulary.constants import SCORE_TERMS
from ...run.attention_weights import bias_terms, biased, mask_rows
from ...run.score_bias import POSITION, ScoreBias
from ...trace.trace import Trace


def term_names(trace: Trace, layer: int) -> tuple[str, ...]:
    """Of SCORE_TERMS those that a layer's scores have."""
    bias = trace.record.layers[layer].bias
    if bias is None:
        return ()
    return tuple(map(term_kind, bias.terms)) if isinstance(bias, ScoreBias) else (SCORE_TERMS[0],)


def score_terms(trace: Trace, layer: int, head: int, queries: slice) -> dict[str, Tensor]:
    """term -> (R, S) float64 what it adds to the scaled products of some queries of a head; 0 where a key is hidden.

    Terms are those of SCORE_TERMS that the layer has.
    """
    record = trace.record.layers[layer]
    if record.bias is None:
        return {}
    hidden = mask_rows(record, head, queries) == -torch.inf
    parts = bias_terms(replace(record, mask=None), head, queries, torch.float64)
    return {term_kind(name): part.double().masked_fill(hidden, 0) for name, part in parts.items()}


def unnamed(trace: Trace, layer: int) -> bool:
    """Whether a mask adds finite numbers to scores, which are no term of `score_terms`."""
    return biased(replace(trace.record.layers[layer], bias=None))


def term_kind(term: str) -> str:
    """Of SCORE_TERMS the name of a term of `ScoreBias`: "position" is the embedding's."""
    return SCORE_TERMS[0] if term == POSITION else term
