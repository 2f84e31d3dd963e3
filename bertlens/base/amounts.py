"""How many of something, in a sentence: its noun and its verb go with the number."""

from __future__ import annotations


def plural(noun: str, count: int = 2) -> str:
    """The noun as it stands behind a number: "passage" behind 1, else "passages", "patches"."""
    return noun if count == 1 else f"{noun}es" if noun.endswith(("ch", "s")) else f"{noun}s"


def amount(count: int, noun: str) -> str:
    """So many of something: "1 passage", "1,398 passages"."""
    return f"{count:,} {plural(noun, count)}"


def verb(count: int, one: str, many: str) -> str:
    """What stands behind so many: `one` behind 1, else `many`; of "1 of 5 questions" it goes with the 1."""
    return one if count == 1 else many


def shortage(count: int, noun: str) -> str:
    """That so many do not do: "1 text is too few"."""
    return f"{amount(count, noun)} {verb(count, 'is', 'are')} too few"
