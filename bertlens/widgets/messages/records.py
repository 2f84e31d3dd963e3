"""What answers and pages are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from typing_extensions import NotRequired, TypedDict

from ...base.wire import AnyArray
from ...errors import BertLensError

Arrays: TypeAlias = dict[str, AnyArray]
Answer: TypeAlias = tuple[dict[str, Any], Arrays]  # JSON fields; arrays
Message: TypeAlias = dict[str, Any]  # of a page
Reply: TypeAlias = tuple[dict[str, Any], list[bytes]]  # JSON fields, buffers


class Nothing(TypedDict):
    """Of an answer that has no fields, or no arrays."""


class Again(TypedDict):
    """The fields of any answer to a page that has to ask once more."""

    again: bool
    done: NotRequired[float | None]  # the share that is made, 0 to 1
    doing: NotRequired[str]
    said: NotRequired[str]


class WorkEnd(TypedDict):
    """Of work that was stopped."""

    stopped: bool  # ended with nothing to keep


def refusal(error: BertLensError) -> Reply:
    """The answer to a question that is refused, in words: the same of a kernel and in a page without one."""
    return {"error": str(error)}, []


@dataclass(frozen=True)
class Selection:
    """What is selected when a page is saved: what of its kind is too much for all heads is held for that."""

    heads: tuple[tuple[int, int], ...]  # (layer, head) of those shown, the selected one first
    query: int | None = None  # the pinned tokens
    key: int | None = None
    layer_map: str = ""  # of the selected head's layer, where one is shown
    layers: Sequence[int] = ()  # that the page holds
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the view

    @classmethod
    def of(cls, traits: Mapping[str, Any], layers: Sequence[int]) -> Selection:
        """Of a view with these traits, in these layers."""
        heads = dict.fromkeys([(traits["layer"], traits["head"]), *map(tuple, traits["heads"])])
        pairs = tuple((layer, head) for layer, head in heads if layer in layers)
        return cls(pairs, traits["query"], traits["key"], traits["layer_map"], layers, traits["settings"])
