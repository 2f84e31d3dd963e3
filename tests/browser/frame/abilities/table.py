"""The table: one record for each thing that can be done with a view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .hand import Hand

Doing = Callable[[Hand], Iterator[None]]  # what is done; after its `yield`, what must have come of it


@dataclass(frozen=True)
class Ability:
    """`name` in plain words. clicks_before: what it took on the screen that this table was made on.

    of: the subject, a name of `subjects.SUBJECTS`. given: how the view is opened. A key pressed instead of a click
    counts as one; typing does not. front: it needs only what stands above the button "All heads".
    """

    name: str
    clicks_before: int
    doing: Doing
    of: str = "pair"
    front: bool = False
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return re.sub(r"\W+", "-", self.name).strip("-")


ABILITIES: list[Ability] = []


def ability(
    name: str, clicks_before: int, of: str = "pair", front: bool = False, **given: Any
) -> Callable[[Doing], Doing]:
    """Put a function into the table."""

    def put(doing: Doing) -> Doing:
        ABILITIES.append(Ability(name, clicks_before, doing, of, front, given))
        return doing

    return put
