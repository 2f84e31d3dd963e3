"""The letters of figures: each text in fonts that have its own, or a sentence of what no font has."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec

import numpy as np

from ..base.quotes import isolate
from ..export import fonts

_P = ParamSpec("_P")
TURNING = (3, 11)  # the first matplotlib that writes from right to left


class IllegibleWarning(UserWarning):
    """Letters of a figure that no font has, or that stand in the wrong order."""


def legible(draw: Callable[_P, Any]) -> Callable[_P, Any]:
    """A figure whose texts are in fonts that have their letters; one warning where none has."""

    @wraps(draw)
    def figure(*arguments: _P.args, **options: _P.kwargs) -> Any:
        with quiet():
            axes = draw(*arguments, **options)
        if words := "; ".join(_set(axes)):
            warnings.warn(words, IllegibleWarning, stacklevel=2)
        return axes

    return figure


@contextmanager
def quiet() -> Iterator[None]:
    """Without matplotlib's own warning of each letter that it lacks: `legible` has said so, or will."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def families_of(texts: Sequence[str], names: Sequence[str]) -> tuple[list[str], frozenset[int]]:
    """These families, and behind them those that have letters which they lack; the letters that no font has."""
    from matplotlib.font_manager import FontProperties, findfont

    letters = fonts.letters_of(texts)
    for name in names:
        letters -= fonts.charmap(findfont(FontProperties(family=[name])), letters)
    fallbacks, missing = fonts.best_fonts(letters)
    return [*names, *(font.name for font in fallbacks)], missing


def _set(axes: Any) -> list[str]:
    """Set the texts of these axes in fonts that have their letters: sentences of what could not be."""
    import matplotlib
    from matplotlib.text import Text

    texts = [text for one in np.ravel(axes) for text in one.findobj(Text) if not text.get_text().isascii()]
    if not texts:
        return []
    words = [text.get_text() for text in texts]
    families, missing = families_of(words, texts[0].get_fontfamily())
    for text in texts:
        text.set_fontfamily(families)
    sentences = []
    if missing:
        letters = " ".join(map(chr, sorted(missing)[:10]))
        sentences.append(
            f"no font that matplotlib knows has letters of this text ({letters}): name a file of one that has, "
            "matplotlib.font_manager.fontManager.addfont(…), and draw it again"
        )
    if matplotlib.__version_info__ < TURNING and isolate("".join(words)) != "".join(words):
        sentences.append("matplotlib before 3.11 writes this text from left to right: pip install --upgrade matplotlib")
    return sentences
