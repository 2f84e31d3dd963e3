"""That nothing keeps a pass: memory after many traces, similarities and closed views, Python's collector off."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.rows import Row, mb
from bertlens import Lens, similarity

MOST = 30e6  # bytes
OTHER = "a dog slept on a rug"
TURNS = 200


def resident() -> float:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def text(number: int) -> str:
    return f"the cat {number} sat on the mat because it was tired and {number} others slept"


def grown(work: Callable[[str], None], times: int) -> float:
    """Bytes of the process that so many turns leave behind; a tenth of them went before."""
    for number in range(max(5, times // 10)):
        work(text(number))
    before = resident()
    for number in range(times):
        work(text(number))
    return resident() - before


def rows() -> Iterator[Row]:
    lens = Lens.embedded()

    def trace(words: str) -> None:
        lens.trace(words).attention(0)

    def pair(words: str) -> None:
        similarity(lens, words, OTHER).pairs(progress=False)

    def view(words: str) -> None:
        lens.trace(words).explore().close()

    def pair_view(words: str) -> None:
        similarity(lens, words, OTHER).explore().close()

    gc.collect()
    gc.disable()  # a circle would stay
    for name, work, times in (
        ("traces", trace, TURNS),
        ("similarities", pair, 50),
        ("Explorers opened and closed", view, 20),
        ("views of a similarity opened and closed", pair_view, 20),
    ):
        more = grown(work, times)
        yield Row(f"memory after {times} {name}, collector off", "≤ 30 MB more", f"{mb(more)} more", ok=more <= MOST)
