"""GeometryView: the geometry of the stream and of one head's vectors."""

from __future__ import annotations

from .widget import LensWidget


class GeometryView(LensWidget):
    """Cone index through the layers, vector norms, ranks and symmetry. Arguments: LensWidget."""

    PARTS = ("geometry",)
