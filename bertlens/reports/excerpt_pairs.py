"""What a report reads where no corpus is given: the excerpts that come with the package, as pairs."""

from __future__ import annotations

import re
from functools import cache
from itertools import zip_longest

from ..text.excerpts import paragraphs

NAME = "excerpts of Sherlock Holmes and of Three Men in a Boat"
_ENDS = re.compile(r"[.!?][”’]*\s+(?=[“‘A-Z])")


@cache
def pairs() -> tuple[tuple[str, str], ...]:
    """The two halves of each paragraph, "[CLS] a [SEP] b [SEP]": cut at the end of the sentence nearest to its middle.

    The books take turns; a paragraph of one sentence is left out.
    """
    books = [[halves for text in texts if (halves := _halves(text))] for texts in paragraphs().values()]
    return tuple(pair for together in zip_longest(*books) for pair in together if pair)


def singles() -> tuple[str, ...]:
    """The same texts whole, for tokenizers that put no separator between two."""
    return tuple(f"{a} {b}" for a, b in pairs())


def _halves(text: str) -> tuple[str, str] | None:
    ends = [
        match.end() for match in _ENDS.finditer(text) if not text[: match.start() + 1].endswith(("Mr.", "Mrs.", "Dr."))
    ]
    if not ends:
        return None
    middle = min(ends, key=lambda end: abs(2 * end - len(text)))
    return text[:middle].rstrip(), text[middle:]
