"""Near duplicates: passages that say nearly the same in the same words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..text.plain_words import words_of

RUN = 5  # words in a row
ALIKE = 0.5  # runs of the shorter text that stand in the other


def near_duplicates(left: Sequence[str], right: Sequence[str]) -> Any:
    """(n, m) sparse bool: whether half or more of the runs of RUN words of the shorter text stand in the other too.

    Of n and m texts; the shorter has the fewer different runs. A text of fewer words is one run; one without words is
    like none. Broder 1997 calls the share containment.
    """
    from scipy.sparse import csr_matrix

    numbers: dict[tuple[str, ...], int] = {}  # of the runs of `left`
    left_runs = [[numbers.setdefault(run, len(numbers)) for run in _runs(text)] for text in left]
    sizes = [np.array([len(row) for row in left_runs], dtype=np.int64), np.zeros(len(right), dtype=np.int64)]
    right_runs = []
    for at, text in enumerate(right):
        runs = _runs(text)
        sizes[1][at] = len(runs)
        right_runs.append([numbers[run] for run in runs if run in numbers])
    common = (incidence(left_runs, len(numbers)) @ incidence(right_runs, len(numbers)).T).tocoo()
    repeats = common.data >= ALIKE * np.minimum(sizes[0][common.row], sizes[1][common.col])
    return csr_matrix(
        (np.ones(repeats.sum(), dtype=bool), (common.row[repeats], common.col[repeats])), shape=common.shape
    )


def incidence(rows: Sequence[Collection[int]], n: int) -> Any:
    """(N, n) sparse int32: 1 at the columns that each of N rows names, none twice."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(ends[-1]))
    return csr_matrix((np.ones(len(columns), dtype=np.int32), columns, ends), shape=(len(rows), n))


def _runs(text: str) -> dict[tuple[str, ...], None]:
    """The different runs of a text, in its order."""
    words = words_of(text)
    starts = range(max(1, len(words) - RUN + 1) if words else 0)
    return dict.fromkeys(tuple(words[start : start + RUN]) for start in starts)
