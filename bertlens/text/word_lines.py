"""Files with a word a line and blank lines between sentences: CoNLL, as tags of words come, and CoNLL-U's columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from ..base.text_lines import Lines, opened
from ..errors import InputError
from .table_files import kind_of_file
from .tables import Row, Table, check_names

KINDS = ("conll", "conllu", "bio", "iob", "iob1", "iob2", "iobes", "bioes", "bilou")
CONLL_U = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
START = "-DOCSTART-"  # stands for the beginning of a document
WordLine: TypeAlias = tuple[int, list[str]]  # the line, from 1, and its fields


def check_forms(words: Sequence[str], place: str) -> None:
    """Raises InputError for a sentence of CoNLL-U without its words, as where a text may not be passed on."""
    if len(words) > 1 and set(words) == {"_"}:
        raise InputError(
            f"{place}: each of the {len(words)} words is '_': this treebank comes without its text; fill in its FORM "
            "column as its README says, or give another treebank"
        )


def sentences(path: Path) -> Iterator[list[WordLine]]:
    """The sentences of a file, each word with its line and its fields. Comments and marks of documents are left out.

    Fields lie between tabs, or where a line has none, between blanks. Of CoNLL-U, ranges of words that are written as
    one and empty nodes are left out, as in UD's own scoring. Raises InputError for a line of CoNLL-U that is none.
    """
    is_conll_u = kind_of_file(path) == "conllu"
    with opened(path) as lines:
        for block in _blocks(lines):
            words = block[_comments(block) :]
            if is_conll_u:
                for number, fields in words:
                    if len(fields) < 2 or not fields[0].replace("-", "").replace(".", "").isdecimal():
                        raise InputError(f"line {number} of {path.name} is not of a CoNLL-U file: {fields!r:.100}")
                words = [(number, fields) for number, fields in words if fields[0].isdecimal()]
                check_forms([fields[1] for _, fields in words], f"line {block[0][0]} of {path.name}")
            if words := [(number, fields) for number, fields in words if not fields[0].startswith(START)]:
                yield words


def _blocks(lines: Lines) -> Iterator[list[WordLine]]:
    block: list[WordLine] = []
    for line in lines:
        line = line.rstrip("\r\n")
        if line.strip(" \t"):
            fields = line.split("\t") if "\t" in line else [field for field in line.split(" ") if field]
            block.append((lines.number, fields))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _comments(block: list[WordLine]) -> int:
    """How many lines at the head of a sentence are comments: "# text = …", which are not like the lines below them."""
    sizes = [len(fields) for _, fields in block]
    count = 0
    for (_, fields), (size, below) in zip(block, pairwise([*sizes, -1]), strict=True):
        if not fields[0].startswith("#") or (size == below and not any("=" in field for field in fields[1:])):
            break
        count += 1
    return count


def word_table(path: Path, text: Any, label: Any) -> Table:
    """Sentences as rows: `text` their words, `label` a tag of each, lists of one length.

    Words stand in the first column and tags in the last, or in the columns of these numbers, from 0. Of CoNLL-U the
    columns have their names, and words are "form". Raises InputError that names the line for a word without a tag.
    """
    columns = {text: 0, label: -1}
    names: Sequence[Any] = [text, label]
    if kind_of_file(path) == "conllu":
        names = [name if name != "form" else text for name in CONLL_U]
        check_names(names, [label], path.name, "name the one of the tags by label=")
        columns = {name: place for place, name in enumerate(names)}
    columns |= {name: name for name in (text, label) if isinstance(name, int)}

    def rows(wanted: Sequence[Any]) -> Iterator[Row]:
        size = 0
        for sentence in sentences(path):
            for number, fields in sentence:
                size = size or len(fields)
                if len(fields) != size or size < 2:
                    lack = "a word and its tag" if size < 2 else f"{size} fields, as the lines before"
                    raise InputError(f"line {number} of {path.name} has {len(fields)} fields, not {lack}")
            yield sentence[0][0], tuple([_field(fields, columns[n], n) for _, fields in sentence] for n in wanted)

    return Table(list(names), rows, path.name)


def _field(fields: list[str], place: int, name: Any) -> str:
    if place >= len(fields):
        raise InputError(f"no column {name!r}: there are 0 to {len(fields) - 1}")
    return fields[place]
