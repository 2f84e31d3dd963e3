"""What it costs to ask why a wrong passage is first, and to score a rewriting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.models import small_lens, text
from benchmarks.rows import Row, in_turn, ms
from bertlens.search.contrast import contrast


def rows() -> Iterator[Row]:
    lens, query = small_lens(), text(16)
    wrong, right = text(128), text(128).replace("cat", "dog")

    def lists() -> None:
        split = contrast(lens, query, wrong, right)
        _ = split.query, split.wrong, split.right, split.said

    split = contrast(lens, query, wrong, right)
    works = {
        "contrast of two passages of 128 tokens, three lists and the sentence": (lists, 2.0),
        "the same, its heads": (partial(split.by, "head"), 2.0),
        "a rewritten passage of 128 tokens, scored": (partial(split.rewritten, wrong=right), 0.2),
        "a passage without a word and without 16 others, hidden": (split.without, 2.0),
    }
    times = in_turn(*(work for work, _ in works.values()), rounds=5)
    for (name, (_, budget)), spent in zip(works.items(), times, strict=True):
        yield Row(f"{name}, embedded model", f"≤ {ms(budget)}", f"{ms(min(spent))} at best", ok=min(spent) <= budget)
