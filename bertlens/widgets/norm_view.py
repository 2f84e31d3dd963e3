"""NormView: attention weight against the norm of what is passed on, per kind of token."""

from __future__ import annotations

from typing import Any

from ..measures.block import layer_module
from ..trace import Trace
from .base import LensWidget


class NormView(LensWidget):
    """Weight against norm of one head, shares per kind of token, mixing ratios. Arguments: LensWidget."""

    PANELS = ("norms",)

    def __init__(self, trace: Trace, **selection: Any) -> None:
        layer_module(trace, 0)  # a ModelError that says why, instead of an empty view
        super().__init__(trace, **{"view": "norms", **selection})
