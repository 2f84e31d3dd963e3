"""Sentences with dependency trees, from CoNLL-U files (library `conllu`, extra `survey`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeAlias, cast

from ..base.paths import as_path
from ..base.text_lines import Lines, opened
from ..errors import InputError, excerpt
from ..text.word_lines import check_forms

ROOT = -1


@dataclass(frozen=True)
class Sentence:
    """Words with their heads. Multiword ranges and empty nodes of the file are left out, as in UD's own scoring."""

    words: list[str]  # in their order
    heads: list[int]  # index of each word's head, from 0; ROOT (-1) for the root
    relations: list[str]  # full names, "nmod:poss"
    name: str = ""  # sent_id of the file

    def __post_init__(self) -> None:
        n = len(self.words)
        if n == 0 or len(self.heads) != n or len(self.relations) != n:
            raise InputError(f"sentence {self.name!r} needs a head and a relation for each of its words, and a word")
        if not all(ROOT <= head < n for head in self.heads):
            raise InputError(f"sentence {self.name!r} of {n} words has a head that is none of them: {self.heads}")

    def __len__(self) -> int:
        return len(self.words)


Treebank: TypeAlias = "str | Path | Iterable[Sentence]"


def read_treebank(treebank: Treebank) -> Iterator[Sentence]:
    """The sentences of a treebank: a CoNLL-U file (.conllu, also .gz), or those given.

    Raises InputError for a file that is not there or not CoNLL-U.
    """
    if not isinstance(treebank, str | Path):
        for sentence in treebank if isinstance(treebank, Iterable) else [treebank]:
            if not isinstance(sentence, Sentence):
                raise InputError(f"a treebank is a CoNLL-U file or a list of Sentences, this is {excerpt(sentence)}")
            yield sentence
        return
    path = as_path(treebank, "a treebank")
    if not path.is_file():
        raise InputError(f"no treebank at {path}: give a CoNLL-U file")
    with opened(path) as lines:
        yield from sentences(lines)


def sentences(lines: Lines) -> Iterator[Sentence]:
    """The sentences of an open CoNLL-U file. Raises InputError where it is none."""
    return (sentence for _, sentence in trees(lines))


def trees(lines: Lines) -> Iterator[tuple[Any, Sentence]]:
    """Each sentence of an open CoNLL-U file as the library has it (a TokenList), and as a Sentence. Errors as above."""
    try:
        import conllu
    except ImportError:
        raise InputError("treebanks need the library conllu: pip install conllu") from None
    try:
        for number, tree in enumerate(conllu.parse_incr(cast(TextIO, lines))):
            words = [word for word in tree if isinstance(word["id"], int)]
            index_of = {word["id"]: index for index, word in enumerate(words)} | {0: ROOT}
            name = tree.metadata.get("sent_id", str(number))
            if not words or any(word.get("head") not in index_of or not word.get("deprel") for word in words):
                raise InputError(f"sentence {name!r} has words without head or relation: is it an annotated treebank?")
            check_forms([word["form"] for word in words], f"sentence {name!r}")
            heads = [index_of[word["head"]] for word in words]
            yield tree, Sentence([word["form"] for word in words], heads, [word["deprel"] for word in words], name)
    except (conllu.exceptions.ParseException, KeyError) as error:
        raise lines.error(
            f"ends a sentence in what is not a CoNLL-U file: {' '.join(str(error).split()):.150}"
        ) from None
