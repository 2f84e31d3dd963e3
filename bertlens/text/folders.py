"""Folders of files of one kind, as large data sets come, and data sets of the Hugging Face hub by their address."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError, excerpt
from .table_files import RECORDS, TABLES, Records, kind_of_file, table_file
from .tables import Row, Table, table_of

HUB = "hf://"
ADDRESS = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)(@[^/#]+)?(/[^#]+)?(?:#(.+))?")
BUILDERS = {"parquet": "parquet", "csv": "csv", "jsonl": "json", "json": "json", "txt": "text"}  # of `datasets`
KINDS = 3  # of files that a sentence names


def is_hub(source: Any) -> bool:
    return isinstance(source, str) and source.startswith(HUB)


def files_of(folder: Path) -> list[Path]:
    """The files of a folder and of folders in it, by their names; marks that programs leave, as _SUCCESS, are none.

    Raises InputError for a folder without files, and for one with files of several kinds.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [path for path in paths if not any(name[0] in "._" for name in path.relative_to(folder).parts)]
    if not files:
        raise InputError(f"the folder {folder} holds no files: give one with files of one kind, such as .parquet")
    by_kind = {kind_of_file(path): path.name for path in reversed(files)}
    if len(by_kind) > 1:
        listing = ", ".join(f".{kind} ({name})" for kind, name in [*sorted(by_kind.items())][:KINDS])
        raise InputError(f"the folder {folder} mixes files of kinds {listing}: give one with files of one kind")
    return files


def tables_in(files: Sequence[Path], hints: Sequence[Sequence[Any]], headless: Sequence[str] = ()) -> Iterator[Table]:
    """The tables of files. Raises InputError, which names the file, for one that has other columns than the first."""
    header: Table | None = None
    for file in files:
        table = table_file(file, hints, headless)
        assert isinstance(table, Table)
        header = header or table
        if odd := sorted({*map(str, table.names)} ^ {*map(str, header.names)}):
            has = "has no" if odd[0] in header.names else "has a"
            raise InputError(f"{file.name} {has} column {odd[0]!r}, other than {header.source}: both are of one folder")
        yield table


def folder_table(folder: Path, hints: Sequence[Sequence[Any]], headless: Sequence[str] = ()) -> Table | Records | None:
    """As `table_file`, of all files of a folder. Of Parquet all columns are compared before anything is read."""
    files = files_of(folder)
    kind = kind_of_file(files[0])
    if kind not in TABLES:
        return None if kind not in RECORDS else ((None, row) for file in files for row in _rows_of(file, hints))
    header = next(tables_in(files, hints, headless))
    size = sum(table.size or 0 for table in tables_in(files, hints, headless)) if kind == "parquet" else None

    def rows(names: Sequence[Any]) -> Iterator[Row]:
        for table in tables_in(files, hints, headless):
            yield from ((None, cells) for _, cells in table.rows(names))

    return Table(header.names, rows, folder.name, size, header.classes)


def _rows_of(file: Path, hints: Sequence[Sequence[Any]]) -> Iterator[Any]:
    content = table_file(file, hints)
    if content is None or isinstance(content, Table):
        raise InputError(f"{file.name} holds columns by name: in a folder each file holds rows")
    yield from (row for _, row in content)


def hub_data_set(address: str) -> Any:
    """What stands at hf://datasets/OWNER/NAME, read as it comes: #SPLIT or #CONFIG/SPLIT behind it says which part, or
    a path in it which files.

    Raises InputError without the library that does it, for another address, for several splits, and for what the hub
    does not give.
    """
    match = ADDRESS.fullmatch(address)
    if match is None:
        raise InputError(f"hf://datasets/OWNER/NAME is a data set of the hub, {excerpt(address, 60)} is none")
    try:
        from datasets import load_dataset
    except ImportError:
        raise InputError("data sets of the hub need the library datasets: pip install datasets") from None
    name, revision, path, split = match.groups()
    options: dict[str, Any] = {"streaming": True}
    if path is None:
        *config, split = (split or "").split("/")
        options |= {"revision": (revision or "@main")[1:], "split": split or None}
        arguments = [name, *config[:1]]
    else:
        kind = kind_of_file(Path(path))
        if kind not in BUILDERS:
            raise InputError(f"{address} names no file of a kind that is read there: {', '.join(BUILDERS)}")
        arguments, options = [BUILDERS[kind]], options | {"data_files": address, "split": "train"}
    try:
        content = load_dataset(*arguments, **options)
    except Exception as error:  # noqa: BLE001  whatever a library for networks stumbles on
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{address} cannot be read: {why[:200]}") from None
    if isinstance(content, dict) and len(content) > 1:
        raise InputError(f"{address} has the splits {', '.join(content)}: name one, as {address}#{next(iter(content))}")
    return next(iter(content.values())) if isinstance(content, dict) else content


def hub_table(address: str) -> Table:
    """The table that a data set of the hub is. Raises as `hub_data_set`."""
    table = table_of(hub_data_set(address))
    assert table is not None
    return table
