"""GateView: what kind of gate a head is, and on what evidence."""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from ..trace import Trace
from .answers import has_gates
from .base import LensWidget


class GateView(LensWidget):
    """Gate scores of one head with their evidence, and gates per layer. Arguments: LensWidget."""

    PANELS = ("gates",)

    def __init__(self, trace: Trace, **selection: Any) -> None:
        if not has_gates(trace):
            raise ModelError("cross-attention has no gates: they are patterns of tokens among themselves")
        super().__init__(trace, **{"view": "gates", **selection})
