"""For which questions a ranking is better or worse: long or short ones, rare words, passages that were cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..base.amounts import amount
from ..base.dataframes import pd
from ..base.quotes import isolate
from ..errors import InputError, check_name
from ..measures.significance import group_interval, holm_intervals, share_interval
from ..text.piece_counts import Fertility, finely_cut
from ..text.plain_words import words_of
from .bm25 import passage_frequencies, word_counts
from .collection import Collection
from .failure_rules import ReadingLimit

FEWEST = 10  # questions in a slice, and outside of it
OF_QUARTERS = 4 * FEWEST  # questions; of fewer, halves
RIGHT = "right passages"
FINELY_CUT = "questions"  # the kind of those by how finely the tokenizer cuts them


def slices(
    questions: pd.DataFrame,
    collection: Collection,
    limit: ReadingLimit | None = None,
    measure: str = "nDCG@10",
    pieces: Callable[[Sequence[str]], list[Fertility]] | None = None,
) -> pd.DataFrame:
    """DataFrame(kind, slice, n, mean, low, high, outside, difference, difference_low, difference_high, p, finding).

    questions: a table of `metrics.by_question`. A row a slice of these: quarters (below 40 questions halves, one of
    which stands for both) by the length of the question, by the length of its right passages (the median of them), and
    by its rarest word (in how many passages it stands; 0 for one that is in none); with a limit, those of which a right
    passage is longer than what the model reads; with pieces (`fertility` of the model's tokenizer) those that it cuts
    finely: in more than 2 pieces a word, or in pieces of fewer than 2 characters. Lengths are in words. mean: of the
    measure, with its 95 % interval over questions; outside: the mean of the others; difference: mean − outside, its
    interval and p are Holm's over the slices (`significance.holm_intervals`), finding: p ≤ .05. Slices of fewer than 10
    questions, inside or outside, are left out. What goes with a slice need not be what makes it so: long questions may
    be other questions. Raises InputError for a measure that is not there.
    """
    check_name(measure, questions.columns, "measure", InputError)
    shares = questions[measure].to_numpy()
    groups = [
        (kind, name, inside)
        for kind, name, inside in (*_slices(collection, limit), *_finely_cut(collection, pieces))
        if FEWEST <= inside.sum() <= len(shares) - FEWEST
    ]
    sides = [(shares[inside], shares[~inside]) for _, _, inside in groups]
    ends = holm_intervals([partial(_interval, *side) for side in sides])
    rows = []
    for (kind, name, _), (inside, outside), (low, high, p) in zip(groups, sides, ends, strict=True):
        mean = (len(inside), inside.mean(), *share_interval(inside, np.ones(len(inside))))
        rows.append(
            (kind, name, *mean, outside.mean(), inside.mean() - outside.mean(), low, high, p, low > 0 or high < 0)
        )
    difference = ["difference", "difference_low", "difference_high", "p", "finding"]
    table = pd.DataFrame(rows, columns=["kind", "slice", "n", "mean", "low", "high", "outside", *difference])
    table.attrs["measure"] = measure
    return table


def _interval(inside: np.ndarray, outside: np.ndarray, level: float) -> tuple[float, float]:
    return group_interval(inside, outside, level)


def sentence(table: pd.DataFrame) -> str:
    """In which slices the measure is another one than outside of them."""
    if not len(table):
        return f"No slice has {FEWEST} questions inside and {FEWEST} outside."
    measure, findings = table.attrs["measure"], table[table["finding"]]
    named = "; ".join(
        f"{row.kind}, {isolate(row.slice)}: {row.mean:.3f}, else {row.outside:.3f}" for row in findings.itertuples()
    )
    clause = f"{len(findings) or 'none'} of {amount(len(table), 'slice')}"
    text = f"In {clause} {measure} differs from that of the other questions{named and ': '}{named} (Holm, 5 %)."
    return " ".join([text, *map(partial(_by_pieces, measure), table[table["kind"] == FINELY_CUT].itertuples())])


def _by_pieces(measure: str, row: Any) -> str:
    """Of questions that the tokenizer cuts finely, whether they are a finding or not."""
    chance = "" if row.finding else ": may be chance"
    ends = f"{row.difference_low:+.3f} to {row.difference_high:+.3f}".replace("-", "−")
    return (
        f"Questions {row.slice}: {measure} {row.mean:.3f} over {row.n}, others {row.outside:.3f} "
        f"(difference {ends} by Holm{chance})."
    )


def _slices(collection: Collection, limit: ReadingLimit | None) -> Iterator[tuple[str, str, np.ndarray]]:
    """(kind, name, (n,) bool) of each slice of the judged questions."""
    judged = collection.judged
    words = [words_of(collection.queries[query]) for query in judged]
    yield from _parts("question", np.array([len(of) for of in words]), "{} words")
    rows = _right_passages(collection)
    sizes = {row: len(words_of(collection.passages[row])) for right in rows for row in right}
    medians = [int(np.median([sizes[row] for row in right])) if right else 0 for right in rows]
    yield from _parts(RIGHT, np.array(medians), "{} words")
    places: dict[str, int] = {}
    word_counts([collection.queries[query] for query in judged], places, grows=True)
    frequencies = passage_frequencies(word_counts(collection.passages, places, grows=False))
    rarest = [min((frequencies[places[word]] for word in of), default=0) for of in words]
    yield from _parts("rarest word of the question", np.array(rarest), "in {} passages")
    if limit is not None:
        inside = [_is_cut(collection, limit, query, right) for query, right in zip(judged, rows, strict=True)]
        yield RIGHT, "one or more of them cut", np.array(inside)


def _finely_cut(
    collection: Collection, pieces: Callable[[Sequence[str]], list[Fertility]] | None
) -> Iterator[tuple[str, str, np.ndarray]]:
    """(kind, name, (n,) bool) of the judged questions that the tokenizer cuts finely."""
    if pieces is not None:
        cuts = pieces([collection.queries[query] for query in collection.judged])
        yield from ((FINELY_CUT, name, inside) for name, inside in finely_cut(cuts))


def _right_passages(collection: Collection) -> list[list[int]]:
    """The passages of the relevant documents of each judged question, by place."""
    members: dict[str, list[int]] = {}
    for row, name in enumerate(collection.documents):
        members.setdefault(name, []).append(row)
    return [
        [row for name in collection.relevant(query) for row in members.get(name, ())] for query in collection.judged
    ]


def _is_cut(collection: Collection, limit: ReadingLimit, query: int, right: list[int]) -> bool:
    texts = [collection.passages[row] for row in right]
    return limit.excerpts(texts, limit.room(collection.queries[query])) != texts


def _parts(kind: str, counts: np.ndarray, unit: str) -> Iterator[tuple[str, str, np.ndarray]]:
    """Quarters of the questions by a count of each, (n,) int, or halves; those of one count stay together."""
    if not len(counts):
        return
    quantiles = [0.25, 0.5, 0.75] if len(counts) >= OF_QUARTERS else [0.5]
    edges = [int(edge) for edge in np.unique(np.floor(np.quantile(counts, quantiles))) if edge < counts.max()]
    number = np.searchsorted(edges, counts)
    for place in range(len(edges) + 1 if len(edges) > 1 else len(edges)):
        if place == len(edges):
            name = f"more than {edges[-1]}"
        elif not place:
            name = f"at most {edges[0]}" if edges[0] else "no"
        else:
            low, high = edges[place - 1] + 1, edges[place]
            name = f"{low} to {high}" if low < high else f"{high}"
        text = unit.format(name)
        yield kind, text.removesuffix("s") if name.split()[-1] == "1" else text, number == place
