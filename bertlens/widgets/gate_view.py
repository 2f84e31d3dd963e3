"""GateView: what kind of gate a head is, and on what evidence."""

from __future__ import annotations

from .widget import LensWidget


class GateView(LensWidget):
    """Gate scores of one head with their evidence, and gates per layer. Arguments: LensWidget."""

    PARTS = ("gates",)
