"""What is said of a word without a partner, where it stands elsewhere in the other text: against the words of both."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from typing import Any

import pytest

import bertlens as bl
from bertlens import Lens, whatif
from bertlens.text import excerpts
from unit import tiny

SAID = re.compile(
    r"L\d+·H\d+ differs most at “(?P<query>.+)” \((?P<i>\d+)\): it looks at “(?P<key>.+)” \((?P<place>\d+)\) with "
    r"(?:[^;]+ in a, [^;]+ in b|\S+ in (?P<here>[ab]); (?P<there>[ab]) (?:has no such (?P<none>token|word)|"
    r"has it at (?P<places>[\d, and]+?)(?: and (?P<more>\d+) more)?, not aligned with this one))\."
)


def exchanged(words: list[str], chance: random.Random) -> list[str]:
    """Two of the words in each other's place."""
    first, second = chance.sample([n for n, word in enumerate(words) if word.isalpha()], 2)
    found = list(words)
    found[first], found[second] = words[second], words[first]
    return found


def clause_first(words: list[str], _: random.Random) -> list[str]:
    """What stands behind the first comma, put before the rest."""
    comma = next(n for n, word in enumerate(words) if word.endswith(","))
    return [*words[comma + 1 :], *words[: comma + 1]]


def sentences(fewest: int = 6, most: int = 24) -> list[list[str]]:
    """Natural sentences, in words."""
    split = (one.split() for texts in excerpts.sentences().values() for one in texts)
    return [words for words in split if fewest <= len(words) <= most]


def told(c: bl.Comparison, heads: int = 12) -> Counter[str]:
    """Every sentence about a word is true of the words of both texts; how many of each kind there were."""
    names, places = [list(trace.display_tokens) for trace in (c.a, c.b)], [list(range(t.n_tokens)) for t in (c.a, c.b)]
    if c.keys.by == "words":
        names = [[unit.name.casefold() for unit in side] for side in (c.keys.a, c.keys.b)]
        places = [[unit.pieces[0] for unit in side] for side in (c.keys.a, c.keys.b)]
    partners = [{places[side][pair[side]] for pair in c.keys.shared} for side in (0, 1)]
    kinds: Counter[str] = Counter()
    for sentence in c.most(heads)["words"]:
        said = SAID.fullmatch(sentence)
        assert said is not None, sentence
        here = "ab".index(said["here"] or "a")
        key = said["key"].casefold() if c.keys.by == "words" else said["key"]
        assert names[here][places[here].index(int(said["place"]))] == key
        elsewhere = [place for name, place in zip(names[1 - here], places[1 - here], strict=True) if name == key]
        assert (said["here"] is None) == (int(said["place"]) in partners[here])
        if said["here"] is None:
            kinds["aligned"] += 1
        elif said["none"]:
            assert not elsewhere and said["none"] == c.keys.by[:-1], (sentence, elsewhere)
            kinds["none"] += 1
        else:
            named = [int(place) for place in re.findall(r"\d+", said["places"])]
            assert named == elsewhere[: len(named)] and len(elsewhere) == len(named) + int(said["more"] or 0), sentence
            kinds["elsewhere"] += 1
    return kinds


@pytest.mark.parametrize("move", [exchanged, clause_first])
def test_words_of_natural_sentences_that_changed_places(embedded_lens: Lens, move: Any) -> None:
    chance, kinds = random.Random(3), Counter[str]()
    texts = [words for words in sentences() if move is exchanged or any(word.endswith(",") for word in words[:-1])]
    for words in texts[:40]:
        a, b = (embedded_lens.trace(" ".join(some)) for some in (words, move(words, chance)))
        kinds += told(bl.compare(a, b))
    assert kinds["elsewhere"] > 100


def test_a_word_is_named_where_the_other_text_has_it(embedded_lens: Lens) -> None:
    c = bl.compare(embedded_lens.trace("The dog chased the cat"), embedded_lens.trace("The cat chased the dog"))
    assert told(c)["elsewhere"] > 5
    assert "in a; b has it at 5, not aligned with this one." in " ".join(c.most(20)["words"])


def test_a_word_that_comes_often_is_named_with_four_places(embedded_lens: Lens) -> None:
    c = bl.compare(embedded_lens.trace("so it was"), embedded_lens.trace("was it so so so so so so"))
    assert told(c, 72)["elsewhere"]
    assert "has it at 3, 4, 5, 6 and 2 more, not" in " ".join(c.most(72)["words"])


def test_pairs_of_texts_and_changed_runs(embedded_lens: Lens) -> None:
    chance, kinds = random.Random(4), Counter[str]()
    texts = sentences()
    for first, second in itertools.pairwise(texts[:12]):
        pair = [" ".join(words) for words in (first, second)]
        a, b = embedded_lens.trace(*pair), embedded_lens.trace(*pair[::-1])
        kinds += told(bl.compare(a, b)) + told(bl.compare(a, a.rerun(whatif.off(1, 3), whatif.hide(2))))
        moved = embedded_lens.trace(" ".join(exchanged(first, chance)), pair[1])
        kinds += told(bl.compare(a.rerun(whatif.off(0, 1)), moved))
    assert kinds["elsewhere"] > 100 and kinds["aligned"] > 100


def test_by_words() -> None:
    lens = Lens(tiny.bert().double(), tiny.wordpiece())
    model = tiny.shaken(tiny.FAMILIES["roberta"].model()).double()
    other = Lens(model, tiny.roberta_like(add_prefix_space=True))
    chance, kinds = random.Random(5), Counter[str]()
    for words in sentences(most=8)[:30]:
        a, b = lens.trace(" ".join(words)), other.trace(" ".join(exchanged(words, chance)))
        c = bl.compare(a, b, same_heads=True)
        assert c.keys.by == "words"
        kinds += told(c)
    assert kinds["elsewhere"] > 20


def test_what_both_texts_have_is_not_said_of_what_is_aligned(embedded_lens: Lens) -> None:
    """Both texts have every word; two are not aligned."""
    c = bl.compare(embedded_lens.trace("The dog chased the cat"), embedded_lens.trace("The cat chased the dog"))
    assert c.only().said.startswith("Only aligned tokens: 5 of 7 of a and of 7 of b.")
