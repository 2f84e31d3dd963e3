"""Work as a generator that yields after each step, so that other work has its turn, and returns its result."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]


def run_to_end(steps: Generator[Any, None, T]) -> T:
    """The result, without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def batches_of(lengths: list[int], size: int, same_length: bool) -> Iterator[list[int]]:
    """Indices in batches of at most `size`, like lengths together; equal lengths only where padding would be seen."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if len(batch) == size or (batch and same_length and lengths[i] != lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
