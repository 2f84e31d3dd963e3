"""The kinds of traits of `vocabulary.TRAITS`, as traitlets that take nothing which only equals what they hold.

traitlets checks values that are set together only where they differ from before, and True == 1 == 1.0 in Python: what a
value is made of is therefore checked here, before; whether it exists, in the widget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traitlets import Bool, Dict, Int, List, Unicode

from ..errors import SelectionError
from ..vocabulary import Trait


class Whole(Int):  # type: ignore[type-arg]
    """A whole number, which True is not."""

    def validate(self, obj: Any, value: Any) -> Any:
        if isinstance(value, bool):
            self.error(obj, value)
        return super().validate(obj, value)


class Heads(List):  # type: ignore[type-arg]
    """A list of [layer, head], or of heads alone. Raises SelectionError, a TraitError, for anything else."""

    def validate(self, obj: Any, value: Any) -> Any:
        return [self._item(item) for item in super().validate(obj, value) or []]

    @staticmethod
    def _item(item: Any) -> Any:
        pair = [0, item] if isinstance(item, int) else item
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or any(isinstance(n, bool) or not isinstance(n, int) for n in pair)
        ):
            raise SelectionError("heads is a list of [layer, head], or of heads of the selected layer")
        return item if isinstance(item, int) else list(item)


KINDS: dict[str, Callable[[Trait], Any]] = {
    "text": lambda trait: Unicode(trait.default),
    "number": lambda trait: Whole(trait.default),
    "optional": lambda trait: Whole(None, allow_none=True),
    "flag": lambda trait: Bool(trait.default),
    "choice": lambda trait: Unicode(trait.default),
    "numbers": lambda trait: List(Whole(), allow_none=True, default_value=None),
    "names": lambda trait: List(Unicode()),
    "heads": lambda trait: Heads(),
    "record": lambda trait: Dict(),
}
