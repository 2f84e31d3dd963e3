"""All heads of one trace, or of several, as a table with their gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...trace import Trace
from .instance import target_agreement
from .names import GATES, MARGIN, THRESHOLD, label, labels, scores

if TYPE_CHECKING:
    import pandas as pd

LEAST_TRACES = 5  # from here on "instance" is a claim about tokens, and has to be tested
SIGNIFICANT = 0.01


def classify(
    traces: Trace | Sequence[Trace],
    view: str = "full",
    threshold: float = THRESHOLD,
    margin: float = MARGIN,
    *,
    permutations: int = 199,
    seed: int = 0,
) -> pd.DataFrame:
    """The gate of every head: DataFrame(layer, head, label, labels, one column per gate), one row per head.

    view "full" counts all keys, "content" leaves the special tokens out and scales the rows anew: sinks hide much in
    the first. threshold, margin: as for `label`. Several traces (of one model) add `share`, how often the label was
    given (0 to 1), and `runner_up`, the next most frequent label ('' if there is none); the gate columns are then means
    over the traces, `labels` all gates whose mean reaches the threshold. From five traces on, "instance" counts only
    for heads whose tokens keep their far targets from text to text (`target_agreement`, p ≤ 0.01); for the others its
    column is 0.
    "undefined" where a text has fewer than 4 tokens or 3 content tokens.
    Raises InputError for cross-attention, traces of different shape, none at all, and NaN in the attention.
    """
    import pandas as pd

    several = not isinstance(traces, Trace)
    every_trace: list[Trace] = [traces] if isinstance(traces, Trace) else list(traces)
    _check(every_trace)
    shape = (every_trace[0].n_layers, every_trace[0].n_heads)
    each = [head_scores(trace, view) for trace in every_trace]
    if len(every_trace) >= LEAST_TRACES:
        tested = target_agreement(every_trace, permutations, seed)
        kept = torch.from_numpy((tested["p"] <= SIGNIFICANT).to_numpy(copy=True)).reshape(shape)
        for scores in each:
            scores["instance"] = torch.where(kept | scores["instance"].isnan(), scores["instance"], 0.0)
    mean = {gate: torch.stack([scores[gate] for scores in each]).nanmean(0) for gate in GATES}
    trace_labels = np.stack([label(scores, threshold, margin) for scores in each])
    layers, heads = np.indices(shape)
    columns: dict[str, Any] = {"layer": layers.ravel(), "head": heads.ravel()}
    votes = [_vote(trace_labels[:, layer, head], mean, layer, head) for layer, head in np.ndindex(shape)]
    columns["label"] = [ranked[0][0] for ranked in votes]
    columns["labels"] = labels(mean, threshold).ravel()
    columns |= {gate: mean[gate].ravel().numpy() for gate in GATES}
    if several:
        columns["share"] = [ranked[0][1] / len(every_trace) for ranked in votes]
        columns["runner_up"] = [ranked[1][0] if len(ranked) > 1 else "" for ranked in votes]
    return pd.DataFrame(columns)


def head_scores(trace: Trace, view: str = "full") -> dict[str, Tensor]:
    """`scores` of all heads of a trace: gate -> float64 (L, H) on the CPU. Works layer by layer."""
    special, segments = trace.special_mask, trace.segments
    by_gate: dict[str, list[Tensor]] = {gate: [] for gate in GATES}
    for layer in range(trace.n_layers):
        for gate, values in scores(trace.attention(layer), special, segments, view=view).items():
            by_gate[gate].append(values.cpu())
    return {gate: torch.stack(values) for gate, values in by_gate.items()}


def _vote(labels: np.ndarray, mean: dict[str, Tensor], layer: int, head: int) -> list[tuple[str, int]]:
    """Labels with their counts, the most frequent first, equal ones by mean score."""

    def rank(item: tuple[str, int]) -> tuple[int, float]:
        return item[1], float(mean[item[0]][layer, head]) if item[0] in mean else 0.0

    return sorted(Counter(str(name) for name in labels).items(), key=rank, reverse=True)


def _check(traces: list[Any]) -> None:
    if not traces or not all(isinstance(trace, Trace) for trace in traces):
        raise InputError("classify takes a trace or a list of traces")
    for trace in traces:
        check_gates(trace)
    if len({(trace.n_layers, trace.n_heads) for trace in traces}) > 1:
        raise InputError("these traces come from different models: their layers and heads do not match")


def check_gates(trace: Trace) -> None:
    """Raises InputError for a trace without gates: they are patterns of tokens among themselves, and NaN has none."""
    if trace.key_encoding is not None:
        raise InputError("cross-attention has no gates: its queries and keys are different tokens")
    if trace.nan_layer is not None:
        raise InputError(f"the model computed NaN or Inf, from layer {trace.nan_layer} on: its heads have no gates")
