"""The errors that bertlens raises on purpose: one short message each, which names the way out."""

import re
import sys
from collections.abc import Iterable
from functools import partial
from numbers import Integral
from typing import Any

from traitlets import TraitError


def in_one_line(error: BaseException) -> list[str]:
    """What IPython shows of an error: its sentence; where the reader asks for more by `%tb` or `%xmode`, all of it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None and (_is_asked() or shell.InteractiveTB.mode not in ("Context", "Minimal")):
        whole: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
        return whole
    return [f"{type(error).__name__}: {' '.join(str(error).split())}"]


def _is_asked() -> bool:
    """Whether IPython's `%tb` is at work."""
    frame = sys._getframe()
    while back := frame.f_back:
        if back.f_code.co_name == "tb" and back.f_globals.get("__name__", "").startswith("IPython."):
            return True
        frame = back
    return False


def stopped(error: KeyboardInterrupt, sentence: str) -> None:
    """Let an interrupt end in one line too: the sentence of the outermost work, which comes last; not one of the user's
    own that says something already."""
    if not error.args or hasattr(error, "_render_traceback_"):
        error.args = (sentence,)
        error._render_traceback_ = partial(in_one_line, error)  # type: ignore[attr-defined]


class BertLensError(Exception):
    """Base of every error that bertlens raises on purpose. A notebook shows one line of it, and all of it by `%tb`."""

    def _render_traceback_(self) -> list[str]:
        return in_one_line(self)


class InputError(BertLensError):
    """The text, the words, the tokens or the arrays given cannot be used."""


class ModelError(BertLensError):
    """The model is not supported, or does not offer what was asked for."""


class MissingError(BertLensError, AttributeError):
    """What is asked for is there, but not of this object."""


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
    """A pool's workers die over the same work, or its scheduler is gone; what a survey has counted is in `stats`."""

    def __init__(self, message: str, stats: Any = None):
        super().__init__(message)
        self.stats = stats


def excerpt(value: Any, most: int = 40) -> str:
    """A value as an error names it, cut; Python writes no number of more than 4,300 digits."""
    try:
        return repr(value)[:most]
    except ValueError:
        return "a number of thousands of digits"


def check_number(value: Any, what: str, least: int, most: int | None = None) -> int:
    """The value as an int. Raises InputError, which says what it is, unless it is a whole number in these bounds."""
    sound = isinstance(value, Integral) and not isinstance(value, bool)
    if not sound or value < least or (most is not None and value > most):
        to = "" if most is None else f" and at most {most:,}"
        raise InputError(f"{what} at least {least}{to}, not {excerpt(value)}")
    return int(value)


def check_batch(batch_size: Any) -> int:
    """How many texts to run together. Raises InputError for anything else than a number from 1 to 65,536."""
    return check_number(batch_size, "batch_size must be", 1, 65_536)


def check_seed(seed: Any) -> int:
    """Raises InputError for what no library takes to draw with."""
    return check_number(seed, "seed is a whole number,", 0, 2**32 - 1)


def check_lens(lens: Any) -> None:
    """Raises InputError for what is no lens."""
    if not hasattr(lens, "borrowed"):
        raise InputError(f"this is of a model: give a bl.Lens, not {type(lens).__name__}")


def check_name(name: Any, names: Iterable[str], what: str, error: type[BertLensError] = SelectionError) -> None:
    """Raises the error, which lists the names, for what is none of them."""
    if not isinstance(name, str) or name not in names:
        raise error(f"no {what} {excerpt(name)}: there are {', '.join(names)}")


def check_language(tag: Any) -> None:
    """Raises InputError for what is no tag of a language, as HTML's `lang` takes it."""
    if not isinstance(tag, str) or re.fullmatch("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", tag) is None:
        raise InputError(f"a language is a tag such as 'ar' or 'pt-BR', not {excerpt(tag, 40)}")


def check_index(index: Any, size: int, name: str) -> None:
    """Raises SelectionError unless `index` is a whole number from 0 to size - 1."""
    if isinstance(index, bool) or not isinstance(index, Integral) or not 0 <= int(index) < size:
        given = index[:40] if isinstance(index, str) else excerpt(index)
        raise SelectionError(f"{name} {given} does not exist: choose one from 0 to {size - 1}")


def check_indices(indices: Any, size: int, name: str) -> list[int]:
    """The indices as a list. Raises SelectionError unless they are at least one, each a whole number below `size`."""
    chosen = [] if isinstance(indices, str | bytes) or not isinstance(indices, Iterable) else list(indices)
    if not chosen:
        raise SelectionError(f"{name} is a list of numbers from 0 to {size - 1}, with at least one")
    for index in chosen:
        check_index(index, size, name.split("_")[-1].removesuffix("s"))
    return [int(index) for index in chosen]
