"""HeadView: one head as matrix or lines."""

from __future__ import annotations

from .widget import LensWidget


class HeadView(LensWidget):
    """One head as matrix or lines, several overlaid with `heads`. Arguments: LensWidget."""

    PARTS = ("head",)
