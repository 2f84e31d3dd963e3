"""What a reader has picked when a page is saved: what of its kind is too much for all heads is held for that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Picked:
    """The heads shown, the selected one first, and the pinned tokens or None."""

    heads: tuple[tuple[int, int], ...]  # (layer, head)
    query: int | None
    key: int | None
    layer_map: str = ""  # of the selected head's layer, where one is shown
