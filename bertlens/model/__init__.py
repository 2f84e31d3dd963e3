"""The borrowed model: where its parts are, how it is loaded, its lock and its fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy

if TYPE_CHECKING:
    from . import offline_model as offline_model
    from .borrowed import Model as Model
    from .borrowed import checked_once as checked_once
    from .families import adapter_of as adapter_of
    from .fingerprint import Fingerprint as Fingerprint
    from .loan import Loan as Loan
    from .plain_modules import epsilon as epsilon
    from .stream_parts import StreamParts as StreamParts

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
