"""What counts as a corpus, and the traces of its texts: batch by batch, texts of like length together."""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ..base.progress import Progress
from ..errors import BertLensError, InputError, ModelError, check_batch, check_lens, check_number
from ..lens import Lens
from ..model.fingerprint import Fingerprint
from ..text.texts import TextItem, as_text, count_of, entries
from ..trace.trace import Trace

Item: TypeAlias = "TextItem | Trace"  # a trace may be one of given attention maps
Corpus: TypeAlias = "Iterable[Any] | str | Path"

EMPTY = "the corpus holds no texts"
WINDOW = 8  # batches read ahead, to sort them by length: a whole sorted corpus would have to be in memory
CHARACTERS = 24_000  # of a batch of several texts: what a pass holds grows with them, and long ones gain nothing


@dataclass(frozen=True)
class Numbered:
    """An item with its place in the corpus, from 0, and the line of the file that it stands in, from 1."""

    number: int
    item: Item
    line: int | None = None

    def __str__(self) -> str:
        return f"item {self.number} of the corpus" if self.line is None else f"line {self.line} of the corpus"


def items(corpus: Corpus, column: Any = None) -> Iterator[Item]:
    """The items of a corpus, as `text.texts.entries` reads them. Raises InputError for what is none, naming it."""
    return (entry.item for entry in _entries(corpus, column))


def _entries(corpus: Corpus, column: Any) -> Iterator[Numbered]:
    if isinstance(corpus, Trace):
        raise InputError("the corpus is a file, a table, or a list of texts, pairs, word lists or traces, not a Trace")
    for number, entry in enumerate(entries(corpus, column)):
        item: Item = entry.item if isinstance(entry.item, Trace) else as_text(entry, ", list of words or trace")
        yield Numbered(number, item, entry.line)


def numbered(corpus: Corpus, limit: int | None = None, column: Any = None) -> Iterator[Numbered]:
    """The first `limit` items (default: all) with their places. Raises InputError for a limit below 1.

    column: see `text.texts.entries`. Reading them raises InputError for an empty corpus.
    """
    return _not_empty(itertools.islice(_entries(corpus, column), check_limit(limit)))


def check_limit(limit: Any) -> int | None:
    """How many texts to take. Raises InputError for anything else than None and a number from 1."""
    return None if limit is None else min(check_number(limit, "limit is how many texts to take,", 1), sys.maxsize)


def _not_empty(entries: Iterator[Numbered]) -> Iterator[Numbered]:
    entry = next(entries, None)
    if entry is None:
        raise InputError(EMPTY)
    yield entry
    yield from entries


def size(corpus: Corpus, limit: int | None = None) -> int | None:
    """How many items a corpus has, at most `limit`; None where only reading it to its end would tell."""
    count = count_of(corpus)
    return limit if count is None else count if limit is None else min(count, limit)


def windows(numbered: Iterable[Numbered], batch_size: int) -> Iterator[list[list[Numbered]]]:
    """Successive windows of the corpus, each as batches of items of like length: padding costs time.

    Long texts come few at a time, those of thousands of tokens one by one.
    Raises InputError for batches of nothing.
    """
    batch_size = check_batch(batch_size)
    iterator = iter(numbered)
    while window := list(itertools.islice(iterator, WINDOW * batch_size)):
        window.sort(key=lambda entry: _length(entry.item))
        batches: list[list[Numbered]] = [[]]
        room = CHARACTERS
        for entry in window:
            length = _length(entry.item)
            if batches[-1] and (len(batches[-1]) == batch_size or length > room):
                batches.append([])
                room = CHARACTERS
            batches[-1].append(entry)
            room -= length
        yield batches


def _length(item: Item) -> int:
    if isinstance(item, Trace):
        return 0  # nothing to run
    if isinstance(item, str):
        return len(item)
    return sum(len(text) + 1 for text in item)


def traces_of(
    lens: Lens | None, batch: list[Numbered], truncation: bool = False, model: Fingerprint | None = None
) -> Iterator[Trace]:
    """The traces of a batch in its order; texts run together, word lists and given traces one by one.

    model: as which the lens's model has to be still. Raises InputError, naming the text by its place in the corpus;
    ModelError for another model.
    """
    if lens is not None and model is not None and (name := lens.borrowed.change(model)):
        raise ModelError(f"the model has changed in the middle of a corpus ({name}): begin again")
    texts = [entry.item for entry in batch if isinstance(entry.item, str | tuple)]
    if lens is not None:
        check_lens(lens)
    if lens is None and not all(isinstance(entry.item, Trace) for entry in batch):
        raise InputError("texts need a lens; only a corpus of traces goes with lens=None")
    ran: list[Trace] = []
    if lens is not None and texts:
        try:
            pairs = ((text, None) if isinstance(text, str) else text for text in texts)
            encodings = [lens.encoding(text, pair, truncation) for text, pair in pairs]
            ran = lens.run_batches(encodings, len(texts), apart=False)[::-1]
        except BertLensError:
            ran = []  # find out whose fault it is
    for entry in batch:
        try:
            trace = ran.pop() if ran and isinstance(entry.item, str | tuple) else _trace(lens, entry.item, truncation)
        except InputError as error:
            raise InputError(f"{entry}: {error}") from None
        yield trace


def traces(
    lens: Lens | None,
    corpus: Corpus,
    name: str = "texts",
    batch_size: int = 8,
    truncation: bool = False,
    limit: int | None = None,
    progress: bool = False,
    column: Any = None,
) -> Iterator[Trace]:
    """The traces of a corpus, window by window, with a bar of this name. Errors of `numbered` and `traces_of`."""
    texts = numbered(corpus, limit, column)
    with Progress(total=size(corpus, limit) if progress else None, unit="text", desc=name, disable=not progress) as bar:
        for batch in itertools.chain.from_iterable(windows(texts, batch_size)):
            for trace in traces_of(lens, batch, truncation):
                yield trace
                bar.update()


def _trace(lens: Lens | None, item: Item, truncation: bool) -> Trace:
    if isinstance(item, Trace):
        if item.key_encoding is not None:
            raise InputError("cross-attention has no previous or next token: give the encoder's own maps")
        return item
    assert lens is not None
    if isinstance(item, list):
        return lens.trace_words(item, truncation=truncation)
    return (
        lens.trace(*item, truncation=truncation) if isinstance(item, tuple) else lens.trace(item, truncation=truncation)
    )


def digest(item: Item) -> int:
    """64 bits of a hash of one item. Their sum names a corpus whatever its order."""
    content = (item.text, item.text_pair, item.tokens) if isinstance(item, Trace) else item
    return int(hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16], 16)
