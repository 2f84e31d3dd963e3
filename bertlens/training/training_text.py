"""A corpus for masked language modelling: texts as passages of token ids, a part of them held out, batches of a step.

A passage is a text, or whole sentences of a text that is too long. Passages of one length share a batch, so that
nothing is ever padded.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..base.amounts import shortage
from ..base.interrupts import interruptible
from ..base.paths import as_path
from ..errors import InputError
from ..survey.corpus import items
from ..text.tokenizer import resting_state

ENDINGS = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz")
SET_ASIDE = ("valid", "test")  # files of a folder whose names begin so are for scoring only
HELD_OUT = 200  # every so many-th text is held out, to see when training is done
SHORTEST = 8  # tokens; shorter passages are left out
SENTENCE_ENDS = (".", "!", "?")
CLOSING = ("”", "’", '"', "'", ")", "]")
CHUNK = 1000  # texts tokenised in one call


@dataclass(frozen=True)
class Passages:
    """Passages one behind the other: `ids` (N,) int32, passage p is ids[starts[p] : starts[p + 1]]."""

    ids: Tensor
    starts: Tensor

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Passages:
        lengths = torch.tensor([0, *map(len, rows)])
        return cls(torch.tensor([*itertools.chain.from_iterable(rows)], dtype=torch.int32), lengths.cumsum(0))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Tensor:
        """(P,) tokens of each passage."""
        return self.starts.diff()

    def rows(self, picks: Tensor) -> Tensor:
        """(B, S) int64 ids of passages of one length S."""
        starts = self.starts[picks]
        size = int(self.starts[picks[0] + 1] - starts[0])
        return self.ids[starts[:, None] + torch.arange(size)].long()

    def batches(self, tokens: int, generator: torch.Generator | None = None) -> list[Tensor]:
        """Indices of passages in batches of one length and at most `tokens` tokens: all passages once.

        In a random order with a generator, else from short to long.
        """
        lengths = self.lengths
        order = torch.arange(len(self)) if generator is None else torch.randperm(len(self), generator=generator)
        order = order[lengths[order].argsort(stable=True)]
        groups: list[Tensor] = []
        for group in order.split(lengths.bincount()[lengths.unique()].tolist()):
            groups += group.split(max(1, tokens // int(lengths[group[0]])))
        if generator is None:
            return groups
        return [groups[i] for i in torch.randperm(len(groups), generator=generator).tolist()]


def files(paths: Iterable[str | Path]) -> list[Path]:
    """The files of a corpus: those given, and of folders all text files but those set aside for scoring.

    Raises InputError where there are none.
    """
    corpus_files: list[Path] = []
    for path in map(as_path, paths):
        if path.is_dir():
            named = sorted(file for file in path.iterdir() if file.name.endswith(ENDINGS))
            corpus_files += [file for file in named if not file.name.startswith(SET_ASIDE)]
        elif path.is_file():
            corpus_files.append(path)
        else:
            raise InputError(f"no corpus at {path}: give text files (a text a line) or their folder")
    if not corpus_files:
        raise InputError(f"no text files there: a corpus is files that end in {', '.join(ENDINGS)}")
    return corpus_files


def read(paths: Iterable[str | Path]) -> Iterator[str]:
    """The texts of the files, one after another. Raises InputError for items that are no plain texts."""
    for path in paths:
        for number, item in enumerate(items(path)):
            if not isinstance(item, str):
                raise InputError(f"item {number} of {Path(path).name} is no plain text: a corpus to train on is texts")
            if ".raw" not in Path(path).suffixes:
                yield item
            elif not item.startswith("="):  # a heading of WikiText
                yield re.sub(" @([-,.])@ ", r"\1", item)  # WikiText writes marks in a word apart: "well @-@ known"


def prepare(texts: Iterable[str], tokenizer: Any, length: int) -> tuple[Passages, Passages]:
    """(passages to train on, passages held out) of at most `length` tokens, special ones included.

    Every HELD_OUT-th text is held out. Raises InputError for a corpus that is too small.
    """
    split: list[list[list[int]]] = [[], []]  # to train on, held out
    count, stream = 0, iter(texts)
    while chunk := list(itertools.islice(stream, CHUNK)):
        for number, rows in enumerate(passages(chunk, tokenizer, length), count):
            split[number % HELD_OUT == HELD_OUT - 1] += rows
        count += len(chunk)
    if not all(split):
        raise InputError(f"{shortage(count, 'text')}: every {HELD_OUT}th is held out, the others are trained on")
    return Passages.of(split[0]), Passages.of(split[1])


def passages(texts: list[str], tokenizer: Any, length: int) -> list[list[list[int]]]:
    """The passages of each text as lists of ids, with the tokenizer's special tokens around each."""
    prefix, suffix = _template(tokenizer)
    room = length - len(prefix) - len(suffix)
    with resting_state(tokenizer), interruptible():
        encoded = tokenizer(texts, add_special_tokens=False, truncation=False, padding=False, verbose=False)
    numbers = tokenizer.get_vocab()
    ends = {numbers[mark] for mark in SENTENCE_ENDS if mark in numbers}
    closing = {numbers[mark] for mark in CLOSING if mark in numbers}
    cut = [_cut(ids, room, ends, closing) for ids in encoded["input_ids"]]
    return [[[*prefix, *piece, *suffix] for piece in pieces if len(piece) >= SHORTEST] for pieces in cut]


def _template(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens before and after a text."""
    with resting_state(tokenizer):
        bare = tokenizer("a", add_special_tokens=False)["input_ids"]
        framed = tokenizer("a")["input_ids"]
    at = next(i for i in range(len(framed)) if framed[i : i + len(bare)] == bare)
    return framed[:at], framed[at + len(bare) :]


def _cut(ids: list[int], room: int, ends: set[int], closing: set[int]) -> list[list[int]]:
    """`ids` in parts of at most `room`, cut behind sentences where there is an end of one."""
    pieces = []
    while len(ids) > room:
        places = (at for at in range(room, 0, -1) if _sentence_ends(ids, at, ends, closing))
        at = next(places, room)
        pieces.append(ids[:at])
        ids = ids[at:]
    return [*pieces, ids]


def _sentence_ends(ids: list[int], at: int, ends: set[int], closing: set[int]) -> bool:
    """Whether a sentence ends right before `at`: with an end mark, and closing quotes or brackets behind it."""
    end = at - 1
    while end > 0 and ids[end] in closing:
        end -= 1
    return ids[at] not in closing and ids[end] in ends
