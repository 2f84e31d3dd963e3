"""The page's types of answers, js/src/generated/answers.ts: made of what the functions that answer are annotated with.

A function returns `tuple[Fields, Arrays]`: each a TypedDict that stands beside it, `Nothing`, or a dict of one kind of
value. Arrays are those of base/wire.py, and on the page what they are once decoded; `Annotated[Any, list[str]]` is what
becomes such a list as JSON, a numpy array or a table's records.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from typing_extensions import NotRequired, get_original_bases, get_type_hints, is_typeddict

from ..base.registered import room
from ..base.wire import AnyArray
from .messages.records import Again, Nothing
from .questions import QUESTIONS

search = room("bertlens.search.view.case_questions")

_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null", Any: "unknown"}
Interfaces = dict[str, tuple[Any, str]]  # by name: the class, and its text


def answers() -> str:
    """The text of js/src/generated/answers.ts."""
    interfaces: Interfaces = {}
    _named(Again, interfaces)
    schemas = [
        line
        for about, schema, questions in (
            ("By the names of the questions.", "Schema", QUESTIONS),
            ("Of a search.", "SearchSchema", search.QUESTIONS or {}),
        )
        for line in (
            "",
            f"/** {about} */",
            f"export type {schema} = {{",
            *(f"  {name}: {_answer(question.answer, interfaces)};" for name, question in questions.items()),
            "};",
        )
    ]
    return "\n".join(
        [
            "// What Python and the model in a page answer; `python -m bertlens.widgets.typescript` writes this.",
            "// Do not edit: change what the functions of widgets/questions.py return",
            "",
            f"export type AnyArray = {' | '.join(_type(kind, interfaces) for kind in get_args(AnyArray))};",
            *(text for _, text in interfaces.values()),
            *schemas,
            "",
        ]
    )


def _answer(function: Callable[..., Any], interfaces: Interfaces) -> str:
    fields, arrays = get_args(get_type_hints(function, include_extras=True)["return"])
    arrays = Nothing if arrays is bytes else arrays  # a file
    return f"{{ fields: {_type(fields, interfaces)}; arrays: {_type(arrays, interfaces)} }}"


def _type(hint: Any, interfaces: Interfaces) -> str:
    """A type as TypeScript has it; classes of records are put among the interfaces."""
    if is_typeddict(hint):
        return _named(hint, interfaces)
    if hint == AnyArray:
        return "AnyArray"
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return f"{inner[1].capitalize()}Array" if isinstance(inner[1], str) else _type(inner[1], interfaces)
    if origin is Literal:
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in inner)
    types = [_type(one, interfaces) for one in inner if one is not ...]
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(types))
    if origin is dict:
        return f"Record<{types[0]}, {types[1]}>"
    if origin is list or (origin is tuple and Ellipsis in inner):
        is_union = get_origin(inner[0]) in (Literal, Union, UnionType)
        return f"({types[0]})[]" if is_union else f"{types[0]}[]"
    if origin is tuple:
        return f"[{', '.join(types)}]"
    raise TypeError(f"an answer holds {hint!r}, which has no type on the page: widgets/answer_types.py")


def _named(record: Any, interfaces: Interfaces) -> str:
    name = record.__name__
    if name not in interfaces:
        interfaces[name] = record, ""  # it may hold records of its own kind
        bases = [base for base in get_original_bases(record) if is_typeddict(base)]
        inherited = {field for base in bases for field in base.__annotations__}
        fields = []
        for field, hint in get_type_hints(record, include_extras=True).items():
            if field in inherited:
                continue
            origin: Any = get_origin(hint)
            is_optional = origin is NotRequired or field in record.__optional_keys__
            hint = get_args(hint)[0] if origin is NotRequired else hint
            fields.append(f"{field}{'?' if is_optional else ''}: {_type(hint, interfaces)}")
        terms = [_named(base, interfaces) for base in bases]
        terms += [f"{{ {'; '.join(fields)} }}"] if fields else [] if terms else ["Record<never, never>"]
        interfaces[name] = record, f"export type {name} = {' & '.join(terms)};"
    if interfaces[name][0] is not record:
        raise TypeError(f"two records of answers are named {name}")
    return name
