"""What may stand in a view beside its trace: what all of it can say, and that of two runs and of languages. Those of
rooms stand in their rooms."""

from .panel import NEEDS, RUNS, Panel

__all__ = ["NEEDS", "RUNS", "Panel"]
