"""The claims of a report, in its order."""

from __future__ import annotations

from .claim import PAPERS, Claim
from .claims_attention import ATTENTION
from .claims_sinks import HEALTH, SINKS
from .claims_vectors import VECTORS

__all__ = ["BY_NAME", "CLAIMS", "GROUPS", "PAPERS", "Claim"]

GROUPS = ("vig", "clark", "kobayashi", "bonino", "sinks", "health")
CLAIMS = (*ATTENTION, *VECTORS, *SINKS, *HEALTH)
BY_NAME = {claim.name: claim for claim in CLAIMS}
