"""All heads of one trace, or of several, as a table with their gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...base.dataframes import pd
from ...base.generators import Steps, run_to_end
from ...errors import InputError
from ...trace.checks import check_finite
from ...trace.trace import Trace
from ..rows import Here, head_groups, passing
from .instance import target_agreement
from .names import GATES, LEAST_CONTENT, MARGIN, THRESHOLD, Scores, joined, label, labels, scores_of, threshold_at
from .patterns import PatternScores, measure_rows

LEAST_TRACES = 5  # from here on "instance" is a claim about tokens, and has to be tested
SIGNIFICANT = 0.01
SPREAD = 5 / 3  # longest to shortest text of a group, as from 0.75 n to 1.25 n


def classify(
    traces: Trace | Sequence[Trace],
    view: str = "full",
    threshold: float = THRESHOLD,
    margin: float = MARGIN,
    *,
    permutations: int = 199,
    seed: int = 0,
) -> pd.DataFrame:
    """The gate of every head at the length of the text, one row per head; DataFrame with the columns

    layer; head; tokens_least and tokens_most: how many tokens the text has, special ones counted
    label: as by `label`; labels: as by `labels`; one column per gate with its score

    view "full" counts all keys, "content" leaves the special tokens out and scales the rows anew: sinks hide much in
    the first. threshold, margin: as for `label`. "undefined" where a text has fewer than 8 content tokens.

    Several traces (of one model) add `texts`, how many; `share`, how often the label was given (0 to 1), and
    `runner_up`, the next most frequent label ('' if there is none). The gate columns are then means over the texts,
    `labels` all gates whose mean reaches the mean threshold. Labels depend on length, so texts of very different length
    are not counted together: a head has one row per group of texts, each the texts up to 5/3 as long as its shortest;
    texts with fewer than 8 content tokens are in groups of their own.

    From five traces on, "instance" counts only for heads whose tokens keep their far targets from text to text, by
    token and not by place (`target_agreement` of all traces with so many `permutations`, p ≤ 0.01); for the others, and
    where the texts cannot tell, its column is 0.
    Raises InputError for cross-attention, traces of different shape, none at all, and NaN in the attention.
    """
    several = not isinstance(traces, Trace)
    every_trace: list[Trace] = [traces] if isinstance(traces, Trace) else list(traces)
    _check(every_trace)
    shape = (every_trace[0].n_layers, every_trace[0].n_heads)
    by_trace = [head_scores(trace, view) for trace in every_trace]
    if len(every_trace) >= LEAST_TRACES:
        tested = target_agreement(every_trace, permutations, seed)
        significant = torch.from_numpy((tested["p"] <= SIGNIFICANT).to_numpy(copy=True)).reshape(shape)
        for scores in by_trace:
            scores["instance"] = torch.where(significant | scores["instance"].isnan(), scores["instance"], 0.0)
    tables = []
    for group in length_groups([(s.n, t.n_tokens) for s, t in zip(by_trace, every_trace, strict=True)]):
        lengths = [every_trace[at].n_tokens for at in group]
        tables.append(_table([by_trace[at] for at in group], min(lengths), max(lengths), threshold, margin))
    table = pd.concat(tables).sort_values(["layer", "head"], kind="stable").reset_index(drop=True)
    return table if several else table.drop(columns=["texts", "share", "runner_up"])


def length_groups(lengths: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Indices of texts that may be counted together, from short to long. lengths: (content tokens, tokens) of each.

    A group begins with the shortest text that is left and takes those up to 5/3 as long. Texts with too few content
    tokens for a label are grouped apart from the others.
    """
    order = sorted(range(len(lengths)), key=lambda at: (lengths[at][0] >= LEAST_CONTENT, lengths[at][1]))
    groups: list[list[int]] = []
    for at in order:
        content, tokens = lengths[at]
        if groups:
            first_content, first_tokens = lengths[groups[-1][0]]
            same_kind = (content >= LEAST_CONTENT) == (first_content >= LEAST_CONTENT)
            if same_kind and tokens <= SPREAD * first_tokens:
                groups[-1].append(at)
                continue
        groups.append([at])
    return groups


def head_scores(trace: Trace, view: str = "full", layers: Sequence[int] | None = None) -> Scores:
    """`scores` of all heads of a trace, or of these layers: gate -> float64 (L, H) on the CPU. Works layer by layer."""
    by_layer = [layer_scores(trace, layer, view) for layer in (range(trace.n_layers) if layers is None else layers)]
    return Scores({gate: torch.stack([scores[gate].cpu() for scores in by_layer]) for gate in GATES}, by_layer[0].n)


def layer_scores(trace: Trace, layer: int, view: str = "full") -> Scores:
    """`scores` of a layer's heads, (H,)."""
    return joined([group_scores(trace, layer, heads, view) for heads in head_groups(trace, layer)])


def group_scores(trace: Trace, layer: int, heads: slice, view: str = "full") -> Scores:
    """`scores` of some of a layer's heads."""
    return scores_of(run_to_end(pattern_steps(lambda: trace, layer, heads, view)))


@torch.no_grad()
def pattern_steps(here: Here, layer: int, heads: slice, view: str = "full") -> Steps[PatternScores]:
    """The patterns behind `group_scores`, with what the evidence needs; yields after some rows."""
    rows = ((first_key, alpha) for _, first_key, alpha in passing(here, layer, heads))
    return (yield from measure_rows(rows, here().special_mask, here().segments, view))


def _table(each: list[Scores], least: int, most: int, threshold: float, margin: float) -> pd.DataFrame:
    """All heads over texts of about one length."""
    mean = {gate: torch.stack([scores[gate] for scores in each]).nanmean(0) for gate in GATES}
    trace_labels = np.stack([label(scores, threshold, margin) for scores in each])
    layers, heads = np.indices(trace_labels.shape[1:])
    columns: dict[str, Any] = {"layer": layers.ravel(), "head": heads.ravel()}
    columns |= {"tokens_least": least, "tokens_most": most}
    votes = [_vote(trace_labels[:, layer, head], mean, layer, head) for layer, head in np.ndindex(layers.shape)]
    columns["label"] = [ranked[0][0] for ranked in votes]
    mean_threshold = sum(threshold_at(scores.n, threshold) for scores in each) / len(each)
    columns["labels"] = labels(mean, mean_threshold).ravel()
    columns |= {gate: mean[gate].ravel().numpy() for gate in GATES}
    columns["texts"] = len(each)
    columns["share"] = [ranked[0][1] / len(each) for ranked in votes]
    columns["runner_up"] = [ranked[1][0] if len(ranked) > 1 else "" for ranked in votes]
    return pd.DataFrame(columns)


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
    check_finite(trace, "its heads have no gates", InputError)
