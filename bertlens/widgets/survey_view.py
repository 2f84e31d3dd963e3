"""SurveyView: every head over a corpus, the map of heads, syntax, and how typical the sentence at hand is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..errors import InputError
from ..measures import norms
from ..trace import Trace
from ..wire import json_safe
from .base import LensWidget
from .questions import Answer, packed

if TYPE_CHECKING:
    import pandas as pd

    from ..survey.headstats import HeadStats


class Corpus:
    """What a view knows of a corpus: statistics of its heads and, where given, their distances and their syntax."""

    def __init__(self, stats: HeadStats, distances: np.ndarray | None, relations: pd.DataFrame | None) -> None:
        from ..survey.headstats import HeadStats

        if not isinstance(stats, HeadStats):
            raise InputError("stats are what bl.survey.head_stats gives (or HeadStats.load reads)")
        self.stats, self.relations = stats, relations
        layers, heads = stats.shape
        if distances is not None and np.shape(distances) != (layers * heads, layers * heads):
            raise InputError(
                f"distances of these statistics are ({layers * heads}, {layers * heads}), see head_distances"
            )
        self.distances = distances

    def check(self, trace: Trace) -> None:
        """Raises InputError for a trace of another shape than the statistics."""
        (layers, heads), shape = self.stats.shape, (trace.n_layers, trace.n_heads)
        if (layers, heads) != shape:
            raise InputError(
                f"the statistics are of {layers} layers x {heads} heads, the trace has {shape[0]} x {shape[1]}: survey "
                "the model that you look at"
            )

    def answer(self, trace: Trace) -> Answer:
        """Everything for the page: see js/src/views/survey.tsx."""
        from ..survey.distances import head_map
        from ..survey.statistics import NAMES, text_statistics

        stats = self.stats
        layers, heads = stats.shape
        by = ["weight", "norm"] if "norm.text" in stats.sums and norms.available(trace) else ["weight"]
        here = text_statistics(trace)
        counted = torch.where(here.denominators > 0, here.denominators, torch.nan)  # 0: the text has no such tokens
        arrays: dict[str, Any] = {}
        for which in by:
            arrays[f"values.{which}"] = np.stack([stats.values(name, which) for name in NAMES]).astype(np.float32)
            arrays[f"spreads.{which}"] = np.stack([stats.spread(name, which) for name in NAMES]).astype(np.float32)
            arrays[f"sentence.{which}"] = (here.numerators[which] / counted[:, None, None]).float()
        gates = stats.gates()
        if self.distances is not None:
            arrays["map"] = head_map(self.distances, heads)[["x", "y"]].to_numpy(np.float32)
        about = stats.provenance
        fields = {
            "names": list(NAMES),
            "by": by,
            "texts": stats.n_texts,
            "tokens": stats.n_tokens,
            "about": f"{about.get('model')}, corpus {stats.corpus:016x}"[:80],
            "gates": gates["label"].to_numpy().reshape(layers, heads),
            "shares": gates["share"].to_numpy().reshape(layers, heads),
            "relations": self._best_heads(),
        }
        return packed(arrays, json_safe(fields))

    def _best_heads(self) -> list[dict[str, Any]]:
        """The best head of each relation in its better direction, most frequent relations first."""
        if self.relations is None:
            return []
        best = self.relations.sort_values("accuracy", ascending=False).drop_duplicates("relation")
        columns = ["relation", "direction", "layer", "head", "accuracy", "offset_accuracy", "n"]
        rows: list[dict[str, Any]] = best.sort_values("n", ascending=False)[columns].to_dict("records")
        return rows


class SurveyView(LensWidget):
    """A corpus's statistics beside one of its model's traces; its table and map choose heads.

    stats: HeadStats of `bl.survey.head_stats`. distances: (L·H, L·H) of `head_distances`, for the map. relations: the
    table of `relation_scores`, for the best head per relation. Other arguments: LensWidget. The same as a tab of the
    Explorer: trace.explore(stats=stats, distances=distances, relations=relations).
    Raises InputError for statistics of another model's shape.
    """

    PANELS = ("survey",)

    def __init__(
        self,
        trace: Trace,
        stats: HeadStats,
        distances: np.ndarray | None = None,
        relations: pd.DataFrame | None = None,
        **selection: Any,
    ) -> None:
        corpus = Corpus(stats, distances, relations)
        super().__init__(trace, corpus=corpus, **{"view": "survey", **selection})
