"""The words of a text as they are counted: without case and punctuation."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def words_of(text: str) -> list[str]:
    """Its runs of letters and digits, an apostrophe inside one too, without case. Of a script without spaces between
    words, such a run is a clause."""
    return _WORD.findall(text.casefold())
