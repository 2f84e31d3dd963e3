"""pandas as `pd`, imported when the first table is made: it takes half a second, and a view needs none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["pd"]


class _Pandas:
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("pandas"), name)


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = _Pandas()
