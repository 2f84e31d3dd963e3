"""A question of a page: its name, its arguments, each checked, and the function that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...base.wire import json_safe, pack
from .arguments import ARGUMENTS, Argument
from .records import Reply


def packed(fields: Mapping[str, Any], arrays: Mapping[str, Any] | bytes) -> Reply:
    """An answer as it travels: fields as plain JSON, all arrays in one buffer; bytes as they are."""
    if isinstance(arrays, bytes):
        return json_safe(fields), [arrays]
    if not arrays:
        return json_safe(fields), []
    index, blob = pack(arrays)
    return {**json_safe(fields), "arrays": index}, [blob]


@dataclass(frozen=True)
class PlainQuestion:
    """A question by its name.

    answer: (what it is about, **arguments) -> fields and arrays. arguments: names in TABLE, with "?" those that may be
    missing.
    """

    TABLE: ClassVar[Mapping[str, Argument]] = ARGUMENTS

    name: str  # by which a page asks it
    answer: Callable[..., tuple[Mapping[str, Any], Mapping[str, Any] | bytes]]
    arguments: tuple[str, ...] = ()

    def named(self, message: Mapping[str, Any]) -> list[str]:
        """The names of its arguments in a message."""
        return [name.removesuffix("?") for name in self.arguments if not name.endswith("?") or name[:-1] in message]

    def check(self, subject: Any, message: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a message. Raises SelectionError or InputError for what does not exist."""
        return {name: self.TABLE[name].check(subject, message.get(name)) for name in self.named(message)}
