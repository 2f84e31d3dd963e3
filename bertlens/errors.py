"""The errors that bertlens raises on purpose: one short message each, which names the way out."""

from collections.abc import Iterable
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
    """The picture, page or file asked for cannot be written."""


class SaveError(ExportError):
    """What a run has counted cannot be saved; it is in `stats`."""

    def __init__(self, message: str, stats: Any = None):
        super().__init__(message)
        self.stats = stats


class ClusterError(BertLensError):
    """A cluster's workers died, or nothing comes back from them; what a survey has counted is in `stats`."""

    def __init__(self, message: str, stats: Any = None):
        super().__init__(message)
        self.stats = stats


def check_index(index: Any, size: int, name: str) -> None:
    """Raises SelectionError unless `index` is a whole number from 0 to size - 1."""
    if isinstance(index, bool) or not isinstance(index, Integral) or not 0 <= int(index) < size:
        raise SelectionError(f"{name} {str(index)[:40]} does not exist: choose one from 0 to {size - 1}")


def check_indices(indices: Any, size: int, name: str) -> list[int]:
    """The indices as a list. Raises SelectionError unless they are at least one, each a whole number below `size`."""
    chosen = [] if isinstance(indices, str | bytes) or not isinstance(indices, Iterable) else list(indices)
    if not chosen:
        raise SelectionError(f"{name} is a list of numbers from 0 to {size - 1}, with at least one")
    for index in chosen:
        check_index(index, size, name.split("_")[-1].removesuffix("s"))
    return [int(index) for index in chosen]
