"""SurveyView: every head over a corpus, the map of heads, syntax, and how typical the sentence at hand is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..trace.trace import Trace
from .answers.survey import Corpus
from .widget import LensWidget

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..survey.headstats import HeadStats
    from ..survey.treebank import Sentence


class SurveyView(LensWidget):
    """A corpus's statistics beside one of its model's traces; its table and map choose heads.

    stats: HeadStats of `bl.survey.head_stats`. distances: (L·H, L·H) of `head_distances`, for the map. relations: the
    table of `relation_scores` or `best_heads`, for the best head per relation. sentence: a treebank's, for its gold
    arcs beside a head's, where the trace is `lens.trace_words(sentence.words)`. Other arguments: LensWidget. The same
    as a tab of the Explorer: trace.explore(stats=stats, distances=distances, relations=relations, sentence=sentence).
    Raises InputError for statistics of another model: of another shape, or of other weights.
    """

    PARTS = ("survey",)

    def __init__(
        self,
        trace: Trace,
        stats: HeadStats,
        distances: np.ndarray | None = None,
        relations: pd.DataFrame | None = None,
        sentence: Sentence | None = None,
        **selection: Any,
    ) -> None:
        corpus = Corpus(stats, distances, relations, sentence)
        super().__init__(trace, corpus=corpus, **selection)
