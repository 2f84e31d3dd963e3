"""Explorer: header, atlas, head view and neuron view, linked, in one output."""

from __future__ import annotations

from .base import LensWidget


class Explorer(LensWidget):
    """All views of a trace, linked: see LensWidget for the arguments."""

    PANELS = ("header", "atlas", "head", "neurons", "norms", "gates", "geometry", "table")
