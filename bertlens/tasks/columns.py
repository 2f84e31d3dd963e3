"""Columns of labelled data, wherever they come from: a file, a table, a data set, a list. Every row knows its place."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.paths import as_path
from ..base.textfile import text_of
from ..errors import InputError, excerpt

SEPARATORS = ",;\t|"  # of tables: what Excel writes depends on the country that it is set to
NAMED = 12  # columns that an error lists
csv.field_size_limit(10_000_000)


@dataclass(frozen=True)
class Columns:
    """Columns by name, all of one length. lines: of the file, from 1, where there is one."""

    values: dict[str, list[Any]]
    source: str = ""  # the file's name
    lines: list[int] = field(default_factory=list)
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)  # column: what its data set calls 0, 1, …

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def place(self, row: int, column: str = "") -> str:
        """Where a value stands, as errors name it; rows count from 0."""
        line = f" (line {self.lines[row]} of {self.source})" if self.lines else ""
        return f"row {row}{line}" + (f", column {excerpt(column)}" if column else "")


def columns(examples: Any, required: Sequence[str], optional: Sequence[str] = (), lists: bool = False) -> Columns:
    """The wanted columns, and those optional ones that are there. lists: two words are no pair of texts.

    examples: a file (.csv, .tsv, .txt: a table whose separator is found; .jsonl: an object a line; also gzipped), a
    pandas DataFrame, a Hugging Face data set, dictionaries, or (text, label) pairs, where the text may be a pair.
    Raises InputError that names the row, the column or the file for anything else.
    """
    if isinstance(examples, str | Path):
        return _file(as_path(examples, "a file of examples"), required, optional)
    names = getattr(examples, "column_names", None)
    if isinstance(names, dict):
        raise InputError(f"this data set has the splits {', '.join(map(str, names))}: give one, such as data['train']")
    if names is None and hasattr(examples, "iloc") and hasattr(examples, "columns"):
        names = list(examples.columns)
    if names is not None:
        selection = _chosen([*names], required, optional, "")
        features = getattr(examples, "features", None) or {}  # of Hugging Face; of tags, those of each
        kinds = {name: getattr(features.get(name), "feature", features.get(name)) for name in selection}
        classes = {name: getattr(kind, "names", None) or () for name, kind in kinds.items()}
        return Columns({name: list(examples[name]) for name in selection}, classes=classes)
    if isinstance(examples, bytes) or not isinstance(examples, Iterable):
        raise InputError(
            "examples are a file (.csv, .tsv, .jsonl), a DataFrame, a data set, or a list of dictionaries or "
            f"(text, label) pairs, not a {type(examples).__name__}"
        )
    rows = list(examples)
    if not rows:
        raise InputError("there is no example")
    if isinstance(rows[0], dict):
        return _dictionaries(rows, required, optional, Columns({}))
    return _pairs(rows, required, lists)


def _chosen(names: list[Any], required: Sequence[str], optional: Sequence[str], source: str) -> list[str]:
    where = f" in {source}" if source else ""
    for name in required:
        if (count := names.count(name)) != 1:
            listed = ", ".join(map(repr, names[:NAMED])) + (", …" if len(names) > NAMED else "")
            what = "no column" if not count else f"{count} columns"
            raise InputError(f"{what} {name!r}{where}: there are {listed}; name them by text=, text_pair= and label=")
    return [*required, *(name for name in optional if names.count(name) == 1 and name not in required)]


def _dictionaries(rows: list[Any], required: Sequence[str], optional: Sequence[str], at: Columns) -> Columns:
    selection = _chosen([*rows[0]], required, optional, at.source)
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"{at.place(number)} is a {type(row).__name__}, not a dictionary as the first one")
        for name in selection:
            if name not in row:
                raise InputError(f"{at.place(number, name)}: there is none in this row")
    return Columns({name: [row[name] for row in rows] for name in selection}, at.source, at.lines)


def _pairs(rows: list[Any], required: Sequence[str], lists: bool) -> Columns:
    texts: list[Any] = []
    for number, row in enumerate(rows):
        if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != 2:
            raise InputError(f"row {number} is no (text, label) pair: {excerpt(row, 60)}")
        texts.append(row[0])
    table: dict[str, list[Any]] = {}
    if not lists and all(isinstance(text, tuple | list) and len(text) == 2 for text in texts):
        table = {required[0]: [text[0] for text in texts], "text_pair": [text[1] for text in texts]}
        if len(required) == 3:
            table[required[1]] = table.pop("text_pair")
    elif len(required) == 3:
        raise InputError(f"a pair of texts is ((text, text), label), or leave text_pair={excerpt(required[1])} out")
    else:
        table = {required[0]: texts}
    return Columns(table | {required[-1]: [row[1] for row in rows]})


def _file(path: Path, required: Sequence[str], optional: Sequence[str]) -> Columns:
    kind = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    if kind in ("xls", "xlsx", "ods"):
        raise InputError(f"{path.name} is a workbook: save the sheet as CSV UTF-8 first")
    if kind not in ("csv", "tsv", "txt", "jsonl"):
        raise InputError(f"{path.name} is no file of examples: give .csv, .tsv or .jsonl")
    text = text_of(path)
    if "\0" in text:
        raise InputError(f"{path.name} is no text: it holds zero bytes")
    if kind == "jsonl":
        return _jsonl(text, path.name, required, optional)
    return _table(text, path.name, required, optional)


def _table(text: str, source: str, required: Sequence[str], optional: Sequence[str]) -> Columns:
    lines = list(io.StringIO(text, newline=""))  # lines end in any of the three ways, and keep their ends
    skipped, separator = 0, ""
    if lines and lines[0][:4].lower() == "sep=" and len(lines[0].strip()) <= 5:  # Excel's own way to say it
        separator, skipped = lines[0][4:5].strip("\n\r") or ",", 1
    if not text.strip() or len(lines) <= skipped:
        raise InputError(f"{source} is empty: its first line is to name the columns")
    if not separator:
        headers = {sep: next(csv.reader([lines[skipped]], delimiter=sep), []) for sep in SEPARATORS}
        # the one that finds the wanted columns; else the one that finds most, for the error
        separator = max(SEPARATORS, key=lambda sep: (all(name in headers[sep] for name in required), len(headers[sep])))
    reader = csv.reader(lines[skipped:], delimiter=separator)
    try:
        names = [name.strip() for name in next(reader)]
        selection = _chosen(names, required, optional, source)
        places = [names.index(name) for name in selection]
        at: list[int] = []
        rows: list[list[str]] = []
        line = reader.line_num
        for row in reader:
            if row:
                if len(row) != len(names):
                    number = len(rows)
                    raise InputError(
                        f"row {number} (line {line + 1 + skipped} of {source}) has {len(row)} fields, the first line "
                        f"names {len(names)} columns: a text that holds {separator!r} or a quote is to be quoted"
                    )
                rows.append(row)
                at.append(line + 1 + skipped)
            line = reader.line_num
    except csv.Error as error:
        raise InputError(f"line {reader.line_num + skipped} of {source} cannot be read: {error}") from None
    if not rows:
        raise InputError(f"{source} has no example below its first line")
    return Columns({name: [row[i] for row in rows] for name, i in zip(selection, places, strict=True)}, source, at)


def _jsonl(text: str, source: str, required: Sequence[str], optional: Sequence[str]) -> Columns:
    rows, at = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number} of {source} cannot be read as JSON: {str(error)[:100]}") from None
        at.append(number)
    if not rows:
        raise InputError(f"{source} is empty")
    if not isinstance(rows[0], dict):
        raise InputError(f"line {at[0]} of {source} is no JSON object with a text and a label")
    return _dictionaries(rows, required, optional, Columns({}, source, at))
