"""Explorer: header, atlas, head view and the tabs below them, linked, in one output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..trace import Trace
from .base import LensWidget
from .corpus import Corpus
from .tabs import TABS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..survey.headstats import HeadStats
    from ..survey.treebank import Sentence


class Explorer(LensWidget):
    """All views of a trace, linked. With `stats` (and `distances`, `relations`, `sentence`) of a survey, a tab for the
    corpus too.

    Arguments: LensWidget, SurveyView.
    """

    PARTS = ("header", "atlas", "head")

    def __init__(
        self,
        trace: Trace,
        *,
        stats: HeadStats | None = None,
        distances: np.ndarray | None = None,
        relations: pd.DataFrame | None = None,
        sentence: Sentence | None = None,
        **selection: Any,
    ) -> None:
        corpus = None if stats is None else Corpus(stats, distances, relations, sentence)
        super().__init__(trace, corpus=corpus, **selection)

    def _parts(self) -> tuple[str, ...]:
        """With all tabs, those registered since included."""
        return (*self.PARTS, *TABS)
