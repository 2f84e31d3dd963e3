"""Fonts that have the letters of a text, of those that matplotlib finds installed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_COMMON = 0x900  # below are scripts that DejaVu has, which comes with matplotlib: Latin to Arabic
_NO_LETTERS = "Last Resort"  # a font of frames, one a script
_SET_ONLY = ("Cc", "Cf", "Zs", "Zl", "Zp")  # blanks, and what says how other characters are set


def letters_of(texts: Iterable[str]) -> frozenset[int]:
    """The characters that a font needs a picture of."""
    return frozenset(ord(letter) for letter in {*"".join(texts)} if unicodedata.category(letter) not in _SET_ONLY)


def best_fonts(letters: frozenset[int]) -> tuple[list[Any], frozenset[int]]:
    """Fonts that have these letters between them, as few as may be, and the letters that none has.

    They are matplotlib's entries, with a name and a file.
    """
    fonts, missing = [], letters
    while missing:
        best, covered = None, frozenset[int]()
        for entry in _entries():
            if len(letters := charmap(entry.fname, missing)) > len(covered):
                best, covered = entry, letters
            if covered == missing:
                break
        if best is None:
            break
        fonts.append(best)
        missing -= covered
    return fonts, missing


def file_of(text: str) -> str:
    """The font file that has the most of a text's letters, "" where they are common ones, or without matplotlib."""
    letters = letters_of([text])
    if max(letters, default=0) < _COMMON:
        return ""
    try:
        return str(next((font.fname for font in best_fonts(letters)[0]), ""))
    except ImportError:
        return ""


@lru_cache(4096)
def charmap(file: str, letters: frozenset[int]) -> frozenset[int]:
    """Which of these letters a font file has; none of one that cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return letters & FT2Font(file).get_charmap().keys()
    except (OSError, RuntimeError):
        return frozenset()


def _entries() -> list[Any]:
    """The installed fonts, upright ones of common weight and without serifs first, which win where several do."""
    from matplotlib.font_manager import fontManager

    def order(entry: Any) -> tuple[bool, bool, int, str]:
        weight = entry.weight if isinstance(entry.weight, int) else 400
        return entry.style != "normal", "Sans" not in entry.name, abs(weight - 400), entry.name

    return sorted((entry for entry in fontManager.ttflist if _NO_LETTERS not in entry.name), key=order)
