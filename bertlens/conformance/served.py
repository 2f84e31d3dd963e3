"""What a function that makes vectors does beyond one array: whether a text's vector depends on its batch, on its turn
or on other calls at the same time, and how many tokens are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np

from .probing import word_text
from .scoring import SAMPLE, TIMES, Scoring, relative
from .vector_array import read

Run = Callable[[list[str]], object]
THREADS = 4
LEAST = 1e-5  # relative: what float engines may differ by between two batches


@dataclass(frozen=True)
class Served:
    """alone: the vectors of all texts, each in a call of its own; None for more texts than are asked for again."""

    sentences: tuple[str, ...]
    alone: np.ndarray | None
    hangs_on_batch: bool


def served(run: Run, search: Scoring, together: np.ndarray) -> Served:
    """together: the vectors that all texts have in one call. Calls `run` some fifty times, also on four threads."""

    def vectors(*texts: str) -> np.ndarray:
        return read(run(list(texts))).astype(np.float64).reshape(len(texts), -1)

    texts = search.texts
    sample = [int(n) for n in np.argsort(search.lengths, kind="stable")[:: -(-len(texts) // SAMPLE)]]
    single = np.concatenate([vectors(texts[n]) for n in sample])
    drift = relative(single[:1], vectors(texts[sample[0]]))[0]
    limit = max(search.limit, LEAST, TIMES * drift)
    sentences = []
    if drift > max(search.limit, LEAST):
        sentences.append(f"The same call gives other vectors the second time (by {drift:.1e}).")
    is_in_order = together.shape == (len(texts), single.shape[1]) and not search.is_reordered
    gap = relative(single, together[sample].astype(np.float64)).max() if is_in_order else 0.0
    if hangs := bool(gap > limit):
        sentences.append(
            f"A text's vector depends on its batch (by {gap:.1e} at most): {_why(vectors, search, limit)}."
        )
    sentences += [_at_once(vectors, [texts[n] for n in sample], single, limit), _length(vectors, search, limit)]
    is_whole = len(sample) == len(texts)
    alone = single[np.argsort(sample)].astype(np.float32) if is_whole else None
    return Served(tuple(filter(None, sentences)), alone, hangs)


def _why(vectors: Callable[..., np.ndarray], search: Scoring, limit: float) -> str:
    """What it is of a batch that a vector depends on: the first of these by which one text's is moved."""
    text, turned_text = word_text(3), " ".join(word_text(3).split()[::-1])
    twice = vectors(text, text)[:1]
    if relative(twice, vectors(text, turned_text)[:1])[0] > limit:
        return "on the words of the text beside it, of the same length"
    if relative(twice, vectors(text, word_text(search.reader.limit // 2 + 3))[:1])[0] > limit:
        return "on the length of the text beside it, as padding that is attended to or pooled does"
    if relative(twice, vectors(text))[0] > limit:
        return "on how many texts are in it, be they the same"
    return "two texts beside each other do not show by what"


def _at_once(vectors: Callable[..., np.ndarray], texts: Sequence[str], single: np.ndarray, limit: float) -> str:
    """Of the texts in calls from several threads."""
    with ThreadPoolExecutor(THREADS) as threads:
        calls = [threads.submit(vectors, text) for text in [*texts, *texts]]
    if errors := [error for call in calls if (error := call.exception())]:
        return f"Called from {THREADS} threads at once it fails: {type(errors[0]).__name__}."
    moved = [relative(single[n % len(texts)][None], call.result())[0] for n, call in enumerate(calls)]
    return (
        ""
        if max(moved) <= limit
        else f"Called from {THREADS} threads at once it gives other vectors (by {max(moved):.1e})."
    )


def _length(vectors: Callable[..., np.ndarray], search: Scoring, limit: float) -> str:
    """How many tokens it reads: the shortest beginning of a long text whose vector is that of all of it."""
    reader, words = search.reader, 2
    while len(reader.whole(_letters(words))) < 2 * reader.limit:
        words *= 2
    long_vector, shorter, longer = vectors(_letters(words)), 1, words
    while longer - shorter > 1:
        middle = (shorter + longer) // 2
        is_read = relative(long_vector, vectors(_letters(middle)))[0] > limit
        shorter, longer = (middle, longer) if is_read else (shorter, middle)
    low, high = (len(reader.whole(_letters(n))) for n in (shorter, longer))
    if longer == words or low < reader.limit <= high:
        return "" if longer < words else f"It reads all {high:,} tokens of a text; the model here {reader.limit:,}."
    numbers = f"{high:,}" if high == low + 1 else f"{low + 1:,} to {high:,}"
    return f"It reads {numbers} tokens of a text and no more; the model here {reader.limit:,}."


def _letters(n: int) -> str:
    """n letters apart, each a token of nearly every tokenizer, whose order does not repeat soon."""
    return " ".join(ascii_lowercase[(k * k * 5 + k * 3) % 26] for k in range(n))
