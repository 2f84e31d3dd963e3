"""Texts, wherever they come from: a list, a column of a table, a file. One reader for all that takes texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..base.notes import note
from ..base.paths import as_path
from ..base.text_lines import opened
from ..errors import InputError, excerpt
from .folders import files_of, folder_table, hub_table, is_hub
from .table_files import TABLES, Records, kind_of_file, table_file
from .tables import Table, cells_of, check_names, place_of, table_of
from .word_lines import KINDS, sentences

TextItem: TypeAlias = "str | tuple[str, str] | list[str]"  # a text, a pair of texts, one text as words
PAIRS = (("a", "b"), ("text", "text_pair"))
COUNTED = 200_000_000  # bytes of lines that are counted before the first is read: a second
HEAD = 50  # items that are looked at for labels
LABEL_WORDS, LABEL_LETTERS = 3, 40  # what is longer is no label
WAY = "name the one of the texts by column="


class SourceText(NamedTuple):
    """What stands at one place of a corpus: not looked at yet, but for the columns of a table."""

    item: Any
    place: str  # as errors name it
    line: int | None = None  # of the file, from 1


def entries(source: Any, column: Any = None, what: str = "the corpus", pairs: bool = True) -> Iterator[SourceText]:
    """What a source holds, in its order, as it is read.

    source: a file (a text a line; .csv, .tsv, .parquet: a column of a table; .jsonl, .json; .conllu, .conll: words), a
    folder of such files, all of one kind, a data set of the hub (hf://datasets/OWNER/NAME, see `folders.hub_data_set`),
    a pandas, polars or Arrow table, a data set of Hugging Face, {name: column}, or anything that gives texts.
    column: of a table, or two in a tuple for pairs; None: "text", where `pairs` may be also "a" and "b", or "text" and
    "text_pair". Raises InputError for what is no source of texts, a table without such a column, which names its
    columns, and for (text, label) pairs.
    """
    if is_hub(source):
        return _of_table(hub_table(source), column, pairs)
    if isinstance(source, str | Path):
        return _of_file(as_path(source, what), column, what, pairs)
    table = table_of(source)
    if table is not None:
        return _of_table(table, column, pairs)
    if any(hasattr(source, name) for name in ("to_pylist", "to_list", "tolist")):
        source = cells_of(source) if getattr(source, "ndim", 1) == 1 else source
        if not isinstance(source, list):
            raise InputError(
                f"{what} is an array of one axis, a text each, not of shape {getattr(source, 'shape', ())}"
            )
    if isinstance(source, bytes) or not isinstance(source, Iterable):
        raise InputError(
            f"{what} is a file, a table, or a list of texts, pairs or word lists, not a {type(source).__name__}"
        )
    items = _without_labels(iter(source), what)
    return (
        SourceText(_member(item, column, place := f"item {at} of {what}", pairs), place)
        for at, item in enumerate(items)
    )


def as_text(entry: SourceText, others: str = "") -> TextItem:
    """The text, the pair or the words at a place. Raises InputError, which names it, for anything else."""
    item, place, _ = entry
    if isinstance(item, str):
        return item
    if isinstance(item, tuple | list) and all(isinstance(text, str) for text in item):
        if isinstance(item, list) and item:
            return item
        if isinstance(item, tuple) and len(item) == 2:
            return (item[0], item[1])
    raise InputError(f"{place} is no text, (text, text) pair{others}: {excerpt(item, 60)}")


def strings(source: Any, column: Any = None, what: str = "texts") -> list[str]:
    """Texts, none of them a pair, as a list. A string is one text, no file. Errors as of `entries`, and for no text."""
    if isinstance(source, str):
        return [source]
    texts = []
    for entry in entries(source, column, what, pairs=False):
        if not isinstance(entry.item, str):
            raise InputError(f"{what} is a string or a list of strings: {entry.place} is {excerpt(entry.item, 60)}")
        texts.append(entry.item)
    if not texts:
        raise InputError(f"{what} is a string or a list of strings, with at least one")
    return texts


def count_of(source: Any) -> int | None:
    """How many texts a source holds; None where only reading it to its end would tell."""
    if is_hub(source):
        return None
    if not isinstance(source, str | Path):
        table = table_of(source)
        return table.size if table is not None else len(source) if isinstance(source, Sized) else None
    path = as_path(source)
    kind = kind_of_file(path)
    if path.is_dir():
        content = folder_table(path, ()) if kind_of_file(files_of(path)[0]) == "parquet" else None
        return content.size if isinstance(content, Table) else None
    if not path.is_file() or kind in ("csv", "tsv", "json"):
        return None
    if kind == "parquet":
        content = table_file(path, ())
        return content.size if isinstance(content, Table) else None
    if path.stat().st_size > COUNTED:
        return None
    if kind in KINDS:
        return sum(1 for _ in sentences(path))
    with opened(path) as lines:
        return sum(not line.isspace() for line in lines)


def is_stream(source: Any) -> bool:
    """Whether a data set of Hugging Face is read as it comes, so that nobody knows how long it is."""
    return is_hub(source) or (hasattr(source, "select_columns") and not hasattr(source, "__len__"))


def _of_file(path: Path, column: Any, what: str, pairs: bool) -> Iterator[SourceText]:
    hints = [_names(column, ())] if column is not None else [*PAIRS, ("text",)]
    if path.is_dir():
        files = files_of(path)
        content = folder_table(path, hints) if kind_of_file(files[0]) in TABLES else None
        if isinstance(content, Table):
            yield from _of_table(content, column, pairs)
        else:
            yield from chain.from_iterable(_of_file(file, column, what, pairs) for file in files)
        return
    if not path.is_file():
        raise InputError(f"no corpus at {path}: give a file, or a list of texts")
    if kind_of_file(path) in KINDS:
        for sentence in sentences(path):
            words = [fields[kind_of_file(path) == "conllu"] for _, fields in sentence]
            yield SourceText(words, f"line {sentence[0][0]} of {path.name}", sentence[0][0])
        return
    content = table_file(path, hints)
    if isinstance(content, Table):
        yield from _of_table(content, column, pairs)
    elif content is not None:
        yield from _of_records(content, column, path, pairs)
    elif column is not None:
        raise InputError(f"{path.name} is read line by line and has no columns: leave column= out")
    else:
        with opened(path) as lines:
            for line in lines:
                if not line.isspace():
                    yield SourceText(line.strip(), f"line {lines.number} of {path.name}", lines.number)


def _of_records(records: Records, column: Any, path: Path, pairs: bool) -> Iterator[SourceText]:
    for number, (line, item) in enumerate(records):
        place = f"item {number} of {path.name}" if line is None else f"line {line} of {path.name}"
        yield SourceText(_member(item, column, place, pairs), place, line)


def _of_table(table: Table, column: Any, pairs: bool) -> Iterator[SourceText]:
    names = _names(column, table.names if pairs else ("text",))
    check_names(table.names, names, table.source, WAY)
    if column is None and len(table.names) > len(names):
        listing = ", ".join(map(repr, names))
        note(f"texts are the column {listing} of a table with {len(table.names)} columns: column= takes another")
    for number, (line, cells) in enumerate(table.rows(names)):
        place = place_of(number, line, table.source)
        for name, cell in zip(names, cells, strict=True):
            if cell is None or type(cell).__name__ == "NAType" or cell != cell:  # NaN
                raise InputError(f"{place}, column {excerpt(name)}: the text is missing")
        yield SourceText(cells if len(names) > 1 else cells[0], place, line)


def _member(item: Any, column: Any, place: str, pairs: bool) -> Any:
    """The text of a row that is a dictionary; anything else as it is."""
    if not isinstance(item, dict):
        if column is not None:
            raise InputError(f"{place} has no columns: leave column= out")
        return item
    names = _names(column, item if pairs else ("text",))
    if not all(name in item for name in names):
        lacks = "'text', nor 'a' and 'b'" if column is None else repr(column)
        raise InputError(f"{place} has no {lacks}: {[*map(str, item)][:6]}")
    texts = tuple(item[name] for name in names)
    return texts if len(texts) > 1 else texts[0]


def _names(column: Any, names: Iterable[Any]) -> tuple[Any, ...]:
    """The columns that are read: those given, or of these names a pair that is there, else "text"."""
    if column is not None:
        return tuple(column) if isinstance(column, tuple | list) else (column,)
    candidates = [*names]
    return next((pair for pair in PAIRS if all(name in candidates for name in pair)), ("text",))


def _without_labels(items: Iterator[Any], what: str) -> Iterator[Any]:
    """The items. Raises InputError where the first ones are (text, label) pairs."""
    head = []
    for item in items:
        head.append(item)
        if len(head) == HEAD or not _is_twosome(item):
            break
    if head and all(map(_is_twosome, head)) and _are_labels([item[0] for item in head], [item[1] for item in head]):
        raise InputError(
            f"{what} holds (text, label) pairs, as {excerpt(head[0], 60)}: give the texts alone; bl.task reads labels. "
            "A pair of texts that looks so is a dictionary, {'a': text, 'b': text}"
        )
    return chain(head, items)


def _is_twosome(item: Any) -> bool:
    """Whether an item is two of something, the first a text; of a list, which are words, one with blanks in it."""
    if not isinstance(item, tuple | list) or len(item) != 2 or not isinstance(item[0], str):
        return False
    return isinstance(item, tuple) or " " in item[0].strip()


def _are_labels(texts: Sequence[str], seconds: Sequence[Any]) -> bool:
    if not all(isinstance(second, str) for second in seconds):
        return all(isinstance(second, str | Number) or hasattr(second, "dtype") for second in seconds)
    words = [len(second.split()) for second in seconds]
    short = all(
        count <= LABEL_WORDS and len(second) <= LABEL_LETTERS and second[-1:] not in ".!?…"
        for count, second in zip(words, seconds, strict=True)
    )
    longer = sum(len(text.split()) for text in texts) >= 2 * sum(words)
    return len(seconds) > 1 and short and longer and (len(set(seconds)) < len(seconds) or max(words) == 1)
