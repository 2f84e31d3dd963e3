"""What does BERT look at, over a corpus: statistics, distances, syntax and gradients of every head.

After Clark et al. 2019 (arXiv 1906.04341). The names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy

if TYPE_CHECKING:
    from ..measures.significance import mean_interval as mean_interval
    from ..measures.significance import mean_text as mean_text
    from .batch_stats import batch_sums as batch_sums
    from .coreference import coreference_scores as coreference_scores
    from .coreference import resolve as resolve
    from .distances import clustering as clustering
    from .distances import head_distances as head_distances
    from .distances import head_map as head_map
    from .distances import nearest_heads as nearest_heads
    from .frequency import frequency_correlation as frequency_correlation
    from .headstats import HeadStats as HeadStats
    from .loss_gradients import attention_gradients as attention_gradients
    from .mentions import read_documents as read_documents
    from .probe import attention_probe as attention_probe
    from .similar_texts import story as story
    from .survey_run import head_stats as head_stats
    from .survey_shards import merge as merge
    from .syntax import Decisions as Decisions
    from .syntax import best_heads as best_heads
    from .syntax import decide as decide
    from .syntax import predicted_words as predicted_words
    from .syntax import predicted_words as predictions  # noqa: F401  its name before 0.2
    from .syntax import relation_scores as relation_scores
    from .syntax import word_attention as word_attention
    from .treebank import Sentence as Sentence
    from .treebank import read_treebank as read_treebank

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
