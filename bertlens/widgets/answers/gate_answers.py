"""What kind of gate each head is, and the cells that made it one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor
from typing_extensions import TypedDict

from ...base.limits import within
from ...base.wire import Float32, Uint8
from ...measures import gates
from ...measures.gates.classify import pattern_steps
from ...measures.gates.names import scores_of
from ...measures.gates.patterns import PatternScores
from ...measures.rows import blocks
from ...trace.trace import Trace
from ..messages.turns import PATIENCE, ask_again, by_heads


class GateViews(TypedDict):
    full: Annotated[Any, list[list[str]]]  # (L, H)
    content: Annotated[Any, list[list[str]]]


class GateFields(TypedDict):
    names: list[str]  # of the scores
    threshold: float  # as asked
    margin: float
    labels: GateViews
    content_tokens: int
    least: float | None  # what a score has to reach at this length, None where no score gives a label


class GateScores(TypedDict):
    full: Float32  # (L, H, names)
    content: Float32


class EvidenceFields(TypedDict):
    layer: int
    head: int
    gate: str
    pattern: str
    detail: str
    mass: float | None


class EvidenceArrays(TypedDict):
    cells: Uint8  # eight to a byte (S · S, row by row)


def gate_labels(
    trace: Trace, threshold: float, margin: float, layer: int | None = None
) -> tuple[GateFields, GateScores]:
    """Labels and scores of all heads in both views, at the length of this text.

    layer: of this one alone, L = 1, or, where that takes long, "again": see turns.by_heads.
    """
    if layer is not None and not all(_scored(trace, view, layer, PATIENCE) for view in gates.VIEWS):
        return ask_again()
    content = int((~trace.special_mask).sum())
    bound = gates.threshold_at(content, threshold)
    layers = None if layer is None else [layer]
    full, words = (gate_scores(trace, view, layers) for view in gates.VIEWS)
    labels = [gates.label(scores, threshold, margin) for scores in (full, words)]
    return {
        "names": list(gates.GATES),
        "threshold": threshold,
        "margin": margin,
        "labels": {"full": labels[0], "content": labels[1]},
        "content_tokens": content,
        "least": bound if math.isfinite(bound) else None,
    }, {"full": _scores_array(full), "content": _scores_array(words)}


def _scores_array(scores: gates.Scores) -> Tensor:
    """(L, H, G) float32"""
    return torch.stack(list(scores.values()), -1).float()


def _gate_scores(trace: Trace) -> dict[tuple[str, int], gates.Scores]:
    return trace.kept("gate scores", dict[tuple[str, int], gates.Scores])


def _gate_patterns(trace: Trace) -> dict[tuple[str, int], list[PatternScores]]:
    """Of each head, behind the scores."""
    return trace.kept("gate patterns", dict[tuple[str, int], list[PatternScores]])


def gate_scores(trace: Trace, view: str, layers: Sequence[int] | None = None) -> gates.Scores:
    """`gates.head_scores`, each layer's computed once: they do not depend on thresholds, which a reader moves."""
    numbers = range(trace.n_layers) if layers is None else layers
    for layer in numbers:
        _scored(trace, view, layer)
    return gates.joined([_gate_scores(trace)[view, layer] for layer in numbers])


def _scored(trace: Trace, view: str, layer: int, patience: float = math.inf) -> bool:
    """Whether a layer's scores are kept, once that has been tried for so many seconds."""
    memo = _gate_scores(trace)
    if (view, layer) not in memo:
        groups = by_heads(trace, layer, lambda here, heads: pattern_steps(here, layer, heads, view), view, patience)
        if groups is None:
            return False
        scores = gates.joined([scores_of(group) for group in groups])
        if within("saved", trace.n_tokens):  # a page asks for the evidence of every head
            _gate_patterns(trace)[view, layer] = [each for group in groups for each in group.by_map()]
        memo[view, layer] = gates.Scores({gate: values[None].cpu() for gate, values in scores.items()}, scores.n)
    return True


def clearest_gate(trace: Trace, layer: int, head: int, view: str) -> str:
    """The gate with a head's highest score."""
    scores = {name: float(score[0, head]) for name, score in gate_scores(trace, view, [layer]).items()}
    return max(scores, key=scores.__getitem__)


def gate_evidence(trace: Trace, layer: int, head: int, gate: str, view: str) -> tuple[EvidenceFields, EvidenceArrays]:
    """The cells that made a head's score for a gate."""
    heads = slice(head, head + 1)
    evidence = gates.evidence_of_rows(
        lambda: ((start, key, weights[0]) for start, key, weights in blocks(trace, layer, heads)),
        trace.special_mask,
        gate,
        trace.segments,
        view=view,
        patterns=known[head] if (known := _gate_patterns(trace).get((view, layer))) else None,
    )
    return {
        "layer": layer,
        "head": head,
        "gate": gate,
        "pattern": evidence.pattern,
        "detail": evidence.detail,
        "mass": evidence.mass,
    }, {"cells": np.packbits(evidence.cells.cpu().numpy())}
