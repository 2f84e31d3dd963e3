"""Tables in files: .csv and .tsv in the dialects that programs write, .jsonl, .json, Parquet. Rows know their lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from ..base.limits import TEXT_CHARACTERS
from ..base.text_lines import opened
from ..base.textfile import lines_of, text_of
from ..errors import InputError
from .tables import Row, Table, arrow_classes, lists_of, looks_numeric, of_columns, place_of, table_of

SEPARATORS = ",;\t|"  # what Excel writes depends on the country that it is set to
TABLES, RECORDS = ("csv", "tsv", "parquet"), ("jsonl", "json")
WORKBOOKS = ("xls", "xlsx", "ods")
# How a text that holds a separator or a quote is written: by Excel and pandas, by MySQL and Spark, by GLUE's .tsv
DIALECTS: tuple[dict[str, Any], ...] = (
    {"doublequote": True},
    {"doublequote": False, "escapechar": "\\"},
    {"quoting": csv.QUOTE_NONE},
)
BLOCK = 2_000_000  # characters of rows that are read at a time
Records: TypeAlias = Iterable[tuple[int | None, Any]]  # the line, from 1, and what JSON has there
csv.field_size_limit(10_000_000)


def kind_of_file(path: Path) -> str:
    """The ending of a file's name, in small letters, without that of gzip; "" where it has none."""
    return path.name.lower().removesuffix(".gz").rpartition(".")[2] if "." in path.name else ""


def table_file(path: Path, hints: Sequence[Sequence[Any]], headless: Sequence[str] = ()) -> Table | Records | None:
    """The rows of a file: a table, or objects of JSON each with its line. None for a file of another kind.

    hints: columns that are looked for, by which the separator is told. headless: see `separated`. Raises InputError for
    what cannot be read.
    """
    kind = kind_of_file(path)
    if kind in WORKBOOKS:
        raise InputError(f"{path.name} is a workbook: save the sheet as CSV UTF-8 first")
    if kind == "parquet":
        return _parquet(path)
    if kind in ("csv", "tsv"):
        return separated(path, hints, headless)
    if kind == "json":
        return json_rows(path, json_content(path))
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


def json_content(path: Path) -> Any:
    """What a file of JSON holds. Raises InputError for what is none."""
    try:
        return json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path.name} cannot be read as JSON: {str(error)[:100]}; a row a line is .jsonl") from None


def json_rows(path: Path, content: Any) -> Table | Records:
    """A list of rows, or columns by name; also as the one list in an object, as data sets are published."""
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


def separated(path: Path, hints: Sequence[Sequence[Any]], headless: Sequence[str] = ()) -> Table:
    """The table in a file of text, whose first line names the columns: its separator and its dialect are found.

    headless: the names of two columns, an id and a text, of a file whose first line is such a row, with a tab between.
    Rows are read block by block. Raises InputError that names the row and the line for one of another number of cells.
    """
    source = path.name
    head = [*islice(_lines(path), 2)]
    skipped, separator = 0, ""
    if head and head[0][:4].lower() == "sep=" and len(head[0].strip()) <= 5:  # Excel's own way to say it
        separator, skipped = head[0][4:5].strip("\n\r") or ",", 1
    if not any(line.strip() for line in islice(_lines(path), skipped, None)):
        raise InputError(f"{source} is empty: its first line is to name the columns")
    is_row = bool(headless) and not separator and _is_row(head[0].rstrip("\r\n").split("\t"), headless, hints)
    if is_row:
        separator = "\t"
    if not separator:
        headers = {mark: next(csv.reader(head[:1], delimiter=mark), []) for mark in SEPARATORS}
        # the one that finds columns that are looked for; else the one that finds most, for the error
        separator = max(
            SEPARATORS,
            key=lambda mark: (any(all(n in headers[mark] for n in names) for names in hints), len(headers[mark])),
        )
    header = [*headless] if is_row else []
    names = [name.strip() for name in next(_blocks(path, separator, skipped, header)).header]

    def rows(wanted: Sequence[Any]) -> Iterator[Row]:
        places = [names.index(name) for name in wanted]
        lists: set[int] | None = None  # columns of lists as they print: the first rows tell
        for block in _blocks(path, separator, skipped, header):
            columns = [[row[place] for row in block.rows] for place in places]
            read = [lists_of(column) for column in columns]
            now = {n for n, column in enumerate(columns) if column and read[n] is not column}
            lists = now if lists is None else lists
            for n in lists - now if block.rows else ():
                row = next(k for k, cell in enumerate(columns[n]) if isinstance(lists_of([cell])[0], str))
                place = place_of(block.first + row, block.lines[row], source, wanted[n])
                raise InputError(f"{place}: that is no list, as in the rows before")
            cells = [read[n] if n in lists else column for n, column in enumerate(columns)]
            yield from zip(block.lines, zip(*cells, strict=True), strict=True)

    return Table(names, rows, source)


def _is_row(cells: Sequence[str], headless: Sequence[str], hints: Sequence[Sequence[Any]]) -> bool:
    """Whether a first line is an id and a text rather than names: a number, or a word with a digit before a text of
    several words."""
    if len(cells) != len(headless) or any(all(name in cells for name in names) for names in hints):
        return False
    name, text = (cell.strip() for cell in cells)
    if not text or looks_numeric(text) or len(name.split()) != 1:
        return False
    return looks_numeric(name) or (any(map(str.isdigit, name)) and len(text.split()) > 1)


def _lines(path: Path) -> Iterator[str]:
    for number, line in enumerate(lines_of(path), 1):
        if "\0" in line:
            raise InputError(f"line {number} of {path.name} is no text: it holds zero bytes")
        yield line


@dataclass(frozen=True)
class RowBlock:
    """Rows that follow each other in a file, under its header: the number of the first, from 0, the line in which each
    begins and the line behind them, from 1."""

    header: list[str]
    first: int
    rows: list[list[str]]
    lines: list[int]
    end: int


def _blocks(path: Path, separator: str, skipped: int, header: Sequence[str]) -> Iterator[RowBlock]:
    """The rows of a file, in the dialect that its first quote or backslash tells, and a block of lines behind it.

    header: none where the first line is it. Lines before that are the same rows in each dialect.
    """
    lines = islice(_lines(path), skipped, None)
    dialect: dict[str, Any] | None = None
    block = RowBlock([*header], 0, [], [], 1 + skipped)
    unread: list[str] = []  # lines, of a row that goes on
    goes_on = True
    while goes_on:
        goes_on = _more(lines, unread)
        if dialect is None and not any('"' in line or "\\" in line for line in unread):
            following = _in_dialect(unread, separator, DIALECTS[0], path.name, block, goes_on)
        else:
            if dialect is None:
                goes_on = goes_on and _more(lines, unread)
            dialect, following = _cells(unread, separator, path.name, block, goes_on, dialect)
        del unread[: following.end - block.end]
        block = following
        yield block


def _more(lines: Iterator[str], unread: list[str]) -> bool:
    """Add a block of lines; whether the file may go on behind it."""
    size = 0
    for line in lines:
        unread.append(line)
        size += len(line)
        if size >= BLOCK:
            return True
    return False


def _cells(
    lines: list[str], separator: str, source: str, before: RowBlock, goes_on: bool, dialect: dict[str, Any] | None
) -> tuple[dict[str, Any], RowBlock]:
    """The rows of lines in the first dialect that reads rows of one size. dialect: that of the rows before.

    Hardly a text holds a tab: where every line alone is a row of a table with tabs, no quote joins two of them.
    """
    errors: list[InputError] = []
    sound: list[tuple[dict[str, Any], RowBlock]] = []
    for option in sorted(DIALECTS, key=lambda option: option is not dialect):
        if "escapechar" in option and option is not dialect and not any('\\"' in line for line in lines):
            continue  # Python's reader would join what stands behind a quote to it
        try:
            sound.append((option, _in_dialect(lines, separator, option, source, before, goes_on)))
        except InputError as error:
            errors.append(error)
        if sound and separator != "\t":
            break
    if not sound:
        raise errors[0]
    option, block = max(sound, key=lambda pair: len(pair[1].rows))
    if dialect in (None, option):
        return option, block
    if sound[0][0] is not dialect:
        raise errors[0]
    line = next(
        alone for joined, alone in zip([*sound[0][1].lines, None], block.lines, strict=False) if joined != alone
    )
    raise InputError(
        f"line {line} of {source} is a row of its own, unless a quote joins it to others: texts are to be quoted "
        "throughout, or not at all"
    )


def _in_dialect(
    lines: list[str], separator: str, dialect: dict[str, Any], source: str, before: RowBlock, goes_on: bool
) -> RowBlock:
    """The rows of lines behind a block. Where the file goes on, a last row that is not complete is left out."""
    reader = csv.reader(lines, delimiter=separator, strict=True, **dialect)
    first, start = before.first + len(before.rows), before.end
    header, rows, starts = before.header, list[list[str]](), list[int]()
    try:
        header = header or next(reader)
        while True:
            start = before.end + reader.line_num
            row = next(reader, None)
            if row is None:
                break
            if row:
                if len(row) != len(header):
                    raise InputError(
                        f"{place_of(first + len(rows), start, source)} has {len(row)} fields, the first line has "
                        f"{len(header)}: a text that holds {separator!r} or a quote is to be quoted"
                    )
                rows.append(row)
                starts.append(start)
    except csv.Error as error:
        is_cut = goes_on and bool(header) and "unexpected end" in str(error)
        if not is_cut or sum(map(len, lines[start - before.end :])) > TEXT_CHARACTERS:
            raise InputError(f"line {start} of {source} cannot be read: {error}") from None
    return RowBlock(header, first, rows, starts, start)
