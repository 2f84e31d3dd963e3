"""Near duplicates beside a loop over all pairs of texts."""

from __future__ import annotations

import random

import numpy as np

from bertlens.search.near_duplicates import near_duplicates


def runs(text: str) -> set[tuple[str, ...]]:
    words = text.lower().replace(",", " ").replace(".", " ").split()
    return {tuple(words[n : n + 5]) for n in range(max(1, len(words) - 4))} if words else set()


def alike(a: str, b: str) -> bool:
    shorter = min(len(runs(a)), len(runs(b)))
    return shorter > 0 and len(runs(a) & runs(b)) >= shorter / 2


def test_pairs_are_those_of_a_loop() -> None:
    drawn = random.Random(1)
    text = [f"w{drawn.randrange(300)}" for _ in range(80)]
    texts = ["", "One two.", "one, TWO", "one", " ".join(text)]
    for start, end, changes in ((0, 40, 0), (0, 40, 3), (0, 80, 5), (20, 60, 1), (39, 80, 0), (0, 80, 30), (50, 54, 0)):
        copy = text[start:end]
        for _ in range(changes):
            copy[drawn.randrange(len(copy))] = "other"
        texts.append(", ".join(copy).upper())
    for common in (21, 22):  # words of 40: 17 and 18 of 36 runs
        texts += [" ".join([*text[:common], *(f"v{common}x{n}" for n in range(40 - common))])]
    table = near_duplicates(texts, texts[::-1]).toarray()
    loop = np.array([[alike(a, b) for b in texts[::-1]] for a in texts])
    assert (table == loop).all() and 20 < loop.sum() < 80


def test_no_text() -> None:
    assert near_duplicates([], ["one two"]).shape == (0, 1) and near_duplicates(["one"], []).shape == (1, 0)
