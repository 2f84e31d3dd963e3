"""What it costs to ask why: a cell's sources, a head's score maps, a similarity; beside one forward pass."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from benchmarks.device import IS_CPU
from benchmarks.models import base_lens, text
from benchmarks.norms import forward, most_held
from benchmarks.rows import Row, in_turn, mb, ms, ratio
from bertlens.measures import sources

LAST, HEAD, QUERY, KEY = 11, 3, 8, 5


def rows() -> Iterator[Row]:
    before = torch.get_num_threads()
    for threads in (1, 2) if IS_CPU else (1,):
        torch.set_num_threads(threads)
        try:
            if threads == 1:
                yield from cells("1 thread", None)
                continue
            # the CPU time of two threads is twice their time; that on the wall is theirs where nothing else runs
            busy = os.getloadavg()[0] > (os.cpu_count() or 1)
            for row in cells("2 threads, on the wall", time.perf_counter):
                yield replace(row, ok=None, measured=f"{row.measured}, on a busy machine") if busy else row
        finally:
            torch.set_num_threads(before)
    yield from maps()
    yield from texts()


def cells(threads: str, clock: Callable[[], float] | None) -> Iterator[Row]:
    """One cell at the last layer."""
    for tokens in (128, 512):
        trace = base_lens().trace(text(tokens))
        trace.nan_layer  # noqa: B018 - looked up once for a trace
        score: Any = partial(sources.score, trace, LAST, HEAD, QUERY, KEY)
        query, key, opened = in_turn(
            score, partial(score, side="key"), partial(score, through_mlps=True), rounds=7, warm=1, clock=clock
        )
        for name, times, budget in (
            ("MLPs as sources, query side", query, 30),
            ("MLPs as sources, key side", key, 30),
            ("MLPs opened, query side", opened, 60),
        ):
            best = min(times)
            yield Row(
                f"sources of one cell, {name}, BERT-base shape, {tokens} tokens, {threads}",
                f"≤ {budget} ms",
                f"{ms(best)} at best, median {ms(sorted(times)[len(times) // 2])}",
                ok=best * 1000 <= budget,
            )
        if tokens > 128:
            continue
        base, opened = in_turn(
            forward(tokens), partial(score, side="key", through_mlps=True), rounds=3, warm=1, clock=clock
        )
        spent = ratio(opened, base)
        yield Row(
            f"the same, MLPs opened, key side, {tokens} tokens, {threads}",
            "≤ 1.5 × the plain sdpa forward",
            f"{spent:.2f} × ({ms(min(opened))} over {ms(min(base))} at best)",
            ok=spent <= 1.5,
        )


def maps() -> Iterator[Row]:
    """The score maps of one head."""
    for tokens in (128, 512):
        trace = base_lens().trace(text(tokens))
        trace.nan_layer  # noqa: B018
        work = partial(sources.maps, trace, LAST, HEAD)
        base, ours = in_turn(forward(tokens), work, rounds=5 if tokens < 256 else 3, warm=1)
        spent, held = ratio(ours, base), most_held(work)
        result = 36 * tokens**2 * 4
        yield Row(
            f"score maps of one head, last layer, {tokens} tokens",
            "≤ 0.5 × the plain sdpa forward" if tokens == 128 else "–",
            f"{spent:.2f} × ({ms(min(ours))} over {ms(min(base))} at best)",
            ok=spent <= 0.5 if tokens == 128 else None,
        )
        yield Row(
            f"memory of the same, {tokens} tokens",
            "≤ 40 MB beside trace and result",
            f"{mb(held - result)}, and the maps that it returns {mb(result)}",
            ok=held - result <= 40e6,
        )


def texts() -> Iterator[Row]:
    """Similarity: a pass for each input token."""
    trace = base_lens().trace(text(32))
    base, ours = in_turn(forward(32), partial(sources.similarity, trace, trace), rounds=3, warm=1)
    yield Row(
        "similarity of two texts of 32 tokens, by input token",
        "–",
        f"{ratio(ours, base):.0f} × the plain sdpa forward ({ms(min(ours))})",
    )
