"""The claims of a report, in its order."""

from __future__ import annotations

from .attention_claims import ATTENTION
from .claim import PAPERS, Claim
from .health_claims import HEALTH
from .search_claims import RETRIEVAL
from .sink_claims import SINKS
from .vector_claims import VECTORS

__all__ = ["BY_NAME", "CLAIMS", "GROUPS", "PAPERS", "RETRIEVAL", "Claim"]

GROUPS = ("vig", "clark", "kobayashi", "bonino", "sinks", "health")
CLAIMS = (*ATTENTION, *VECTORS, *SINKS, *HEALTH)
BY_NAME = {claim.name: claim for claim in CLAIMS}
