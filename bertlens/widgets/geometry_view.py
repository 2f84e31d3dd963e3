"""GeometryView: the geometry of the stream and of one head's vectors."""

from __future__ import annotations

from typing import Any

from ..measures.block import layer_module
from ..trace import Trace
from .base import LensWidget


class GeometryView(LensWidget):
    """Cone index through the layers, vector norms, ranks and symmetry. Arguments: LensWidget."""

    PANELS = ("geometry",)

    def __init__(self, trace: Trace, **selection: Any) -> None:
        layer_module(trace, 0)  # a ModelError that says why, instead of an empty view
        super().__init__(trace, **{"view": "geometry", **selection})
