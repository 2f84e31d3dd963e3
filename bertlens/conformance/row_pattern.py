"""What the texts whose vectors differ have in common: half of the answer, whichever the fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

MARKS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("a capital letter", lambda text: text != text.lower()),
    ("a letter that is not ASCII", lambda text: not text.isascii()),
    ("one of & < > ' \"", lambda text: any(c in text for c in "&<>\"'")),
    ("a line break or tab", lambda text: "\n" in text or "\t" in text),
    ("a digit", lambda text: any(c.isdigit() for c in text)),
    ("two spaces together", lambda text: "  " in text),
)


def pattern(texts: Sequence[str], lengths: np.ndarray, differs: np.ndarray) -> str:
    """What all texts that differ have and no other one has, to stand behind "they differ"; "" for nothing of it."""
    if differs.all() or not differs.any():
        return ""
    if lengths[differs].min() > lengths[~differs].max():
        return (
            f": those of {lengths[differs].min():,} tokens or more; the others have {lengths[~differs].max():,} at most"
        )
    if lengths[differs].max() < lengths[~differs].min():
        return f": those of {lengths[differs].max():,} tokens or fewer"
    for name, has in MARKS:
        if [has(text) for text in texts] == list(differs):
            return f": those with {name}"
    return ""
