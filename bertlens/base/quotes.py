"""Words of a text in a sentence: one that is written from right to left turns nothing that stands beside it.

A sentence isolates what it names (Unicode's bidirectional algorithm, U+2068 … U+2069): else a number or a quotation
mark beside a Hebrew or Arabic word is drawn on its other side. Tables, files and columns of tokens do without.
"""

from __future__ import annotations

import re

# First and last character: letters, marks and digits of the blocks from Hebrew to Arabic.
RIGHT_TO_LEFT = (0x590, 0x8FF), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFE), (0x10800, 0x10FFF), (0x1E800, 0x1EFFF)
_LETTERS = f"[{''.join(f'{chr(low)}-{chr(high)}' for low, high in RIGHT_TO_LEFT)}]"
_TURNS = re.compile(_LETTERS)
ISOLATES = re.compile(f"\u2068[^\u2066-\u2069]*{_LETTERS}[^\u2066-\u2069]*\u2069")


def isolate(text: object) -> str:
    """The text, between U+2068 and U+2069 where a letter of it, not isolated yet, is written from right to left."""
    words = str(text)
    return f"\u2068{words}\u2069" if _TURNS.search(ISOLATES.sub("", words)) else words


def quotation(text: object) -> str:
    """The text, isolated, between the quotation marks of sentences."""
    return f"“{isolate(text)}”"


def is_right_to_left(text: str) -> bool:
    """Whether a text is laid from right to left: by its first letter."""
    return _TURNS.match(next(filter(str.isalpha, text), "")) is not None
