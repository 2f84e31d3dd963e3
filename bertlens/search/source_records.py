"""What a source of questions, passages or judgements holds: rows with their places, cells asked for by role."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

from ..base.paths import as_path
from ..errors import InputError, excerpt
from ..text.encoding import check_text
from ..text.folders import folder_table
from ..text.table_files import json_content, json_rows, kind_of_file, table_file
from ..text.tables import NAMED, Table, check_names, place_of, table_of
from ..text.texts import entries
from .collection_files import marked_records

_WHOLE = re.compile(r"(-?\d+)\.0")


class Fields(NamedTuple):
    """Under which names a source has what is read of it."""

    what: str  # as errors name all that it holds
    names: Mapping[
        str, tuple[Any, ...]
    ]  # role -> columns, of which the first is taken that has something; errors name the last
    needs: tuple[str, ...]  # the roles that a table has a column for; what is no row of a table is the first
    way: str  # out, where it has none
    headless: tuple[str, ...] = ()  # the columns of a file with tabs whose first line is a row
    lists: tuple[str, ...] = ()  # columns that stand for all needs but the first

    def cell(self, record: Mapping[Any, Any], role: str) -> Any:
        """None where it is missing."""
        cells = (record.get(name) for name in self.names.get(role, ()))
        return next((cell for cell in cells if not is_missing(cell)), None)

    def id(self, record: Mapping[Any, Any], role: str, place: str) -> str:
        """Empty where it is missing. Raises InputError for a list, and for half a character."""
        cell = self.cell(record, role)
        return "" if cell is None else checked_id(cell, place)


def is_missing(cell: Any) -> bool:
    """None, NaN, and what pandas has for them."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, Number) and cell != cell)


def as_id(cell: Any) -> str:
    """A column of numbers of which some are missing has 12.0 for 12."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()


def checked_id(cell: Any, place: str) -> str:
    """As `as_id`. Raises InputError for a list or a dictionary, and for half a character."""
    if isinstance(cell, Mapping | list | tuple | set):
        raise InputError(f"{place}: an id is a text or a number, not {excerpt(cell)}")
    name = as_id(cell)
    check_text(name, f"an id of {place}")
    return name


def whole_ids(ids: list[str]) -> list[str]:
    """Where all that are there end in .0, as a table of text has a column of numbers, the numbers without it."""
    if not all(not name or _WHOLE.fullmatch(name) for name in ids):
        return ids
    return [name.removesuffix(".0") for name in ids]


def id_among(name: str, ids: Container[str]) -> str:
    """An id as others write it: 12 for 12.0, or 12.0 for 12, where only that is there."""
    number = _WHOLE.fullmatch(name)
    writing = number[1] if number else f"{name}.0"
    return writing if name not in ids and writing in ids else name


def row_of(item: Any) -> Mapping[Any, Any] | None:
    """The cells by name of a dictionary, a named tuple or a data class; None of anything else."""
    if isinstance(item, Mapping):
        return item
    if hasattr(item, "_asdict"):
        cells: Mapping[Any, Any] = item._asdict()
        return cells
    return vars(item) if dataclasses.is_dataclass(item) and not isinstance(item, type) else None


def columns_of(record: Mapping[Any, Any]) -> str:
    """The names that a row has, as errors list them."""
    listing = ", ".join(map(repr, [*record][:NAMED])) + (", …" if len(record) > NAMED else "")
    return f"there are {listing}" if record else "there is nothing in it"


def records(source: Any, fields: Fields) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """What a source holds in its order: the place, and cells by name."""
    contents: Iterable[tuple[str, Any]]
    if isinstance(source, str | Path):
        contents = _of_file(as_path(source, fields.what), fields)
    elif isinstance(source, Mapping) and not is_columns(source):
        contents = _of_mapping(source, fields.what, fields)
    elif (table := table_of(source)) is not None:
        contents = _of_table(table, fields)
    elif isinstance(source, set | frozenset):
        raise InputError(
            f"{fields.what} in a set have no order, so that nothing counts them: give a list or {{id: text}}"
        )
    else:
        items = [*source] if isinstance(source, Iterable) and not hasattr(source, "__array__") else source
        if isinstance(items, list) and items and row_of(items[0]) is not None:
            contents = ((f"item {at} of {fields.what}", item) for at, item in enumerate(items))
        else:
            contents = ((entry.place, entry.item) for entry in entries(items, None, fields.what, pairs=False))
    return ((place, _row(item, fields)) for place, item in contents)


def is_columns(source: Mapping[Any, Any]) -> bool:
    """Whether a dictionary is a table, {column: cells}, or several tables, rather than {id: text}."""
    return bool(source) and all(
        (hasattr(cells, "__len__") and not isinstance(cells, str | bytes | Mapping) and row_of(cells) is None)
        or hasattr(cells, "column_names")
        for cells in source.values()
    )


def _of_mapping(source: Mapping[Any, Any], name: str, fields: Fields) -> Iterator[tuple[str, Any]]:
    return ((f"{excerpt(key)} of {name}", {**_row(item, fields), "_id": key}) for key, item in source.items())


def _of_file(path: Path, fields: Fields) -> Iterable[tuple[str, Any]]:
    if not path.exists():
        raise InputError(f"no {fields.what} at {path}: name a file, or give a table, a dictionary or a list")
    hints = [(name,) for name in fields.names[fields.needs[0]]]
    if path.is_dir():
        content = folder_table(path, hints, fields.headless)
        if content is None:
            raise InputError(f"{path} is a folder of other files than tables and rows: name a file of {fields.what}")
    elif kind_of_file(path) == "json":
        by_name = json_content(path)
        if isinstance(by_name, dict) and not is_columns(by_name):
            return _of_mapping(by_name, path.name, fields)
        content = json_rows(path, by_name)
    else:
        content = table_file(path, hints, fields.headless)
    if isinstance(content, Table):
        return _of_table(content, fields)
    if content is not None:
        return (
            (f"item {at} of {path.name}" if line is None else f"line {line} of {path.name}", item)
            for at, (line, item) in enumerate(content)
        )
    if (marked := marked_records(path)) is not None:
        return marked
    return ((entry.place, entry.item) for entry in entries(path, None, fields.what, pairs=False))


def _of_table(table: Table, fields: Fields) -> Iterator[tuple[str, Any]]:
    has_lists = any(name in table.names for name in fields.lists)
    for names in (fields.names[role] for role in fields.needs[: 1 if has_lists else None]):
        if not any(name in table.names for name in names):
            check_names(table.names, names[-1:], table.source, fields.way)
    columns = [*dict.fromkeys(name for names in fields.names.values() for name in names if name in table.names)]
    check_names(table.names, columns, table.source, fields.way)
    for at, (line, cells) in enumerate(table.rows(columns)):
        yield place_of(at, line, table.source), dict(zip(columns, cells, strict=True))


def _row(item: Any, fields: Fields) -> Mapping[Any, Any]:
    cells = row_of(item)
    return {fields.names[fields.needs[0]][-1]: item} if cells is None else cells
