"""One forward or backward pass: what is recorded of it, what is changed in it, and attention weights made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy

if TYPE_CHECKING:
    from . import trust as trust
    from .attention_weights import check_precision as check_precision
    from .changes import Change as Change
    from .changes import Off as Off
    from .forward import output_of as output_of
    from .interventions import Run as Run
    from .masks import mask_slopes as mask_slopes

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
