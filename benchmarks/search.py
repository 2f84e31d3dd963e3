"""What exact search costs beside the search of sentence-transformers, which sorts by float32 alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from benchmarks.rows import Row, in_turn, ms, ratio
from bertlens.search.exact_search import search
from bertlens.search.vectors import PassageVectors

PASSAGES, WIDTH, QUESTIONS, DEPTH = 500_000, 384, 4, 200
BUDGET = 0.3  # seconds


def rows() -> Iterator[Row]:
    """A few questions over half a million vectors, float32 and int8."""
    from sentence_transformers.util import semantic_search

    draw = np.random.default_rng(0)
    vectors = draw.standard_normal((PASSAGES, WIDTH), dtype=np.float32)
    queries = draw.standard_normal((QUESTIONS, WIDTH), dtype=np.float32)
    scales = np.abs(vectors).max(1) / np.float32(127)
    steps = np.empty(vectors.shape, np.int8)
    np.rint(vectors / scales[:, None], out=steps, casting="unsafe")
    order = np.arange(PASSAGES)
    peer = partial(semantic_search, torch.from_numpy(queries), torch.from_numpy(vectors), top_k=DEPTH)
    ours = (PassageVectors(vectors), PassageVectors(steps, scales))
    works = [partial(search, PassageVectors(queries), passages, "cosine", order, DEPTH) for passages in ours]
    base, *times = in_turn(peer, *works, rounds=5, warm=1)
    for name, seconds in zip(("float32", "int8"), times, strict=True):
        yield Row(
            f"exact search, {QUESTIONS} questions, {PASSAGES:,} × {WIDTH}, {name}, {DEPTH} best in float64",
            f"≤ {ms(BUDGET)}",
            f"{ms(min(seconds))} at best",
            f"semantic_search of sentence-transformers {ms(min(base))}; {ratio(seconds, base):.2f} × of it",
            min(seconds) <= BUDGET,
        )
