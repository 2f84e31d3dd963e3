"""Mentions of entities, from CoNLL-U files with `Entity=` (CorefUD brackets): which words name what, and what again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ..base.paths import as_path
from ..base.text_lines import Lines, opened
from ..errors import InputError, excerpt
from .treebank import Sentence, trees

KINDS = ("pronoun", "proper", "nominal")
NO_ENTITIES = "holds no Entity= in its last column: coreference needs a file with CorefUD brackets, as GUM has them"

_BRACKET = re.compile(r"\(([^()]*)(\))?|([^()]*)\)")  # "(e-person-…" opens, "e)" closes, "(e-person-…)" does both
_PART = re.compile(r"(.*)\[(\d+)/(\d+)\]$")  # "e[1/2]": the first of two pieces of a discontinuous mention


@dataclass(frozen=True)
class Mention:
    """Words of one sentence that name an entity."""

    entity: str
    sentence: int  # of its document, from 0
    words: tuple[int, ...]  # of its sentence, from 0, in order; those between the pieces of a mention are not of it
    head: int  # one of the words: the first of the `minspan` words whose syntactic head lies outside the mention
    kind: str  # of KINDS, by the head's part of speech: PRON, PROPN, all others


@dataclass(frozen=True)
class Document:
    """Sentences whose entities go on from one to the next."""

    name: str
    sentences: list[Sentence]
    mentions: list[Mention]  # by sentence, then in the order in which they close
    parts: dict[str, frozenset[str]] = field(default_factory=dict)  # entity -> those it is made of (split antecedents)

    def antecedents(self, entity: str) -> frozenset[str]:
        """The entity itself and its parts: "we" is what "she" and "I" were before."""
        return self.parts.get(entity, frozenset()) | {entity}


Documents: TypeAlias = "str | Path | Iterable[Document]"


def read_documents(documents: Documents) -> Iterator[Document]:
    """The documents of a CoNLL-U file with coreference (.conllu, also .gz), or those given.

    A mention of which the file has no word (empty nodes) is left out. A file without "# newdoc" is one document.
    Raises InputError for a file that is not there, not CoNLL-U or without `Entity=`, and for brackets that do not
    close in their sentence.
    """
    if not isinstance(documents, str | Path):
        for document in documents if isinstance(documents, Iterable) else [documents]:
            if not isinstance(document, Document):
                raise InputError(f"coreference takes a CoNLL-U file with Entity=, this is {excerpt(document, 60)}")
            yield document
        return
    path = as_path(documents, "a treebank")
    if not path.is_file():
        raise InputError(f"no treebank at {path}: give a CoNLL-U file with Entity=")
    with opened(path) as lines:
        has_mentions = False
        for document in _documents(lines):
            has_mentions = has_mentions or bool(document.mentions)
            yield document
        if not has_mentions:
            raise InputError(f"{path.name} {NO_ENTITIES}")


def _documents(lines: Lines) -> Iterator[Document]:
    document: Document | None = None
    splits: dict[str, set[str]] = defaultdict(set)
    fields: list[str] = []
    for tree, sentence in trees(lines):
        begins = next((key for key in ("newdoc id", "newdoc") if key in tree.metadata), None)
        if begins or document is None:
            if document is not None:
                yield _with_splits(document, splits)
            document, splits = Document(tree.metadata.get(begins) or "", [], []), defaultdict(set)
        fields = (tree.metadata.get("global.Entity") or "-".join(fields)).split("-")
        document.mentions.extend(_mentions(tree, sentence, len(document.sentences), fields))
        document.sentences.append(sentence)
        for token in tree:
            for pair in ((token["misc"] or {}).get("SplitAnte") or "").split(","):
                if "<" in pair:
                    member, group = pair.split("<", 1)
                    splits[group].add(member)
    if document is not None:
        yield _with_splits(document, splits)


def _with_splits(document: Document, splits: dict[str, set[str]]) -> Document:
    frozen = {group: frozenset(members) for group, members in splits.items()}
    return Document(document.name, document.sentences, document.mentions, frozen)


@dataclass(eq=False)
class _OpenMention:
    """A mention that is being read."""

    entity: str
    values: dict[str, str]
    pieces: int
    piece: int = 1
    inside: bool = True
    words: list[int] = field(default_factory=list)


def _mentions(tree: Any, sentence: Sentence, number: int, fields: list[str]) -> list[Mention]:
    """Those of one sentence. Empty nodes open and close mentions like words, but are none of their words."""
    pending: list[_OpenMention] = []
    closed: list[_OpenMention] = []
    index = -1
    tags: list[str] = []
    for token in tree:
        if not isinstance(token["id"], int) and token["id"][1] != ".":
            continue  # a range, 3-4
        is_word = isinstance(token["id"], int)
        brackets = [*_BRACKET.finditer((token["misc"] or {}).get("Entity") or "")]
        for bracket in brackets:
            if bracket[1] is not None:
                _begin(pending, bracket[1], fields)
        if is_word:
            index += 1
            tags.append(token["upos"] or "")
            for mention in pending:
                if mention.inside:
                    mention.words.append(index)
        for bracket in brackets:
            if bracket[1] is None or bracket[2]:
                name, piece, _ = _piece_of((bracket[3] if bracket[1] is None else bracket[1]).split("-")[0])
                mention = _innermost(pending, name, piece, sentence)
                mention.inside = False
                if mention.piece == mention.pieces:
                    pending.remove(mention)
                    closed.append(mention)
    if pending:
        raise InputError(f"sentence {sentence.name!r} opens a mention of entity {pending[0].entity!r} and closes none")
    mentions = []
    for mention in closed:
        if mention.words:
            head = _head(mention.words, sentence.heads, mention.values.get("minspan", ""))
            kind = {"PRON": KINDS[0], "PROPN": KINDS[1]}.get(tags[head], KINDS[2])
            mentions.append(Mention(mention.entity, number, tuple(mention.words), head, kind))
    return mentions


def _piece_of(text: str) -> tuple[str, int, int]:
    """ "e[1/2]" -> e, 1, 2; "e" -> e, 1, 1."""
    match = _PART.match(text)
    return (match[1], int(match[2]), int(match[3])) if match else (text, 1, 1)


def _begin(pending: list[_OpenMention], text: str, fields: list[str]) -> None:
    values = dict(zip(fields, text.split("-"), strict=False))
    name, piece, pieces = _piece_of(text.split("-")[0])
    if piece > 1:  # goes on
        for mention in pending:
            if (mention.entity, mention.pieces, mention.piece, mention.inside) == (name, pieces, piece - 1, False):
                mention.piece, mention.inside = piece, True
                return
    pending.append(_OpenMention(name, values, pieces, piece))


def _innermost(pending: list[_OpenMention], name: str, piece: int, sentence: Sentence) -> _OpenMention:
    """The mention of this entity that was opened last."""
    for mention in reversed(pending):
        if mention.entity == name and mention.piece == piece and mention.inside:
            return mention
    raise InputError(f"sentence {sentence.name!r} closes a mention of entity {name!r} that it does not open")


def _head(words: list[int], heads: list[int], minspan: str) -> int:
    """The first of the minspan words (numbers in the mention, from 1; else of all) with its head outside the mention.

    Where none of the minspan has its head outside, the first of all words that has.
    """
    numbers = [int(number) - 1 for number in minspan.split(",") if number.isdigit()]
    span = [words[number] for number in numbers if 0 <= number < len(words)]
    inside = set(words)
    return next((word for word in [*span, *words] if heads[word] not in inside), words[0])
