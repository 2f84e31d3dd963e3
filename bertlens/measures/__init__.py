"""Measures: pure functions from a trace (or plain tensors) to tensors, one file per line of research."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy

if TYPE_CHECKING:
    from .norms import METHODS as METHODS
    from .offers import why_not as why_not
    from .rows import Here as Here
    from .statistics import SURVEY_NAMES as SURVEY_NAMES
    from .words import annotation as annotation
    from .words import grouped as grouped

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
