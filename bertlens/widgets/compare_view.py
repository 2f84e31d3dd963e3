"""CompareView: two runs beside each other and their difference, and the heads by how far apart they are."""

from __future__ import annotations

from typing import Any

from ..comparison.runs import Comparison
from ..errors import InputError
from .answers.compare import Compared
from .widget import LensWidget


class CompareView(LensWidget):
    """A | B | b − a of one head on one scale, the tokens of both aligned, every head by how far it is apart.

    comparison: of `bl.compare(a, b)`; `comparison.explore()` makes this view. query, key: rows of `comparison.tokens`
    (of the aligned keys, for maps between two texts), gaps included. Without `layer` and `head` it opens on the head
    that differs most, at the cell where it does; of texts of more than 128 tokens on the first head. layer, head: of a;
    where heads are not matched by index, b shows the one that looks most alike (`comparison.nearest`). Other arguments:
    LensWidget. Raises InputError for anything but a comparison, else as LensWidget.
    """

    PARTS = ("compare",)

    def __init__(self, comparison: Comparison, **selection: Any) -> None:
        if not isinstance(comparison, Comparison):
            raise InputError(f"a CompareView shows what bl.compare(a, b) gives, not {type(comparison).__name__}")
        compared = Compared(comparison)
        super().__init__(comparison.a, compared=compared, **compared.opened(selection))
