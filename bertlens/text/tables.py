"""Tables in memory: frames, data sets, Arrow, columns by name. All are rows of cells under the names of columns."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from ..errors import InputError, excerpt

NAMED = 12  # columns that an error lists
BATCH = 100  # rows of a data set that are read together
Row: TypeAlias = tuple[int | None, tuple[Any, ...]]  # the line of the file that it begins in, from 1; its cells
_PLAIN = (str, int, float, bytes, Mapping, type(None))
_CELL = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|-?(?:0|[1-9]\d*)(?:\.\d*)?"
_WRITTEN_LIST = re.compile(rf"\s*\[\s*(?:(?:{_CELL})(?:[\s,]+(?:{_CELL}))*)?[\s,]*\]\s*")
_WRITTEN_CELL = re.compile(_CELL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SEPARATED = re.compile(r"\.(?:csv|tsv|txt)(?:\.gz)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Columns:
    """Columns by name, all of one length. lines: of the file, from 1, where there is one."""

    values: dict[Any, list[Any]]
    source: str = ""  # the file's name
    lines: list[int] = field(default_factory=list)
    classes: Mapping[Any, list[str]] = field(default_factory=dict)  # column -> what a data set calls 0, 1, …

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def place(self, row: int, column: Any = "") -> str:
        """Where a cell stands, as errors name it; rows count from 0."""
        return place_of(row, self.lines[row] if self.lines else None, self.source, column)


@dataclass(frozen=True)
class Table:
    """Rows under the names of columns, which are read when they are asked for, and only these columns."""

    names: list[Any]
    rows: Callable[[Sequence[Any]], Iterator[Row]]
    source: str = ""  # the file's name
    size: int | None = None  # rows; None where only reading them would tell
    classes: Mapping[Any, list[str]] = field(default_factory=dict)

    def columns(self, names: Sequence[Any], limit: int | None = None) -> Columns:
        """These columns, of the first `limit` rows."""
        lines, cells = [], []
        for line, row in islice(self.rows(names), limit):
            lines.append(line)
            cells.append(row)
        columns = zip(*cells, strict=True) if cells else ((),) * len(names)
        by_name = dict(zip(names, map(list, columns), strict=True))
        return Columns(by_name, self.source, [line for line in lines if line is not None], self.classes)


def place_of(row: int, line: int | None, source: str, column: Any = "") -> str:
    """Where a cell stands, as errors name it; rows count from 0, lines from 1."""
    where = f" (line {line} of {source})" if line is not None else f" of {source}" if source else ""
    return f"row {row}{where}" + ("" if column == "" else f", column {excerpt(column)}")


def check_names(names: Sequence[Any], needed: Sequence[Any], source: str, way: str) -> None:
    """Raises InputError, which names all columns and the way out, where a needed one is not there exactly once."""
    for name in needed:
        if (count := list(names).count(name)) != 1:
            if not count and _SEPARATED.search(source) and any(looks_numeric(str(column)) for column in names):
                way = f"if its first line is a row, put one above it that names the columns, else {way}"
            listing = ", ".join(map(repr, names[:NAMED])) + (", …" if len(names) > NAMED else "")
            what = "no column" if not count else f"{count} columns"
            raise InputError(f"{what} {name!r}{f' in {source}' if source else ''}: there are {listing}; {way}")


def looks_numeric(cell: str) -> bool:
    """Whether a cell of a file of text is a number, which hardly a column is called."""
    return bool(_NUMBER.fullmatch(cell.strip()))


def table_of(source: Any) -> Table | None:
    """The table that an object is: a pandas, polars or Arrow one, a data set of Hugging Face, {name: column}.

    None where it is no table. Raises InputError for several tables in one, and for columns of several lengths.
    """
    names = getattr(source, "column_names", None)
    if isinstance(names, dict) or (isinstance(source, Mapping) and any(map(_is_table, source.values()))):
        splits = ", ".join(map(str, source if names is None else names))
        raise InputError(f"this data set has the splits {splits}: give one, such as data['train']")
    if hasattr(source, "select_columns"):
        return _data_set(source, names)
    if type(source).__name__ == "LazyFrame":
        source = source.collect()
    if names is None and _is_table(source):
        names = source.columns
    if isinstance(source, Mapping):
        names = list(source)
        if not names:
            raise InputError("the dictionary is empty: a table of columns is {'text': [text, text]}")
        if any(isinstance(column, str) or not hasattr(column, "__len__") for column in source.values()):
            raise InputError(
                "a dictionary is a table of columns, as {'text': [text, text]}: an example goes in a list of them"
            )
        if len(sizes := {len(column) for column in source.values()}) > 1:
            raise InputError(
                f"the columns {', '.join(map(repr, names[:NAMED]))} have {sorted(sizes)} rows, not one number"
            )
    if names is None:
        return None
    size = len(source[names[0]]) if isinstance(source, Mapping) else len(source) if hasattr(source, "__len__") else None
    return Table(list(names), lambda wanted: of_columns([source[name] for name in wanted]), size=size,
                 classes=arrow_classes(getattr(source, "schema", None)))  # fmt: skip


def _is_table(source: Any) -> bool:
    return hasattr(source, "column_names") or (hasattr(source, "columns") and hasattr(source, "shape"))


def _data_set(source: Any, names: Sequence[Any] | None) -> Table:
    """Of Hugging Face, in memory or streaming."""
    row = next(iter(source), None) if names is None else None
    names = list(names or row or ())
    features = dict(getattr(source, "features", None) or {})

    def rows(wanted: Sequence[Any]) -> Iterator[Row]:
        for batch in source.select_columns(list(wanted)).iter(BATCH):
            yield from of_columns([batch[name] for name in wanted])

    named = {name: getattr(getattr(kind, "feature", kind), "names", None) for name, kind in features.items()}
    size = len(source) if hasattr(source, "__len__") else None
    return Table(names, rows, size=size, classes={name: labels for name, labels in named.items() if labels})


def arrow_classes(schema: Any) -> dict[Any, list[str]]:
    """What the data set that an Arrow schema was written from calls its classes: {column: names}."""
    import json

    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
    named = {
        name: (kind.get("feature") or kind).get("names") for name, kind in features.items() if isinstance(kind, dict)
    }
    return {name: labels for name, labels in named.items() if labels}


def of_columns(columns: Iterable[Any], lines: Sequence[int] | None = None) -> Iterator[Row]:
    """The rows of columns of one length, as Python has their cells. lines: where each row begins."""
    cells = [lists_of(cells_of(column)) for column in columns]
    for number, row in enumerate(zip(*cells, strict=True)):
        yield None if lines is None else lines[number], row


def cells_of(column: Any) -> list[Any]:
    """A column, or an array, as a list of what Python has itself: of numpy, torch, Arrow, pandas or polars."""
    method = next((name for name in ("to_pylist", "to_list", "tolist") if hasattr(column, name)), None)
    return [plain(cell) for cell in (column if method is None else getattr(column, method)())]


def plain(cell: Any) -> Any:
    """A cell as Python has it: a number, a string, a list."""
    if isinstance(cell, _PLAIN):
        return cell
    if isinstance(cell, list):
        return [plain(member) for member in cell]
    method = next((name for name in ("as_py", "tolist", "to_list") if hasattr(cell, name)), None)
    return cell if method is None else getattr(cell, method)()


def lists_of(cells: list[Any]) -> list[Any]:
    """Lists that a table of text has as they print, "['O', 'B-CAT']", with commas or without: if all cells are so."""
    strings = [cell for cell in cells if isinstance(cell, str)]
    if not strings or not all(map(_WRITTEN_LIST.fullmatch, strings)) or any(isinstance(c, list) for c in cells):
        return cells
    try:
        return [
            [ast.literal_eval(piece) for piece in _WRITTEN_CELL.findall(cell)] if isinstance(cell, str) else cell
            for cell in cells
        ]
    except (SyntaxError, ValueError):  # an escape that is none
        return cells
