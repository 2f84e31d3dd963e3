"""Files that test collections come in: .I/.W, TREC's topics, documents and judgements, folders as BEIR has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from ..base.text_lines import Lines, opened
from ..base.textfile import text_of
from ..errors import InputError
from ..text.table_files import RECORDS, kind_of_file

Record: TypeAlias = tuple[str, dict[str, str]]  # its place, as errors name it, and its cells under BEIR's names
Judgement: TypeAlias = tuple[str, str, str, Any]  # its place; question, document, grade
ENDINGS = (".jsonl", ".jsonl.gz", ".parquet", "")  # of what a folder holds
HEAD = 10  # lines that are looked at for marks and tags
_NUMBER = re.compile(r"\.I\s+(\S+)\s*")
_MARK = re.compile(r"\.([A-Z])\s*")
_ROOT = re.compile(r"^\s*<(top|doc)>", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]*>")
_LABEL = re.compile(r"^(Number|Topic|Description):\s*")
_SPLIT = re.compile(r"(-\d+-of-\d+)?\.(tsv|parquet)(\.gz)?$")
_TITLES = ("title", "headline", "head")


def marked_records(path: Path) -> Iterator[Record] | None:
    """The records of a .I/.W file, or of TREC's topics or documents, in their order; None for a file of another kind.

    Lines are joined. What is asked in a topic is its title. Raises InputError that names the line of a record without
    a number.
    """
    with opened(path) as lines:
        head = "".join(islice(lines, HEAD))
    if _NUMBER.match(head.lstrip()):
        return _of_marks(path)
    return _of_tags(path) if _ROOT.search(head) else None


def _of_marks(path: Path) -> Iterator[Record]:
    """A mark that a record has already had stands in a text, as in three of Cranfield: it begins nothing."""
    fields: dict[str, list[str]] = {}
    place, name, field = "", "", ""
    with opened(path) as lines:
        for line in chain(lines, [".I end"]):
            if number := _NUMBER.fullmatch(line):
                if place:
                    title, text = (_joined(fields.get(mark, ())) for mark in "TW")
                    yield place, {"_id": name, "title": title, "text": text}
                place, name, field, fields = _place(lines, path), number[1], "I", {"I": []}
            elif not (mark := _MARK.fullmatch(line)):
                fields.setdefault(field, []).append(line)
            elif mark[1] == "I":
                raise lines.error("has no number: a record begins with .I and its id")
            elif mark[1] not in fields:
                field = mark[1]
                fields[field] = []


def _of_tags(path: Path) -> Iterator[Record]:
    """Tags of a topic need no end. Those in a document's title or text are markup, and left out."""
    fields: dict[str, list[str]] = {}
    place, root, field = "", "", ""
    with opened(path) as lines:
        for line in chain(lines, ["<doc>"]):
            pieces = _TAG.split(line)
            for text, slash, name in zip(pieces[::3], ["", *pieces[1::3]], ["", *pieces[2::3]], strict=True):
                tag = name.lower()
                if tag in ("top", "doc"):
                    if place:
                        yield place, _cells(fields, root == "top", place)
                    place, root, field, fields = "" if slash else _place(lines, path), tag, "", {}
                elif slash:
                    field = "" if tag == field else field
                elif tag and (root == "top" or field not in ("text", *_TITLES)):
                    field = tag
                fields.setdefault(field, []).append(text)


def _cells(fields: dict[str, list[str]], is_topic: bool, place: str) -> dict[str, str]:
    texts = {tag: unescape(_joined(pieces)) for tag, pieces in fields.items()}
    if is_topic:
        texts = {tag: _LABEL.sub("", text) for tag, text in texts.items()}
    if not (name := texts.get("num" if is_topic else "docno")):
        raise InputError(f"{place} begins a record without {'<num>' if is_topic else '<docno>'}, its id")
    title = next((texts[tag] for tag in _TITLES if texts.get(tag)), "")
    if is_topic:
        return {"_id": name, "text": title or texts.get("desc", "")}
    return {"_id": name, "title": title, "text": texts.get("text", "")}


def _joined(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


def _place(lines: Lines, path: Path) -> str:
    return f"line {lines.number} of {path.name}"


def trec_judgements(path: Path) -> Iterator[Judgement] | None:
    """The judgements of a file with `question 0 document grade` a line, with tabs or, where they hold no blanks, blanks
    between; None for a file of another kind.

    Raises InputError that names a line of another number of fields.
    """
    if kind_of_file(path) in ("parquet", *RECORDS):
        return None
    lines = [(number, _fields(line)) for number, line in enumerate(text_of(path).split("\n"), 1) if line.strip()]
    if not lines or len(lines[0][1]) != 4 or not re.fullmatch(r"-?\d+", lines[0][1][3]):
        return None
    return (_judgement(f"line {number} of {path.name}", fields) for number, fields in lines)


def _fields(line: str) -> list[str]:
    by_tabs = [cell.strip() for cell in line.split("\t")]
    return by_tabs if len(by_tabs) == 4 else line.split()


def _judgement(place: str, fields: list[str]) -> Judgement:
    if len(fields) != 4:
        raise InputError(f"{place} has {len(fields)} fields: a judgement is `question 0 document grade`")
    return place, fields[0], fields[2], fields[3]


def folder_file(folder: Path, stem: str) -> Path:
    """Where the questions ("queries") or passages ("corpus") of a folder stand: as BEIR has them, or in Parquet, as
    MTEB has them, also a folder of files. Raises InputError where there is none, and where there are two."""
    paths = [path for ending in ENDINGS if (path := folder / f"{stem}{ending}").exists()]
    if not paths:
        raise InputError(
            f"no {stem}.jsonl in {folder}: a folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv, or the same "
            "in Parquet"
        )
    if len(paths) > 1:
        raise InputError(f"{folder} has {' and '.join(path.name for path in paths)}: leave one of them there")
    return paths[0]


def folder_judgements(folder: Path) -> Path | None:
    """qrels/test.tsv (or .parquet) of a folder, or the only file there; None without one.

    Raises InputError for several files of judgements, none of them the test's.
    """
    splits = sorted(path for path in (folder / "qrels").glob("*") if kind_of_file(path) in ("tsv", "parquet"))
    test = [file for file in splits if _SPLIT.sub("", file.name) == "test" or len(splits) == 1]
    if len(test) != bool(splits):
        listing = ", ".join(f"qrels/{file.name}" for file in splits)
        raise InputError(f"{folder} has the judgements {listing}: name one by relevance=")
    return test[0] if test else None
