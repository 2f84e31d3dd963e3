"""A list of passages in the order of their scores, and its view."""

from __future__ import annotations

from typing import Any, ClassVar

from pandas import DataFrame

from ..base.registered import registered
from ..model.fingerprint import Fingerprint
from .encoders import SentenceLens


class Ranking(DataFrame):
    """DataFrame(rank, passage, score, words) of `rank`, the best first, that knows its model and its query.

    What pandas makes of it, such as its first rows, is an ordinary DataFrame.
    """

    _metadata: ClassVar[list[str]] = ["lens", "query_text", "model"]
    lens: SentenceLens
    query_text: str
    model: Fingerprint  # as it ranked

    @property
    def _constructor(self) -> Any:
        return DataFrame

    def explore(self, **selection: Any) -> Any:
        """The RankView widget: the list, and why the passage that is clicked has its score. selection: LensWidget's.

        Raises ModelError where the model has changed since it ranked.
        """
        self.lens.borrowed.check(self.model)
        return registered("rank_view")(self, **selection)
