"""Small work in one thread: threads that wait for each other beside another process cost ten times what they save."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL_STREAM = 50_000  # numbers in one layer's stream, tokens × width: 64 tokens of BERT-base, 130 of MiniLM


@contextmanager
def one_thread_if_small(size: int) -> Iterator[None]:
    """Run the block in one of torch's threads if `size` (tokens × width) is small, and in all that there are if not."""
    n_threads = torch.get_num_threads()
    if size > SMALL_STREAM or n_threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
