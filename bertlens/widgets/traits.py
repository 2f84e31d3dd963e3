"""The kinds of traits of `vocabulary.TRAITS`, as traitlets that take nothing which only equals what they hold.

traitlets checks values that are set together only where they differ from before, and True == 1 == 1.0 in Python: what a
value is made of is therefore checked here, before; whether it exists, in the widget.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from traitlets import Bool, Dict, Int, List, Unicode

from ..base.vocabulary import PLACE, SETTINGS, Trait
from ..errors import SelectionError, check_name, excerpt


class WholeNumber(Int):  # type: ignore[type-arg]
    """A whole number, which True is not."""

    def validate(self, obj: Any, value: Any) -> Any:
        if isinstance(value, bool):
            self.error(obj, value)
        return super().validate(obj, value)


class HeadsTrait(List):  # type: ignore[type-arg]
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


class PlaceTrait(Dict):
    """Numbers or None of some of vocabulary.PLACE. Raises SelectionError, a TraitError, for anything else."""

    def validate(self, obj: Any, value: Any) -> Any:
        place: dict[str, Any] = dict(super().validate(obj, value) or {})
        if {*place} - {*PLACE} or any(n is not None and type(n) is not int for n in place.values()):
            raise SelectionError(f"what a view opens on is of {', '.join(PLACE)}, each a number or None")
        return place


class SettingsTrait(Dict):
    """Some of vocabulary.SETTINGS, each of the kind of its default. Raises SelectionError, a TraitError."""

    def validate(self, obj: Any, value: Any) -> Any:
        settings: dict[str, Any] = dict(super().validate(obj, value) or {})
        for name, item in settings.items():
            check_name(name, SETTINGS, "setting")
            if not _alike(item, SETTINGS[name]):
                raise SelectionError(f"the setting {name} is like {SETTINGS[name]!r}, not {excerpt(item)}")
        return settings


class LessonRecords(List):  # type: ignore[type-arg]
    """What was done in a lesson: flat records, as many and as long as a class needs. Raises SelectionError."""

    MOST, CHARACTERS = 100, 100_000

    def validate(self, obj: Any, value: Any) -> Any:
        records = list(super().validate(obj, value) or [])
        flat = all(
            isinstance(record, dict)
            and type(record.get("step")) is int
            and all(isinstance(v, str | bool | int | float | None) and v == v for v in record.values())
            for record in records
        )
        if not flat or len(records) > self.MOST or len(json.dumps(records)) > self.CHARACTERS:
            raise SelectionError("lesson_done is a list of what was done, each with the number of its step")
        return records


def _alike(value: Any, default: Any) -> bool:
    """Whether a value is of the kind of another one: at every place of a list or dict, too."""
    if isinstance(default, dict):
        return isinstance(value, dict) and all(n in default and _alike(v, default[n]) for n, v in value.items())
    if isinstance(default, list):
        kinds = default or [""] * len(value) if isinstance(value, list) else []
        return isinstance(value, list) and len(value) == len(kinds) and all(map(_alike, value, kinds))
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, int | float):
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, str)


KINDS: dict[str, Callable[[Trait], Any]] = {
    "text": lambda trait: Unicode(trait.default),
    "number": lambda trait: WholeNumber(trait.default),
    "optional": lambda trait: WholeNumber(None, allow_none=True),
    "flag": lambda trait: Bool(trait.default),
    "choice": lambda trait: Unicode(trait.default),
    "numbers": lambda trait: List(WholeNumber(), allow_none=True, default_value=None),
    "names": lambda trait: List(Unicode()),
    "heads": lambda trait: HeadsTrait(),
    "place": lambda trait: PlaceTrait(),
    "settings": lambda trait: SettingsTrait(),
    "record": lambda trait: Dict(),
    "lesson": lambda trait: Dict(),
    "done": lambda trait: LessonRecords(),
}
