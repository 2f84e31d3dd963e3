"""NormView: attention weight against the norm of what is passed on, per kind of token."""

from __future__ import annotations

from .widget import LensWidget


class NormView(LensWidget):
    """Weight against norm of one head, shares per kind of token, mixing ratios. Arguments: LensWidget."""

    PARTS = ("norms",)
