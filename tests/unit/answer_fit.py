"""Whether an answer is what its function is annotated with, of which the page’s types are made."""

from __future__ import annotations

from collections import ChainMap
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from typing_extensions import NotRequired, get_type_hints, is_typeddict

from bertlens.search.view import case_questions
from bertlens.widgets import questions
from bertlens.widgets.messages.plain_question import PlainQuestion

ALL: ChainMap[str, PlainQuestion] = ChainMap({}, questions.QUESTIONS, case_questions.QUESTIONS)  # type: ignore[arg-type]


def misfits(op: str, fields: dict[str, Any]) -> list[str]:
    """What is not as it is declared in the reply to a question, as it travels: of an array its dtype alone."""
    answer = _hints(ALL[op].answer).get("return") if op in ALL else None
    if not get_args(answer) or "error" in fields or "again" in fields:
        return []  # or of a question that a test or a user registered without types
    of_fields, of_arrays = get_args(answer)
    plain = {name: field for name, field in fields.items() if name not in ("id", "arrays", "at", "of")}
    arrays = {entry["name"]: entry["dtype"] for entry in fields.get("arrays", ())}
    return _faults(plain, of_fields, op) + ([] if of_arrays is bytes else _faults(arrays, of_arrays, f"{op}: arrays"))


@cache
def _hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of, include_extras=True)


def _faults(value: Any, hint: Any, place: str) -> list[str]:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return []
    if origin is NotRequired:
        return _faults(value, inner[0], place)
    if origin is Annotated and isinstance(inner[1], str):
        return [] if value == inner[1] else [f"{place} is {value}, not {inner[1]}"]
    if origin is Annotated:
        return _faults(value, inner[1], place)
    if origin in (Union, UnionType):
        faults = [_faults(value, one, place) for one in inner]
        return [] if [] in faults else faults[0]
    if is_typeddict(hint):
        hints = _hints(hint)
        optional = {name for name, one in hints.items() if get_origin(one) is NotRequired} | hint.__optional_keys__
        if not isinstance(value, dict) or not hints.keys() - optional <= value.keys() <= hints.keys():
            return [f"{place} has {list(value) if isinstance(value, dict) else value}, not {list(hints)}"]
        return [fault for name in value for fault in _faults(value[name], hints[name], f"{place}.{name}")]
    if origin is dict and isinstance(value, dict):
        keys = [fault for name in value for fault in _faults(name, inner[0], f"a key of {place}")]
        return keys + [fault for name, one in value.items() for fault in _faults(one, inner[1], f"{place}[{name!r}]")]
    if origin in (list, tuple) and isinstance(value, list):
        types = inner if origin is tuple else inner * len(value)
        if len(types) != len(value):
            return [f"{place} has {len(value)} elements, not {len(types)}"]
        return [f for n, one in enumerate(value) for f in _faults(one, types[n], f"{place}[{n}]")]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    is_right = {
        float: is_number or isinstance(value, float) or value is None,  # NaN travels as null
        int: is_number,
    }.get(
        hint,
        value in inner if origin is Literal else origin is None and isinstance(hint, type) and isinstance(value, hint),
    )
    return [] if is_right else [f"{place} is {value!r}, no {hint}"]
