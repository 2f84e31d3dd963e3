"""What if a word were not there? Both scores without it, beside random words and words that are as frequent.

Two experiments. Hidden: each occurrence is seen by no head and left out of the pooling, places of the others stay.
Deleted: each occurrence is cut out of the text, beyond the model's limit too, and the text is read anew.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import Protocol

import numpy as np

from ..base.dataframes import pd
from ..base.quotes import isolate, quotation
from ..base.ranking import is_nothing
from ..base.vocabulary import phrases
from ..errors import InputError, SelectionError, check_number, check_seed, excerpt
from ..measures.words import grouped
from ..run.changes import Change
from ..sentences.encoders import SentenceLens
from ..text.display import word_of
from ..text.encoding import encode
from .text_words import TEXTS, TextWords, check_text_name, key_of, signed, subject

HOW = ("hidden", "deleted")
STEP = 4  # runs, before others have their turn
NAMED, ASKED, RANDOM, FREQUENT = "named", "asked", "random", "as frequent"


class Scored(Protocol):
    """What is asked of a `Contrast`, which stands above this."""

    @property
    def lens(self) -> SentenceLens: ...

    @property
    def texts(self) -> tuple[str, str, str]: ...

    @property
    def scores(self) -> tuple[float, float]: ...

    def words(self, text: str) -> TextWords: ...

    def named_in(self, text: str) -> str: ...

    def scores_without(self, text: str, sets: Sequence[Sequence[int]]) -> np.ndarray: ...

    def scores_of(self, text: str, versions: Sequence[str]) -> np.ndarray: ...

    def scores_changed(self, changes: Sequence[Change]) -> tuple[float, float]: ...


def without_in_steps(
    contrast: Scored,
    word: str | None,
    side: str,
    how: str,
    n_random: int,
    frequencies: Mapping[str, int] | None,
    seed: int = 0,
) -> Generator[float, None, pd.DataFrame]:
    """`Contrast.without` in steps of STEP runs, each with the share of them that is done."""
    if how not in HOW:
        raise SelectionError(f"no way {excerpt(how)} to take a word out: there are {', '.join(map(repr, HOW))}")
    n_random = check_number(n_random, "n_random is how many random words to leave out,", 0)
    check_seed(seed)
    if not isinstance(frequencies, Mapping | None):
        raise InputError(f"frequencies are a dictionary, word -> in how many passages, not {excerpt(frequencies)}")
    words = contrast.words(check_text_name(side))
    key = _key(contrast, words, word, side)
    drawn = draws(words, key, n_random, frequencies, seed)
    rows = [("none", ""), (NAMED if word is None else ASKED, key), *((draw, x) for draw in drawn for x in drawn[draw])]
    keys = ["", *dict.fromkeys(x for _, x in rows if x)]
    by_key: dict[str, np.ndarray] = {}
    for start in range(0, len(keys), STEP):
        yield start / len(keys)
        batch = keys[start : start + STEP]
        if how == "hidden":
            scores = contrast.scores_without(side, [words.tokens(x) if x else [] for x in batch])
        else:
            whole = contrast.texts[TEXTS.index(side)]
            scores = contrast.scores_of(side, [_deleted(contrast, side, x) if x else whole for x in batch])
        by_key |= zip(batch, scores, strict=True)
    table = pd.DataFrame(
        {
            "draw": [draw for draw, _ in rows],
            "word": [words.names[words.by_key[x][0]] if x else "" for _, x in rows],
            "times": [len(words.by_key[x]) if x else 0 for _, x in rows],
            "wrong": [float(by_key[x][0]) for _, x in rows],
            "right": [float(by_key[x][1]) for _, x in rows],
        }
    )
    table["difference"] = table["wrong"] - table["right"]
    scale, first = max(map(abs, contrast.scores)), table["difference"].iloc[0]
    table["turned"] = [order_after(first, gap, scale) == phrases.TURNS for gap in table["difference"]]
    table.attrs["said"] = sentence(table, side, how)
    return table


def order_after(before: float, after: float, beside: float) -> str:
    """What becomes of an order by two differences of scores, of scores as large as `beside`: one of the phrases."""
    orders = [0.0 if is_nothing(gap, beside) else math.copysign(1, gap) for gap in (before, after)]
    if not all(orders):
        return phrases.BEGINS if orders[1] else phrases.TIES
    return phrases.TURNS if orders[0] != orders[1] else phrases.STAYS


def sentence(table: pd.DataFrame, text: str, how: str) -> str:
    """What became of the order without the word, and in how many of the draws beside it."""
    word, (before, after) = table["word"].iloc[1], table["difference"].iloc[:2]
    if is_nothing(before, float(table[["wrong", "right"]].iloc[0].abs().max())):
        return phrases.NO_ORDER
    order = order_after(before, after, float(table[["wrong", "right"]].iloc[0].abs().max()))
    numbers = " → ".join(signed([before, after]))
    place = subject(text)[0].lower() + subject(text)[1:]
    clause = f"With {quotation(word)} {how} in {place} {order} ({numbers})"
    counts = []
    for draw, name in ((RANDOM, "a random word"), (FREQUENT, "one nearest in frequency")):
        rows = table[table["draw"] == draw]
        if len(rows):
            counts.append(f"with {name} in {int(rows['turned'].sum())} of {len(rows)}")
    return f"{clause}; {', '.join(counts)}." if counts else f"{clause}."


def changed(contrast: Scored, changes: Sequence[Change]) -> pd.DataFrame:
    """Both scores and their difference "before" and "after": with the same changes in the runs of all texts.

    changes: of bertlens.whatif, such as whatif.off(layer, head). Raises SelectionError for a change of certain tokens,
    which are others in each text.
    """
    for change in changes:
        if isinstance(change, Change) and change.names_tokens:
            raise SelectionError(f"{change} is of one text: heads, layers and MLPs can be changed in all three")
    columns = {"before": contrast.scores, "after": contrast.scores_changed(changes)}
    table = pd.DataFrame(columns, index=["wrong", "right"])
    table.loc["difference"] = table.loc["wrong"] - table.loc["right"]
    return table


def draws(
    words: TextWords, key: str, count: int, frequencies: Mapping[str, int] | None = None, seed: int = 0
) -> dict[str, list[str]]:
    """Other words of a text, by their keys: `count` at random, and `count` that are as frequent, nearest first."""
    by_key = words.by_key
    others = [x for x in by_key if x != key]
    order = np.random.default_rng(seed).permutation(len(others))
    shuffled = [others[at] for at in order]

    def distance(x: str) -> tuple[int, float]:
        counts = [math.log1p(frequencies.get(name, 0)) for name in (x, key)] if frequencies else [0.0, 0.0]
        return abs(len(by_key[x]) - len(by_key[key])), abs(counts[0] - counts[1])

    return {RANDOM: shuffled[:count], FREQUENT: sorted(shuffled, key=distance)[:count]}


def _key(contrast: Scored, words: TextWords, word: str | None, text: str) -> str:
    if word is None:
        return key_of(contrast.named_in(text))
    key = words.key(word, contrast.lens.tokenizer) if isinstance(word, str) else ""
    if not key:
        some = ", ".join(isolate(name) for name in [*words.by_key][:8])
        raise InputError(f"{subject(text)} has no word {isolate(excerpt(word))} as it is read; it has {some} …")
    return key


def _deleted(contrast: Scored, text: str, key: str) -> str:
    """A text without each occurrence of a word, blanks put together. Raises InputError where nothing is left."""
    whole = contrast.texts[TEXTS.index(text)]
    encoding = encode(contrast.lens.tokenizer, whole, limit=None)
    if encoding.offsets is None:
        raise InputError(
            "the tokenizer does not say where its words stand in the text: take them out with how='hidden'"
        )
    rest, end = [], 0
    for unit in grouped(encoding.word_ids):
        name = word_of((encoding.display_tokens[at] for at in unit), encoding.continuation)
        first, last = encoding.offsets[unit[0]], encoding.offsets[unit[-1]]
        if encoding.special[unit[0]] or first is None or last is None or key_of(name) != key:
            continue
        rest.append(whole[end : first[0]])
        end = last[1]
    shortened = " ".join("".join([*rest, whole[end:]]).split())
    if not shortened:
        place = subject(text)[0].lower() + subject(text)[1:]
        raise InputError(phrases.NOTHING_LEFT.format(word=quotation(key), place=place))
    return shortened
