"""Clark et al. 2019 (arXiv 1906.04341) on another model: where heads rest, what a weight there changes, neighbours.

Kinds of tokens: first (`[CLS]`), separator (`[SEP]`), punctuation, other. Arrays: (texts, …).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens.lens import Lens
from bertlens.survey import HeadStats, attention_gradients, mean_text, nearest_heads
from bertlens.survey.text_statistics import Lengths, text_statistics

from .finding import Finding, head_name

SINKS = ("first", "separator", "punctuation")
KINDS = [*SINKS, "other"]
GROUPS = 4  # of texts, that share none


class Clark:
    """Counts beside what `survey.head_stats` counts over a corpus of pairs, `stats`."""

    def __init__(self, lens: Lens, corpus: Sequence[tuple[str, str]], stats: HeadStats) -> None:
        self.lens, self.corpus, self.stats, self.table = lens, list(corpus), stats, stats.table()

    @property
    def strongest(self) -> Any:
        """For each statistic of where attention goes, the head with the largest share."""
        names = ["previous", "next", *SINKS]
        rows = [self.table.loc[self.table[name].idxmax()] for name in names]
        shares = [row[name] for row, name in zip(rows, names, strict=True)]
        columns = {"head": [_name(row) for row in rows], "share of its attention": shares}
        return pd.DataFrame(columns, index=names).round(2)

    def gradients(self, target: str, texts: int = 20) -> Finding:
        """How much each weight moves the closeness of a text to a sentence, in four groups of the first texts.

        `gradients`: a row a head, as of `survey.attention_gradients`. `relative` and `length` (groups, layers):
        |dL/dα| and ‖f(x)‖ of `[CLS]` ÷ those of all other tokens.
        """
        with torch.no_grad():
            goal = self.lens.trace(target).output.last_hidden_state.mean(1)[0].clone()

        def distance(output: Any) -> torch.Tensor:
            """1 − cosine of the text's mean vector and the target's: what the model is used for."""
            return 1 - torch.cosine_similarity(output.last_hidden_state.mean(1)[0], goal, dim=0)

        sample = self.corpus[:texts]
        groups = [sample[at::GROUPS] for at in range(GROUPS)]
        tables = [attention_gradients(self.lens, group, loss=distance, progress=False) for group in groups]
        pooled = pd.concat(tables).groupby(["layer", "head"], as_index=False).mean()
        pooled.attrs = {"objective": "closeness to a sentence", "texts": len(sample)}
        means = [x.groupby("layer")[KINDS].mean() for x in tables]
        relative = np.stack([(row["first"] / row["other"]).to_numpy() for row in means])
        length = np.stack([self._lengths(group) for group in groups])
        table = pd.DataFrame(
            {
                "weight on it": self.stats.values("first").mean(1).round(3),
                "|dL/dα|": [mean_text(layer, 3) for layer in relative.T],
                "‖f(x)‖": [mean_text(layer, 3) for layer in length.T],
                "|dL/dα| per unit of ‖f(x)‖": [mean_text(layer) for layer in (relative / length).T],
            }
        ).rename_axis("layer")
        note = f"[CLS] ÷ words, {len(sample)} texts in four groups [95 %, over groups]"
        return Finding(note, table, gradients=pooled, relative=relative, length=length)

    def neighbours(self, distances: np.ndarray, positions: Any) -> Finding:
        """Which heads are alike: how good the map is (`stress`, `even` without structure, `kept` nearest ones of `n`),
        and mean distance among heads that look at `[CLS]` most (`resting`) and to the others (`mixed`)."""
        nearest, how_far = nearest_heads(distances, 3)
        n, n_heads = len(distances), int(self.table["head"].nunique())
        stress, even, good = (positions.attrs[name] for name in ("stress", "even_stress", "nearest_kept"))
        in_layer = int((nearest[:, 0] // n_heads == np.arange(n) // n_heads).sum())
        sink = self.table["first"].to_numpy() > self.table["first"].median()
        pairs = np.where(np.eye(n, dtype=bool), np.nan, distances)
        resting, mixed = float(np.nanmean(pairs[np.ix_(sink, sink)])), float(np.nanmean(pairs[np.ix_(sink, ~sink)]))
        tops = [int(self.table[name].idxmax()) for name in ("previous", "next", "first")]
        names = [head_name(divmod(at, n_heads)) for at in range(n)]
        table = pd.DataFrame(
            {f"{k + 1}. nearest": [f"{names[nearest[i, k]]} ({how_far[i, k]:.2f})" for i in tops] for k in range(3)},
            index=[names[at] for at in tops],
        )
        note = (
            f"Stress {stress:.2f}; a perfect map has 0, one of {n} heads without any structure {even:.2f}.\n"
            f"The true nearest head is the nearest on the map for {good} of {n} heads. It is of the same layer for "
            f"{in_layer}, by chance for {n * (n_heads - 1) / (n - 1):.0f}.\nMean distance among the {sink.sum()} heads "
            f"that look at [CLS] most: {resting:.2f}; to the others: {mixed:.2f}."
        )
        return Finding(note, table, stress=stress, even=even, kept=good, n=n, resting=resting, mixed=mixed)

    def _lengths(self, group: Sequence[tuple[str, str]]) -> np.ndarray:
        """(layers,) mean ‖f(x)‖ of `[CLS]` ÷ that of all other tokens, over as many pairs as the gradients count."""
        sums, counting = np.zeros((2, self.table["layer"].nunique(), 2)), Lengths()
        for trace in self.lens.trace_batch(group):
            numbers = text_statistics(trace, counting)
            for at, kind in enumerate((0, 3)):
                assert numbers.lengths is not None
                norms = numbers.lengths[:, :, numbers.categories == kind].mean(1)  # (layers, tokens)
                row = np.stack([norms.sum(1).numpy(), np.full(len(norms), norms.shape[1])], 1)
                sums[at] += row * trace.n_tokens
        means: np.ndarray = sums[:, :, 0] / sums[:, :, 1]
        return means[0] / means[1]


def _name(row: Any) -> str:
    return head_name((int(row["layer"]), int(row["head"])))
