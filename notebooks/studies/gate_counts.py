"""Gates of heads, counted over short and long texts: after Bonino, Ghione and Cirrincione 2025 (arXiv 2502.12033).

Names of gates are theirs, scores and thresholds are bertlens' own. Arrays are (texts, …).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from bertlens.lens import Lens
from bertlens.measures import gates, geometry, norms
from bertlens.survey import mean_text
from bertlens.trace.trace import Trace

from .finding import Count, Finding, lengths

SHOWN = ["directional", "open", "forward contextual", "backward contextual"]  # the paper's figures 3 to 5
BOTH_WAYS = {"forward contextual", "backward contextual"}
INSIDE = slice(1, 5)  # layers 1 to 4 of six


def labels(traces: Sequence[Trace], view: str = "full") -> np.ndarray:
    """(texts, layers, heads) the label of every head in every text."""
    return np.stack([gates.label(gates.head_scores(trace, view)) for trace in traces])


def majority(found: np.ndarray) -> np.ndarray:
    """(layers · heads,) the most frequent label over texts."""
    at = np.ndindex(found.shape[1:])
    return np.array([Counter(found[:, layer, head]).most_common(1)[0][0] for layer, head in at])


class Gates:
    """Counts over short texts and long ones, of a model of six layers."""

    def __init__(self, short: Sequence[Trace], long: Sequence[Trace]) -> None:
        self.short, self.long = list(short), list(long)
        self.labels_short, self.labels_long = labels(short), labels(long)

    def __repr__(self) -> str:
        return f"short: {lengths(self.short)}\nlong: {lengths(self.long)}"

    @Count
    def vector_lengths(self) -> Finding:
        """Are values shorter than queries and keys? (texts,) `values_shortest`: in how many heads; `used`: the longest
        vector ÷ its bound, a row for each text and head."""
        sample = self.short[::4]
        used = pd.DataFrame(
            [
                {kind: float(hist.norms[kind].max() / hist.bounds[kind]) for kind in ("query", "key", "value")}
                for trace in sample
                for layer in range(trace.n_layers)
                for head in range(trace.n_heads)
                for hist in [geometry.norm_histograms(trace, layer, head)]
            ]
        )
        shortest = [_values_shortest(trace) for trace in self.short]
        note = (
            f"{lengths(self.short)}: values are the shortest on average in {mean_text(shortest, 1)} of 72 heads.\n"
            f"The longest vector of a text and head, as a share of its bound ({lengths(sample)}, 72 heads):"
        )
        table = used.describe().loc[["min", "50%", "max"]].round(2)
        return Finding(note, table, used=used, values_shortest=shortest)

    @Count
    def closed(self) -> Finding:
        """Share of heads that are closed, (texts,): `short` and `long` of layers 1 to 4, `outer` of layers 0 and 5."""
        short, long = ((labels == "closed")[:, INSIDE].mean((1, 2)) for labels in (self.labels_short, self.labels_long))
        outer = (self.labels_short == "closed")[:, [0, 5]].mean((1, 2))
        half = [
            int(((labels == "closed")[:, INSIDE].mean(2) >= 0.5).all(1).sum())
            for labels in (self.labels_short, self.labels_long)
        ]
        note = (
            f"Closed, of the heads of layers 1 to 4: {mean_text(short)} in {lengths(self.short)}, "
            f"{mean_text(long)} in {lengths(self.long)}.\n"
            f"Of the heads of layers 0 and 5: {mean_text(outer)} in the short texts.\n"
            f"At least half of the heads are closed in each of layers 1 to 4 in {half[0]} short texts, {half[1]} long."
        )
        return Finding(note, short=short, long=long, outer=outer)

    @Count
    def found(self) -> Finding:
        """Where the paper's gates are: `previous` (texts,) score of L0·H2 as backward contextual, `with_gate` share of
        short texts that have a gate, `last` share of directional labels in the last layer, `two_ways` (short, long)."""
        previous = [float(gates.head_scores(trace)["backward contextual"][0, 2]) for trace in self.short]
        n = len(self.short)
        has = {gate: int((self.labels_short == gate).any((1, 2)).sum()) for gate in SHOWN}
        directional = [labels == "directional" for labels in (self.labels_short, self.labels_long)]
        top_layer = [float(labels[:, -1].sum() / labels.sum()) for labels in directional]
        two_ways = [_two_ways(traces) for traces in (self.short, self.long)]
        note = (
            f"L0·H2: score of backward contextual {mean_text(previous, 3)}.\n"
            f"Short texts with a gate: {', '.join(f'{gate} {count} of {n}' for gate, count in has.items())}.\n"
            f"Directional labels in the last layer: {top_layer[0]:.0%} of {directional[0].sum()} in the short texts, "
            f"{top_layer[1]:.0%} of {directional[1].sum()} in the long ones; spread evenly it would be 17 %.\n"
            f"Maps that are forward and backward contextual: {two_ways[0]} of {n * 144} in the short texts, "
            f"{two_ways[1]} of {len(self.long) * 144} in the long ones (72 heads, with and without special tokens)."
        )
        with_gate = {gate: count / n for gate, count in has.items()}
        return Finding(note, previous=previous, with_gate=with_gate, last=top_layer, two_ways=two_ways)

    @Count
    def given_by_cls(self) -> Finding:
        """‖f(x)‖ at `[CLS]` ÷ mean over words, (texts, 2): median of closed heads, of all others; `short`, `long`."""
        sets = ((self.short, self.labels_short), (self.long, self.labels_long))
        short, long = (np.array([given_at_cls(*x) for x in zip(*pair, strict=True)]) for pair in sets)
        note = "\n".join(
            f"{lengths(traces)}: in closed heads [CLS] gives {mean_text(values[:, 0], 3)} of what a word gives, "
            f"in other heads {mean_text(values[:, 1], 3)}."
            for values, traces in ((short, self.short), (long, self.long))
        )
        return Finding(note, short=short, long=long)

    @Count
    def lasting(self) -> Finding:
        """Share of heads whose most frequent label is the `same` in the other half, and in texts of `other` length."""
        halves = float((majority(self.labels_short[::2]) == majority(self.labels_short[1::2])).mean())
        lengths_agree = float((majority(self.labels_short) == majority(self.labels_long)).mean())
        stable = gates.classify(self.short)
        table = stable.groupby(["tokens_least", "tokens_most", "label"])["share"].agg(["count", "mean"]).round(2)
        note = (
            f"Half of the {lengths(self.short)} against the other half: {halves:.0%} of 72 heads have the same label.\n"
            f"The short texts against {lengths(self.long)}: {lengths_agree:.0%}."
        )
        return Finding(note, table, same=halves, other=lengths_agree)


def instances(lens: Lens, pairs: Sequence[tuple[str, str]], found: np.ndarray) -> Finding:
    """Do heads keep their far targets by token? In seven texts that share a sentence, at different places.

    found: (texts, layers, heads) labels of single texts. Numbers: `medians`, `by_token` heads with p ≤ .01, `labelled`
    heads, `sharp` share of single texts' labels.
    """
    shared = pairs[0][1]
    moved = lens.trace_batch([f"{' '.join(pairs[at])} {shared} {pairs[-at][at % 2]}" for at in range(1, 8)])
    agreement = gates.target_agreement(moved)
    medians = agreement[["agreement", "chance", "chance_by_place"]].median()
    by_token = int((agreement["p"] <= 0.01).sum())
    labelled = int((gates.classify(moved)["label"] == "instance").sum())
    sharp = float((found == "instance").mean())
    note = (
        f"{lengths(moved)} with one sentence in all of them. In the median head {medians['agreement']:.0%} of the "
        f"tokens keep their far target; {medians['chance']:.0%} if shuffled, "
        f"{medians['chance_by_place']:.0%} by place.\n"
        f"More often than both in {by_token} heads (p ≤ .01; by chance in 1 of 72). Labelled instance: {labelled}.\n"
        f"Sharp enough for the label in a single short text: {sharp:.2%} of the heads."
    )
    return Finding(note, medians=medians, by_token=by_token, labelled=labelled, sharp=sharp)


def _values_shortest(trace: Trace) -> int:
    mean = {
        kind: torch.stack([getattr(trace, kind)(layer).norm(dim=-1).mean(-1) for layer in range(trace.n_layers)])
        for kind in ("query", "key", "value")
    }
    return int(((mean["value"] < mean["query"]) & (mean["value"] < mean["key"])).sum())


def _two_ways(traces: Sequence[Trace]) -> int:
    """How many heads are forward and backward contextual in one map, over texts, with all keys and with words alone."""
    labels_of = [[gates.labels(gates.head_scores(trace, view)) for view in ("full", "content")] for trace in traces]
    return sum(set(names) >= BOTH_WAYS for views in labels_of for view in views for names in view.ravel())


def given_at_cls(trace: Trace, found: np.ndarray) -> list[float]:
    """‖f(x)‖ at `[CLS]` ÷ mean over words: median of the closed heads, and of all others; found: labels of the text."""
    sizes = torch.stack([norms.transformed_norm(trace, layer) for layer in range(trace.n_layers)])  # (L, H, S)
    ratio = (sizes[..., 0] / sizes[..., ~trace.special_mask].mean(-1)).numpy()
    return [float(np.median(ratio[found == "closed"])), float(np.median(ratio[found != "closed"]))]
