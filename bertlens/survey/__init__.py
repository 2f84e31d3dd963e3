"""What does BERT look at, over a corpus: statistics, distances, syntax and gradients of every head.

After Clark et al. 2019 (arXiv 1906.04341). The names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .distances import clustering, head_distances, head_map
    from .frequency import frequency_correlation
    from .gradients import attention_gradients
    from .heads import head_stats
    from .headstats import HeadStats
    from .syntax import best_heads, relation_scores
    from .treebank import Sentence, read_treebank

_HOMES = {
    "HeadStats": ".headstats",
    "Sentence": ".treebank",
    "attention_gradients": ".gradients",
    "best_heads": ".syntax",
    "clustering": ".distances",
    "frequency_correlation": ".frequency",
    "head_distances": ".distances",
    "head_map": ".distances",
    "head_stats": ".heads",
    "read_treebank": ".treebank",
    "relation_scores": ".syntax",
}
__all__ = [
    "HeadStats",
    "Sentence",
    "attention_gradients",
    "best_heads",
    "clustering",
    "frequency_correlation",
    "head_distances",
    "head_map",
    "head_stats",
    "read_treebank",
    "relation_scores",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bertlens.survey' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
