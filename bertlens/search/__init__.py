"""Search: how good an encoder's ranking of a collection is, where it fails, and why the wrong passage is first."""

from .failures import failure_kinds
from .reading import texts
from .retrieval_run import Retrieval, retrieval
from .score_difference import Contrast

__all__ = ["Contrast", "Retrieval", "failure_kinds", "retrieval", "texts"]
