"""Tokens of two texts put beside each other: as many as can be, the same either way round, nothing dropped."""

from __future__ import annotations

import itertools
import random
from functools import cache

import pytest

from bertlens import Lens, Trace
from bertlens.comparison.alignment import Alignment, align, common
from unit import tiny


def naive_length(x: str, y: str) -> int:
    @cache
    def rest(i: int, j: int) -> int:
        if i == len(x) or j == len(y):
            return 0
        return max(rest(i + 1, j), rest(i, j + 1), (x[i] == y[j]) * (1 + rest(i + 1, j + 1)))

    return rest(0, 0)


def test_the_longest_common_subsequence_either_way_round() -> None:
    chance = random.Random(0)
    for _ in range(300):
        x, y = ("".join(chance.choices("abcd"[: chance.randint(1, 4)], k=chance.randint(0, 9))) for _ in "xy")
        pairs = common([(c,) for c in x], [(c,) for c in y])[0]
        assert len(pairs) == naive_length(x, y)
        assert all(x[i] == y[j] for i, j in pairs)
        assert all(i < k and j < m for (i, j), (k, m) in itertools.pairwise(pairs))
        assert [(j, i) for i, j in pairs] == common([(c,) for c in y], [(c,) for c in x])[0]
    assert common([("x",), ("y",)], [("y",), ("x",)])[0] == [(0, 1)]  # a choice that no place decides: the smaller key
    assert common([("the",), ("cat",)], [("the",), ("the",), ("cat",)])[0] == [(0, 0), (1, 2)]


def every_longest(x: str, y: str) -> list[set[tuple[int, int]]]:
    """All common subsequences of the greatest length, found by trying all choices of places."""
    for size in range(min(len(x), len(y)), 0, -1):
        found = [
            set(zip(p, q, strict=True))
            for p in itertools.combinations(range(len(x)), size)
            for q in itertools.combinations(range(len(y)), size)
            if all(x[i] == y[j] for i, j in zip(p, q, strict=True))
        ]
        if found:
            return found
    return [set()]


def test_pairs_that_another_alignment_as_long_lacks_are_named() -> None:
    chance, several = random.Random(1), 0
    for _ in range(150):
        x, y = ("".join(chance.choices("abcd"[: chance.randint(1, 4)], k=chance.randint(0, 6))) for _ in "xy")
        pairs, free = common([(c,) for c in x], [(c,) for c in y])
        all_of_them = every_longest(x, y)
        assert set(pairs) in all_of_them
        assert free == [pair for pair in pairs if not all(pair in one for one in all_of_them)]
        several += len(all_of_them) > 1
    assert 50 < several < 150


def test_the_sentence_names_them_by_their_places() -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    a, b = lens.trace("the cat sat on the mat"), lens.trace("the mat sat on the cat")
    found = align(a.encoding, b.encoding, True)
    assert found.open == () and found.said == "6 of 8 tokens of a and of 8 of b are aligned."
    moved = align(a.encoding, lens.trace("cat the sat on the mat").encoding, True)
    assert moved.shared[1] == (2, 1) and moved.open == ((2, 1),)
    assert moved.said == (
        "7 of 8 tokens of a and of 8 of b are aligned. Another alignment is as long without “cat” (2 and 1): taken are "
        "the pairs that both texts come to first."
    )
    words = align(a.encoding, lens.trace("cat the sat mat on the").encoding, False)
    assert words.open == ((2, 1),)
    assert words.said.startswith(
        "6 of 8 words of a and of 8 of b are aligned. Another alignment is as long without “cat”"
    )
    many = align(lens.trace("the cat " * 5).encoding, lens.trace("cat the " * 4 + "cat cat").encoding, True)
    assert len(many.open) > 4 and f" and {len(many.open) - 4} more: taken are" in many.said


def names(found: Alignment) -> list[tuple[str | None, str | None]]:
    return [(None if i is None else found.a[i].name, None if j is None else found.b[j].name) for i, j in found.pairs]


def whole(found: Alignment) -> None:
    """Every unit is there once, in order, and every token in one unit."""
    for side, units in enumerate((found.a, found.b)):
        assert [pair[side] for pair in found.pairs if pair[side] is not None] == list(range(len(units)))
        pieces = [piece for unit in units for piece in unit.pieces]
        assert pieces == list(range(len(pieces)))


def test_one_tokenizer_goes_by_words_token_by_token() -> None:
    """A word whose pieces differ is a gap as a whole, even where it shares a piece."""
    lens = Lens(tiny.bert(), tiny.wordpiece())
    a, b = lens.trace("the unbelievable cat sat"), lens.trace("the unable cat sat", "the cat")
    found = align(a.encoding, b.encoding, True)
    whole(found)
    assert names(found) == [
        ("[CLS]", "[CLS]"),
        ("the", "the"),
        ("un", None),
        ("##believ", None),
        ("##able", None),
        (None, "un"),
        (None, "##able"),
        ("cat", "cat"),
        ("sat", "sat"),
        ("[SEP]", "[SEP]"),
        (None, "the"),
        (None, "cat"),
        (None, "[SEP]"),
    ]
    assert found.by == "tokens" and len(found.shared) == 5 and list(map(len, found.alone)) == [3, 5]
    back = align(b.encoding, a.encoding, True)
    assert {(j, i) for i, j in back.shared} == set(found.shared)


@pytest.mark.parametrize("given", ["text", "words", "pair"])
def test_two_tokenizers_go_by_what_white_space_parts(given: str) -> None:
    """Capitals or not, whatever either tokenizer parts inside; every gap is there."""
    bert = Lens(tiny.bert(), tiny.wordpiece())
    roberta = Lens(tiny.FAMILIES["roberta"].model(), tiny.roberta_like(add_prefix_space=True))
    if given == "words":
        a, b = (
            lens.trace_words(words.split())
            for lens, words in (
                (bert, "The unbelievable cat's mat, on it"),
                (roberta, "the unbelievable cat's warm mat,"),
            )
        )
    elif given == "text":
        a, b = bert.trace("The unbelievable cat's mat, on it"), roberta.trace("the unbelievable  cat's warm mat,")
    else:
        a, b = bert.trace("The unbelievable cat's", "mat, on it"), roberta.trace("the unbelievable cat's", "warm mat,")
    found = align(a.encoding, b.encoding, False)
    whole(found)
    seps: list[tuple[str | None, str | None]] = [("[SEP]", "</s>"), (None, "</s>")] if given == "pair" else []
    mine = [("[CLS]", "<s>"), ("The", "the"), ("unbelievable", "unbelievable"), ("cat's", "cat's")]
    assert names(found) == [
        *mine,
        *seps,
        (None, "warm"),
        ("mat,", "mat,"),
        ("on", None),
        ("it", None),
        ("[SEP]", "</s>"),
    ]
    assert found.by == "words"


def test_tokens_that_were_given_are_words() -> None:
    import torch

    first, second = (
        Trace.from_attentions(torch.full((1, 2, n, n), 1 / n), tokens)
        for n, tokens in ((3, ["[CLS]", "a", "b"]), (3, ["[CLS]", "b", "c"]))
    )
    assert names(align(first.encoding, second.encoding, True)) == [
        ("[CLS]", "[CLS]"),
        ("a", None),
        ("b", "b"),
        (None, "c"),
    ]
