"""NeuronView: how query and key vectors make one token's attention."""

from __future__ import annotations

from .widget import LensWidget


class NeuronView(LensWidget):
    """The query and key neurons behind one token's attention: pin it with `query` and `key`. Arguments: LensWidget."""

    PARTS = ("neurons", "table")
