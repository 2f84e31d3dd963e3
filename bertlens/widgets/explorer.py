"""Explorer: header, atlas, head view and the tabs below them, linked, in one output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import check_indices
from ..trace.trace import Trace
from .answers.survey import Corpus
from .first_head import opening
from .tabs import TABS
from .widget import LensWidget

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..survey.headstats import HeadStats
    from ..survey.treebank import Sentence


class Explorer(LensWidget):
    """All views of a trace, linked. With `stats` (and `distances`, `relations`, `sentence`) of a survey, a tab for the
    corpus too.

    Without `layer` and `head` it opens on the head with the highest gate score other than open, closed and self, and,
    without `query` and `key`, at its largest cell between content tokens; of a text of more than 128 tokens on a head
    of the first layer, of more than 512 on its first one.

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
        super().__init__(trace, corpus=corpus, **_opened(trace, selection))

    def _parts(self) -> tuple[str, ...]:
        """With all tabs, those registered since included."""
        return (*self.PARTS, *TABS)


def _opened(trace: Trace, selection: dict[str, Any]) -> dict[str, Any]:
    """A selection with the head to open on; what was given wins, and what is wrong with it is said by who checks it."""
    shown = trace.maps.get(selection.get("map", next(iter(trace.maps))))
    if shown is None or {"layer", "head"} & selection.keys():
        return selection
    included = {name: selection.get(f"include_{name}") for name in ("layers", "heads")}
    for name, size in (("layers", shown.n_layers), ("heads", shown.n_heads)):
        if included[name] is not None:
            included[name] = check_indices(included[name], size, f"include_{name}")
    opened = opening(shown, **included)
    if {"query", "key"} & selection.keys():
        opened = {"layer": opened["layer"], "head": opened["head"]}
    return opened | selection
