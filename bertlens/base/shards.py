"""One job on several machines: which batches each process takes, and whether what they leave makes a whole."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from ..errors import InputError, excerpt
from .arrays_file import RELEASES, TRIAL, difference

Batch = TypeVar("Batch")
MOST = 100_000  # processes of a job
NAMED = 4  # shards that a sentence names


class Shard(NamedTuple):
    """The share of one process: `number`, from 1, of `of` processes."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: Any) -> Shard:
        """Of "3/32". Raises InputError for anything else."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text) if isinstance(text, str) else None
        shard = cls(*map(int, match.groups())) if match else cls(0, 0)
        if not 1 <= shard.number <= shard.of <= MOST:
            raise InputError(f"a shard is its number, from 1, and how many there are, as 3/32, not {excerpt(text)}")
        return shard

    def batches(self, stream: Iterable[Batch], what: str = "") -> Iterator[Batch]:
        """Its own of a stream: one of each `of` that follow each other, which one is drawn, so that all have as much.

        what: these batches, in the error where there are fewer than shards; "" where a shard may have none.
        Raises InputError for it.
        """
        iterator = iter(stream)
        at = 0
        while block := list(islice(iterator, self.of)):
            if what and not at and len(block) < self.of:
                raise InputError(f"there are {len(block)} {what}: too few for {self.of} shards")
            place = Random(at).sample(range(self.of), self.of)[self.number - 1]
            yield from block[place : place + 1]
            at += 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


WHOLE = Shard(1, 1)


class Part(NamedTuple):
    """What a process left: the file, which share it is, and by name what is the same in all parts of a job."""

    path: Path
    shard: Shard
    of: Mapping[str, Any]


def in_order(parts: Sequence[Part]) -> list[Part]:
    """The parts of one job by their numbers, whatever order they are named in.

    Raises InputError, one sentence that names the file, for one of another job, two of one share, and a share that
    lacks.
    """
    records = {part.path: {"number of shards": part.shard.of, **part.of} for part in parts}
    names = {name for record in records.values() for name in record} - {TRIAL, RELEASES}
    jobs = [json.dumps({name: record.get(name) for name in sorted(names)}) for record in records.values()]
    main = parts[jobs.index(Counter(jobs).most_common(1)[0][0])]
    by_number: dict[int, Part] = {}
    for part in parts:
        if name := difference(records[main.path], records[part.path]):
            raise InputError(f"{part.path} is of another job than {main.path} (what differs: {name}): leave it out")
        if twin := by_number.get(part.shard.number):
            raise InputError(f"{twin.path} and {part.path} are both shard {part.shard}: leave one out")
        by_number[part.shard.number] = part
    missing = [str(Shard(n, main.shard.of)) for n in range(1, main.shard.of + 1) if n not in by_number]
    if missing:
        listing = ", ".join(missing[:NAMED]) + (f" and {len(missing) - NAMED} more" if len(missing) > NAMED else "")
        raise InputError(f"{main.path} is of a job that lacks shard {listing}: run what lacks, and name all parts")
    return [by_number[number] for number in sorted(by_number)]
