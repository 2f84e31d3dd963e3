"""What one pass left behind, read-only: its tokens, vectors and weights, and where they come from."""

from .trace import Trace

__all__ = ["Trace"]
