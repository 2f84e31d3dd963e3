"""What one pass left behind, read-only: its tokens, vectors and weights, and where they come from."""

from .provenance import made_with, model_provenance, short_provenance, visible
from .trace import Trace

__all__ = ["Trace", "made_with", "model_provenance", "short_provenance", "visible"]
