"""Two runs side by side: their words aligned, their heads told apart by weights. `bl.compare` makes one."""

from .runs import Comparison, compare

__all__ = ["Comparison", "compare"]
