"""Masked language models: training one from any BERT-like encoder, and the one that is shipped.

The shipped one is kept as its differences from the embedded encoder (differences.py): `Lens.embedded(mlm=True)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lens import Lens


def lens() -> Lens:
    """The shipped language model in a lens, as `Lens.embedded(mlm=True)` gives it. Raises ModelError as that does."""
    from ..lens import Lens
    from . import differences

    lens = Lens(*differences.load(known=differences.SHA256))
    lens.borrowed.name = differences.NAME
    return lens
