"""What kind of gate a head is: directional, open, closed, contextual, cluster, instance, after Bonino et al. 2025.

The names are those of Bonino, Ghione, Cirrincione 2025 (arXiv 2502.12033), `self` and `bidirectional` are ours; how
each is scored is bertlens' own operationalisation. `patterns` measures neutral patterns of the map, one small table
(`GATES`) says which pattern speaks for which gate.
"""

from .classify import check_gates, classify, head_scores, layer_scores, length_groups
from .instance import target_agreement
from .names import (
    GATES,
    LEAST_CONTENT,
    MARGIN,
    THRESHOLD,
    Evidence,
    Scores,
    evidence,
    evidence_of_rows,
    joined,
    label,
    labels,
    score_rows,
    scores,
    scores_of_rows,
    threshold_at,
)
from .patterns import PATTERNS, VIEWS, patterns

__all__ = [
    "GATES",
    "LEAST_CONTENT",
    "MARGIN",
    "PATTERNS",
    "THRESHOLD",
    "VIEWS",
    "Evidence",
    "Scores",
    "check_gates",
    "classify",
    "evidence",
    "evidence_of_rows",
    "head_scores",
    "joined",
    "label",
    "labels",
    "layer_scores",
    "length_groups",
    "patterns",
    "score_rows",
    "scores",
    "scores_of_rows",
    "target_agreement",
    "threshold_at",
]
