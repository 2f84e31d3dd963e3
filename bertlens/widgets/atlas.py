"""HeadAtlas: every head of every layer as a thumbnail."""

from __future__ import annotations

from .widget import LensWidget


class HeadAtlas(LensWidget):
    """The atlas alone; link `layer` and `head` to another view's with ipywidgets.jslink. Arguments: LensWidget."""

    PARTS = ("atlas",)
