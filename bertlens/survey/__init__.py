"""What does BERT look at, over a corpus: statistics, distances, syntax and gradients of every head.

After Clark et al. 2019 (arXiv 1906.04341). The names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .coreference import coreference_scores, resolve
    from .distances import clustering, head_distances, head_map, nearest_heads
    from .frequency import frequency_correlation
    from .gradients import attention_gradients
    from .heads import head_stats
    from .headstats import HeadStats
    from .intervals import mean_interval, mean_text
    from .mentions import read_documents
    from .probe import attention_probe
    from .similar_texts import story
    from .syntax import Decisions, best_heads, decide, predicted_words, relation_scores, word_attention
    from .treebank import Sentence, read_treebank

_HOMES = {
    "Decisions": ".syntax",
    "HeadStats": ".headstats",
    "Sentence": ".treebank",
    "attention_gradients": ".gradients",
    "attention_probe": ".probe",
    "best_heads": ".syntax",
    "clustering": ".distances",
    "coreference_scores": ".coreference",
    "decide": ".syntax",
    "frequency_correlation": ".frequency",
    "head_distances": ".distances",
    "head_map": ".distances",
    "head_stats": ".heads",
    "mean_interval": ".intervals",
    "mean_text": ".intervals",
    "nearest_heads": ".distances",
    "predicted_words": ".syntax",
    "read_documents": ".mentions",
    "read_treebank": ".treebank",
    "relation_scores": ".syntax",
    "resolve": ".coreference",
    "story": ".similar_texts",
    "word_attention": ".syntax",
}
__all__ = [
    "Decisions",
    "HeadStats",
    "Sentence",
    "attention_gradients",
    "attention_probe",
    "best_heads",
    "clustering",
    "coreference_scores",
    "decide",
    "frequency_correlation",
    "head_distances",
    "head_map",
    "head_stats",
    "mean_interval",
    "mean_text",
    "nearest_heads",
    "predicted_words",
    "read_documents",
    "read_treebank",
    "relation_scores",
    "resolve",
    "story",
    "word_attention",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bertlens.survey' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
