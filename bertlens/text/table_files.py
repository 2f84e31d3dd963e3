"""Tables in files: .csv and .tsv in the dialects that programs write, .jsonl, .json, Parquet. Rows know their lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ..base.text_lines import opened
from ..base.textfile import text_of
from ..errors import InputError
from .tables import Row, Table, arrow_classes, of_columns, place_of, table_of

SEPARATORS = ",;\t|"  # what Excel writes depends on the country that it is set to
TABLES, RECORDS = ("csv", "tsv", "parquet"), ("jsonl", "json")
WORKBOOKS = ("xls", "xlsx", "ods")
# How a text that holds a separator or a quote is written: by Excel and pandas, by MySQL and Spark, by GLUE's .tsv
DIALECTS: tuple[dict[str, Any], ...] = (
    {"doublequote": True},
    {"doublequote": False, "escapechar": "\\"},
    {"quoting": csv.QUOTE_NONE},
)
Content: TypeAlias = tuple[list[str], list[list[str]], list[int]]
Records: TypeAlias = Iterable[tuple[int | None, Any]]  # the line, from 1, and what JSON has there
csv.field_size_limit(10_000_000)


def kind_of_file(path: Path) -> str:
    """The ending of a file's name, in small letters, without that of gzip; "" where it has none."""
    return path.name.lower().removesuffix(".gz").rpartition(".")[2] if "." in path.name else ""


def table_file(path: Path, hints: Sequence[Sequence[Any]]) -> Table | Records | None:
    """The rows of a file: a table, or objects of JSON each with its line. None for a file of another kind.

    hints: columns that are looked for, by which the separator is told. Raises InputError for what cannot be read.
    """
    kind = kind_of_file(path)
    if kind in WORKBOOKS:
        raise InputError(f"{path.name} is a workbook: save the sheet as CSV UTF-8 first")
    if kind == "parquet":
        return _parquet(path)
    if kind in ("csv", "tsv"):
        return separated(path, hints)
    if kind == "json":
        return _json(path)
    return json_lines(path) if kind == "jsonl" else None


def json_lines(path: Path) -> Records:
    """What stands in each line that is not blank, with its number. Raises InputError for what is no JSON."""
    with opened(path) as lines:
        for line in lines:
            if not line.isspace():
                try:
                    yield lines.number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise lines.error(f"cannot be read as JSON: {str(error)[:100]}") from None


def _json(path: Path) -> Table | Records:
    """A list of rows, or columns by name; also as the one list in an object, as data sets are published."""
    try:
        content = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path.name} cannot be read as JSON: {str(error)[:100]}; a row a line is .jsonl") from None
    if isinstance(content, dict) and len(content) == 1 and all(_is_records(rows) for rows in content.values()):
        [content] = content.values()
    if isinstance(content, dict):
        table = table_of(content)
        assert table is not None
        return Table(table.names, table.rows, path.name, table.size)
    if not isinstance(content, list):
        raise InputError(f"{path.name} holds no list of rows, nor columns by name")
    return [(None, row) for row in content]


def _is_records(rows: Any) -> bool:
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], dict)


def _parquet(path: Path) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError("Parquet files need the library pyarrow: pip install pyarrow") from None
    try:
        file = parquet.ParquetFile(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise _unreadable(path, error) from None

    def rows(names: Sequence[Any]) -> Iterator[Row]:
        try:
            for batch in file.iter_batches(columns=list(names)):
                yield from of_columns([batch.column(name) for name in names])
        except (OSError, pyarrow.ArrowException) as error:
            raise _unreadable(path, error) from None

    schema = file.schema_arrow
    return Table(list(schema.names), rows, path.name, file.metadata.num_rows, arrow_classes(schema))


def _unreadable(path: Path, error: Exception) -> InputError:
    why = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(f"{path.name} cannot be read as Parquet: {why[:150]}")


def separated(path: Path, hints: Sequence[Sequence[Any]]) -> Table:
    """The table in a file of text, whose first line names the columns: its separator and its dialect are found.

    Raises InputError that names the row and the line for a row of another number of cells.
    """
    text, source = text_of(path), path.name
    if "\0" in text:
        raise InputError(f"{source} is no text: it holds zero bytes")
    lines = list(io.StringIO(text, newline=""))  # lines end in any of the three ways, and keep their ends
    skipped, separator = 0, ""
    if lines and lines[0][:4].lower() == "sep=" and len(lines[0].strip()) <= 5:  # Excel's own way to say it
        separator, skipped = lines[0][4:5].strip("\n\r") or ",", 1
    if not text.strip() or len(lines) <= skipped:
        raise InputError(f"{source} is empty: its first line is to name the columns")
    if not separator:
        headers = {mark: next(csv.reader([lines[skipped]], delimiter=mark), []) for mark in SEPARATORS}
        # the one that finds columns that are looked for; else the one that finds most, for the error
        separator = max(
            SEPARATORS,
            key=lambda mark: (any(all(n in headers[mark] for n in names) for names in hints), len(headers[mark])),
        )
    header, rows, starts = _cells(lines[skipped:], separator, source, skipped)
    names = [name.strip() for name in header]

    def of_names(wanted: Sequence[Any]) -> Iterator[Row]:
        places = [names.index(name) for name in wanted]
        return of_columns([[row[place] for row in rows] for place in places], starts)

    return Table(names, of_names, source, len(rows))


def _cells(lines: list[str], separator: str, source: str, skipped: int) -> Content:
    """The header, the rows, and the line in which each begins, in the first dialect that reads rows of one size.

    Hardly a text holds a tab: where every line alone is a row of a table with tabs, no quote joins two of them.
    """
    errors: list[InputError] = []
    sound: list[Content] = []
    for dialect in DIALECTS:
        if "escapechar" in dialect and not any('\\"' in line for line in lines):
            continue  # Python's reader would join what stands behind a quote to it
        try:
            sound.append(_in_dialect(lines, separator, dialect, source, skipped))
        except InputError as error:
            errors.append(error)
        if sound and separator != "\t":
            break
    if not sound:
        raise errors[0]
    return max(sound, key=lambda content: len(content[1]))


def _in_dialect(lines: list[str], separator: str, dialect: dict[str, Any], source: str, skipped: int) -> Content:
    reader = csv.reader(lines, delimiter=separator, strict=True, **dialect)
    rows: list[list[str]] = []
    starts: list[int] = []
    start = 1 + skipped
    try:
        header = next(reader)
        while True:
            start = reader.line_num + 1 + skipped
            row = next(reader, None)
            if row is None:
                return header, rows, starts
            if row:
                if len(row) != len(header):
                    raise InputError(
                        f"{place_of(len(rows), start, source)} has {len(row)} fields, the first line names "
                        f"{len(header)} columns: a text that holds {separator!r} or a quote is to be quoted"
                    )
                rows.append(row)
                starts.append(start)
    except csv.Error as error:
        raise InputError(f"line {start} of {source} cannot be read: {error}") from None
