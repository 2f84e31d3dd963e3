"""The errors that bertlens raises on purpose: one short message each, which names the way out."""

from numbers import Integral
from typing import Any

from traitlets import TraitError


class BertLensError(Exception):
    """Base of every error that bertlens raises on purpose."""


class InputError(BertLensError):
    """The text, the words, the tokens or the arrays given cannot be used."""


class ModelError(BertLensError):
    """The model is not supported, or does not offer what was asked for."""


class CaptureError(BertLensError):
    """The forward pass left something else behind than the model's shape promises."""


class SelectionError(BertLensError, TraitError):
    """A layer, head, query, key or option that does not exist. A TraitError too: traitlets then rolls back."""


class ExportError(BertLensError):
    """The picture or page asked for cannot be written."""


def check_index(index: Any, size: int, name: str) -> None:
    """Raises SelectionError unless `index` is a whole number from 0 to size - 1."""
    if isinstance(index, bool) or not isinstance(index, Integral) or not 0 <= int(index) < size:
        raise SelectionError(f"{name} {index!r} does not exist: choose one from 0 to {size - 1}")
