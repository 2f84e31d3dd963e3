"""Columns of labelled data, wherever they come from: a table, a file, rows as dictionaries, (text, label) pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..base.notes import note
from ..base.paths import as_path
from ..errors import InputError, excerpt
from ..text.folders import folder_table, hub_table, is_hub
from ..text.table_files import Records, kind_of_file, separated, table_file
from ..text.tables import Columns, Table, cells_of, check_names, place_of, plain, table_of
from ..text.word_lines import KINDS, word_table

WAY = "name them by text=, text_pair= and label="
SHOWN = 4  # labels that a note names
DEVIATIONS = 4  # of the χ² of two samples of labels, beyond which they are not of one kind


def columns(
    examples: Any, names: Sequence[Any], optional: Sequence[Any] = (), lists: bool = False, limit: int | None = None
) -> Columns:
    """The columns of these names, and those optional ones that are there; of a stream the first `limit` rows alone.

    examples: a file (.csv, .tsv, .txt: a table whose separator and dialect are found; .jsonl, .json, .parquet; also
    gzipped; of tags .conll and its like, a word a line), a folder of such tables or rows, a data set of the hub
    (hf://datasets/OWNER/NAME#SPLIT), a table as `text.tables.table_of` takes, dictionaries, or
    (text, label) pairs, where the text may be a pair. lists: of tags; two words are no pair of texts.
    Raises InputError that names the row, the column or the file for anything else.
    """
    if is_hub(examples):
        content: Table | Records | None = hub_table(examples)
    elif isinstance(examples, str | Path):
        content = _file(as_path(examples, "a file of examples"), names, lists)
    else:
        content = table_of(examples)
    if isinstance(content, Table):
        check_names(content.names, names, content.source, WAY)
        selection = [*names, *(name for name in optional if name in content.names and name not in names)]
        is_stream = content.size is None and not (isinstance(examples, str | Path) and as_path(examples).is_file())
        table = content.columns(selection, limit if is_stream else None)
        if not len(table) and content.source:
            raise InputError(f"{content.source} has no example below its first line")
        return table
    if content is not None:
        return _records(iter(content), names, optional, Path(examples).name)
    if isinstance(examples, bytes) or not isinstance(examples, Iterable):
        raise InputError(
            "examples are a file (.csv, .tsv, .jsonl, .json, .parquet), a table (pandas, polars, Arrow), a data set, "
            f"or a list of dictionaries or (text, label) pairs, not a {type(examples).__name__}"
        )
    rows = list(islice(examples, None if hasattr(examples, "__len__") else limit))
    if not rows:
        raise InputError("there is no example")
    if isinstance(rows[0], dict):
        return _records(((None, row) for row in rows), names, optional, "")
    return _pairs(rows, names, lists)


def note_limit(labels: Sequence[Any], limit: int) -> None:
    """Say it where the labels of the first `limit` rows are not like those of the others, as of a sorted file.

    They differ where Pearson's χ² of the two samples lies DEVIATIONS standard deviations above its mean.
    """
    numbers: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        for tag in {*map(repr, label)} if isinstance(label, list | tuple) else [str(label)]:
            numbers.setdefault(tag, [0, 0])[row >= limit] += 1
    totals = [sum(column) for column in zip(*numbers.values(), strict=True)]
    freedom = len(numbers) - 1
    if not all(totals) or not freedom or len(numbers) > len(labels) / 5:
        return  # numbers rather than classes
    square = 0.0
    for counts in numbers.values():
        for count, total in zip(counts, totals, strict=True):
            expected = sum(counts) * total / sum(totals)
            square += (count - expected) ** 2 / expected
    if square > freedom + DEVIATIONS * (2 * freedom) ** 0.5:
        frequent = sorted(numbers.items(), key=lambda pair: -sum(pair[1]))[:SHOWN]
        shares = ", ".join(f"{name} {head:,} and {tail:,} times" for name, (head, tail) in frequent)
        ellipsis = ", …" if len(numbers) > SHOWN else ""
        note(
            f"limit= takes the first {limit:,} of {len(labels):,} rows, and their labels are not like those of the "
            f"others ({shares}{ellipsis}): shuffle the rows first"
        )


def _file(path: Path, names: Sequence[Any], lists: bool) -> Table | Records:
    kind = kind_of_file(path)
    if kind in KINDS and not lists:
        raise InputError(f"{path.name} has a tag for each word, and this model gives none to words")
    if kind in KINDS or (lists and kind in ("txt", "tsv") and _is_word_a_line(path, names)):
        return word_table(path, names[0], names[-1])
    if kind == "txt":
        return separated(path, [names])
    content = folder_table(path, [names]) if path.is_dir() else table_file(path, [names])
    if content is None:
        raise InputError(f"{path.name} is no file of examples: give .csv, .tsv, .jsonl, .json or .parquet")
    return content


def _is_word_a_line(path: Path, names: Sequence[Any]) -> bool:
    """Whether the columns are not those of a table."""
    try:
        table = separated(path, [names])
    except InputError:
        return True
    return not all(name in table.names for name in names)


def _records(
    records: Iterator[tuple[int | None, Any]], names: Sequence[Any], optional: Sequence[Any], source: str
) -> Columns:
    selection: list[Any] = []
    rows: list[list[Any]] = []
    lines: list[int] = []
    for number, (line, row) in enumerate(records):
        place = place_of(number, line, source)
        if not isinstance(row, dict):
            if number:
                raise InputError(f"{place} is a {type(row).__name__}, not a dictionary as the first one")
            where = f"line {line} of {source}" if line is not None else f"row 0 of {source}"
            raise InputError(f"{where} is no JSON object with a text and a label")
        if not selection:
            check_names(list(row), names, source, WAY)
            selection = [*names, *(name for name in optional if name in row and name not in names)]
        for name in selection:
            if name not in row:
                raise InputError(f"{place_of(number, line, source, name)}: there is none in this row")
        rows.append([plain(row[name]) for name in selection])
        lines += [] if line is None else [line]
    if not rows:
        raise InputError(f"{source} is empty")
    return Columns(dict(zip(selection, map(list, zip(*rows, strict=True)), strict=True)), source, lines)


def _pairs(rows: list[Any], names: Sequence[Any], lists: bool) -> Columns:
    texts: list[Any] = []
    for number, row in enumerate(rows):
        if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != 2:
            raise InputError(f"row {number} is no (text, label) pair: {excerpt(row, 60)}")
        texts.append(row[0])
    by_name: dict[Any, list[Any]] = {}
    if not lists and all(isinstance(text, tuple | list) and len(text) == 2 for text in texts):
        by_name = {names[0]: [text[0] for text in texts], "text_pair": [text[1] for text in texts]}
        if len(names) == 3:
            by_name[names[1]] = by_name.pop("text_pair")
    elif len(names) == 3:
        raise InputError(f"a pair of texts is ((text, text), label), or leave text_pair={excerpt(names[1])} out")
    else:
        by_name = {names[0]: cells_of(texts)}
    return Columns(by_name | {names[-1]: [plain(row[1]) for row in rows]})
