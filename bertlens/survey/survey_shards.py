"""A survey in shards: each process takes its share of the corpus' batches, and `merge` makes one of their files.

The batches are those of one process, so that a text is padded beside the same texts: sums differ in their order alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ..base.arrays_file import about_of
from ..base.paths import as_path
from ..base.shards import Part, Shard, in_order
from ..errors import InputError
from .corpus import Numbered, digest, windows
from .headstats import HeadStats
from .statsfile import FILE

MODULUS = 1 << 64
CORPUS = "corpus"  # of a part's record, when all of it is counted


class ShardBatches:
    """The batches of a shard, and what is known of the corpus when they are at their end. Every text is read."""

    def __init__(self, shard: Shard, texts: Iterable[Numbered], batch_size: int, start: HeadStats | None = None):
        self.record: dict[str, Any] = {"number": shard.number, "of": shard.of, "batch size": batch_size}
        if start is not None and {**(start.shard or {}), CORPUS: None} != {**self.record, CORPUS: None}:
            raise InputError(f"the statistics to resume are not of shard {shard} in batches of {batch_size}")
        self._texts, self._checksum = 0, 0
        self._batches = shard.batches(
            chain.from_iterable(windows(map(self._counted, texts), batch_size)), f"batches of {batch_size} texts"
        )
        if start is not None:
            self._skip(start)

    def __iter__(self) -> Iterator[list[Numbered]]:
        yield from self._batches
        self.record[CORPUS] = f"{self._texts} texts, {self._checksum:016x}"

    def _counted(self, entry: Numbered) -> Numbered:
        self._texts += 1
        self._checksum = (self._checksum + digest(entry.item)) % MODULUS
        return entry

    def _skip(self, start: HeadStats) -> None:
        """The batches that are counted already. Raises InputError where they are of other texts."""
        count = checksum = 0
        while count < start.n_texts and (batch := next(self._batches, [])):
            count += len(batch)
            checksum += sum(digest(entry.item) for entry in batch)
        if (count, checksum % MODULUS) != (start.n_texts, start.corpus):
            raise InputError("the statistics to resume are of other texts: give the corpus that they were begun with")


def merge(files: Iterable[str | Path]) -> HeadStats:
    """The statistics of a survey in shards, from the files of all of them, in any order.

    They are those of one process: counts are equal, sums to the last digits. Raises InputError, which names the file,
    for one that is of another model, corpus or setting, or comes twice, or is not complete, and where a shard lacks.
    """
    parts = in_order([_part(as_path(file)) for file in files])
    total = sum(HeadStats.load(part.path) for part in parts)
    assert isinstance(total, HeadStats)
    expected = str(parts[0].of[CORPUS])
    if f"{total.n_texts} texts, {total.corpus:016x}" != expected:
        raise InputError(f"the parts hold {total.n_texts} texts, and the corpus {expected}: run them again")
    return total


def _part(path: Path) -> Part:
    about = about_of(path)
    record = about.get("shard")
    if about["kind"] != FILE.name or not isinstance(record, dict):
        raise InputError(f"{path} is no part of a survey: parts are written with --shard")
    shard = Shard(record["number"], record["of"])
    if CORPUS not in record:
        raise InputError(f"{path} is not complete: --shard {shard} with --resume goes on")
    provenance = about["provenance"]
    settings = {name: record[name] for name in ("batch size", CORPUS)} | provenance["options"]
    return Part(path, shard, provenance["identity"] | settings)
