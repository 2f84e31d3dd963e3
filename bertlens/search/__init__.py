"""Search: how good an encoder's ranking of a collection is, where it fails, and why the wrong passage is first."""

from .edit_probe import EditProbe
from .failures import failure_kinds
from .hard_negatives import HardNegatives
from .ranking_heads import RankingHeads
from .reading import texts
from .retrieval_run import Retrieval, retrieval
from .score_difference import Contrast

__all__ = [
    "Contrast",
    "EditProbe",
    "HardNegatives",
    "RankingHeads",
    "Retrieval",
    "failure_kinds",
    "retrieval",
    "texts",
]
