"""Named spans of a text that its tags spell out, and how many of them were found: strict, in the scheme IOB2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Entity = tuple[str, int, int]  # type, first word, the word behind its last


def is_iob(names: Sequence[str]) -> bool:
    """Whether tags spell entities: all are O, B-… or I-…, and some B- is there."""
    return all(name == "O" or name[:2] in ("B-", "I-") for name in names) and any(name[:2] == "B-" for name in names)


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of one text. Strict IOB2: one begins at B-x and goes on over I-x; an I-x without it is none."""
    spans: list[Entity] = []
    start: tuple[str, int] | None = None
    for at, tag in enumerate([*tags, "O"]):
        if start is not None and tag != f"I-{start[0]}":
            spans.append((*start, at))
            start = None
        if tag.startswith("B-"):
            start = tag[2:], at
    return spans


def counts(labels: Sequence[Sequence[str]], guesses: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """Of each type, in alphabetical order: (n, 3) how many entities of a text were found, are there, were guessed."""
    pairs = [(set(entities(a)), set(entities(b))) for a, b in zip(labels, guesses, strict=True)]
    types = sorted({kind for pair in pairs for entity in pair for kind, *_ in entity})
    return {
        kind: np.array(
            [
                [sum(entity[0] == kind for entity in group) for group in (labelled & guessed, labelled, guessed)]
                for labelled, guessed in pairs
            ]
        ).reshape(len(pairs), 3)
        for kind in types
    }
