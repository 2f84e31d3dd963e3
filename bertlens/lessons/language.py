"""The language of a lesson's checks: text to a tree, and the tree to a verdict on what a view shows.

    check   = each {"or" each}        each = one {"and" one}
    one     = "not" one | "(" check ")" | number (">" | ">=" | "<" | "<=") number
            | "key is argmax" | "key is argmax of words" | "key is" word | "query is" word | "head is" head
            | "answer changed" | "answer is" word
    number  = digits | statistic | ("weight" | "taken") ["(" word "," word ")"]
    word    = letters, digits and _, or anything between double quotes; a head is such as L3H11 or "L3·H11"

statistic: a name of `measures.statistics.ATLAS_NAMES`, of the selected head. weight: α of the chosen row and column;
weight(it, animal): the largest from any "it" to any "animal", pieces put together to words (columns summed, rows
averaged). taken: the same of ‖αf(x)‖ ÷ its sum over the row (Kobayashi et al. 2020), told while the view shows the
norm or the difference. argmax: the key with the most weight in the chosen row. A page gets the tree and reads it the
same way (js/src/lessons/verdict.ts). Nothing is ever evaluated as code.

A number within TOLERANCE of its threshold is near it: near counts as fulfilled, and so does what is not clearly wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..base.quotes import quotation
from ..base.vocabulary import phrases
from ..base.vocabulary.constants import TOLERANCE
from ..errors import InputError
from ..measures.statistics import ATLAS_NAMES

MOST_CHARACTERS = 300
OF_CELLS = ("weight", "taken")
Tree: TypeAlias = list[Any]  # a name first, then its parts: see `parse`

_TOKEN = re.compile(r'\s*(?:(\d+(?:\.\d+)?)|"([^"\n]{1,60})"|([A-Za-z_][A-Za-z0-9_]*)|(>=|<=|[><(),]))')


@dataclass(frozen=True)
class Facts:
    """What a view shows, as checks read it.

    statistics: of the selected head, name -> number, NaN where the text has none. queries, keys: the words of both
    sides as (label, its positions). special: (K,) keys that are template tokens. weight(query, key): α of two tokens of
    the selected head. query, key: the chosen tokens or None. answer: what the model says first, None where it gives no
    answer. before: what it says first without the changes. head: its label. taken(query, key): the share of what the
    row takes, None where the view shows the weight alone.
    """

    statistics: dict[str, float]
    queries: Sequence[tuple[str, Sequence[int]]]
    keys: Sequence[tuple[str, Sequence[int]]]
    special: Sequence[bool]
    weight: Callable[[int, int], float]
    query: int | None = None
    key: int | None = None
    answer: str | None = None
    before: str | None = None
    head: str = ""
    taken: Callable[[int, int], float] | None = None


@dataclass(frozen=True)
class Verdict:
    """truth: 1 fulfilled, 0.5 within the tolerance, 0 not, None where it cannot be told; why: then, one sentence."""

    truth: float | None
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether it counts as fulfilled: near a threshold either way does."""
        return self.truth is not None and self.truth > 0


class _Unknown(Exception):
    """What a check names is not there."""


# --- text to tree ---


def parse(text: str) -> Tree:
    """The tree of a check, plain lists. Raises InputError naming the place and what may stand there.

    ["or" | "and", tree, tree], ["not", tree], [">" | "<", number, number], ["key", "argmax" | "words"], ["key is",
    word], ["query is", word], ["head is", word], ["changed"], ["answer", word]; a number is itself, a statistic's name,
    or ["weight"] or ["taken"] with no or two words.
    """
    return _Parser(text).whole(_Parser.check)


def parse_number(text: str) -> Any:
    """The tree of a number alone, for a step that asks for one. Raises InputError."""
    return _Parser(text).whole(_Parser.number)


class _Parser:
    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not text.strip() or len(text) > MOST_CHARACTERS:
            raise InputError(f"a check is a text of 1 to {MOST_CHARACTERS} characters, such as 'previous > 0.5'")
        self.text, self.at, self.depth = text, 0, 0
        self.tokens: list[tuple[str, str]] = []  # (kind, text)
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise InputError(f"the check {text!r} has something unreadable at {text[at : at + 10]!r}")
            kinds = ("digits", "quoted", "name", "sign")
            self.tokens.append(next((kind, token) for kind, token in zip(kinds, match.groups(), strict=True) if token))
            at = match.end()

    def whole(self, read: Callable[[_Parser], Any]) -> Any:
        tree = read(self)
        if self.at < len(self.tokens):
            raise self.wrong("'and', 'or' or the end")
        return tree

    def wrong(self, expected: str) -> InputError:
        place = repr(self.tokens[self.at][1]) if self.at < len(self.tokens) else "its end"
        return InputError(f"the check {self.text!r} has {place} where {expected} should stand")

    def take(self, *words: str) -> bool:
        """Whether these names or signs come next; they are then read."""
        ahead = self.tokens[self.at : self.at + len(words)]
        if [text for kind, text in ahead if kind in ("name", "sign")] != list(words):
            return False
        self.at += len(words)
        return True

    def word(self) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at][0] != "sign":
            self.at += 1
            return self.tokens[self.at - 1][1]
        raise self.wrong("a word")

    def check(self) -> Tree:
        tree = self.each()
        while self.take("or"):
            tree = ["or", tree, self.each()]
        return tree

    def each(self) -> Tree:
        tree = self.one()
        while self.take("and"):
            tree = ["and", tree, self.one()]
        return tree

    def one(self) -> Tree:
        self.depth += 1
        if self.depth > 60:
            raise InputError(f"the check {self.text[:40]!r} … is too long")
        if self.take("not"):
            return ["not", self.one()]
        if self.take("("):
            tree = self.check()
            if not self.take(")"):
                raise self.wrong("')'")
            return tree
        if self.take("key", "is", "argmax"):
            return ["key", "words" if self.take("of", "words") else "argmax"]
        for name, kind in (("key", "key is"), ("query", "query is"), ("head", "head is"), ("answer", "answer")):
            if self.take(name, "is"):
                return [kind, self.word()]
        if self.take("answer", "changed"):
            return ["changed"]
        number = self.number()
        for sign in (">", ">=", "<", "<="):
            if self.take(sign):
                return [sign[0], number, self.number()]
        raise self.wrong("'>' or '<'")

    def number(self) -> Any:
        for name in OF_CELLS:
            if self.take(name):
                return [name, *self.pair()]
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind == "digits" or (kind == "name" and text in ATLAS_NAMES):
            self.at += 1
            return float(text) if kind == "digits" else text
        raise self.wrong(f"a number, weight, taken, key, query, head, answer or one of {', '.join(ATLAS_NAMES)}")

    def pair(self) -> list[str]:
        """Two words in parentheses, or nothing."""
        if not self.take("("):
            return []
        query = self.word()
        if not self.take(","):
            raise self.wrong("','")
        key = self.word()
        if not self.take(")"):
            raise self.wrong("')'")
        return [query, key]


# --- tree to verdict ---


def verdict(tree: Tree, facts: Facts) -> Verdict:
    """Whether a check is fulfilled; what it names and the view lacks makes all of it untold."""
    try:
        return Verdict(_truth(tree, facts))
    except _Unknown as why:
        return Verdict(None, str(why))


def number_of(tree: Any, facts: Facts) -> float | None:
    """A number alone, None where it cannot be told."""
    try:
        return _number(tree, facts)
    except _Unknown:
        return None


def _truth(tree: Tree, facts: Facts) -> float:
    name, *branches = tree
    if name in ("or", "and"):
        truths = [_truth(branch, facts) for branch in branches]
        return max(truths) if name == "or" else min(truths)
    if name == "not":
        return 1 - _truth(branches[0], facts)
    if name in (">", "<"):
        a, b = (_number(branch, facts) for branch in branches)
        return _above(a - b if name == ">" else b - a)
    if name in ("key is", "query is"):
        place = facts.key if name == "key is" else facts.query
        words = facts.keys if name == "key is" else facts.queries
        return float(_chosen(place, name[:-3]) in [piece for pieces in _named(words, branches[0]) for piece in pieces])
    if name == "head is":
        return float(_same(facts.head.replace("·", ""), branches[0].replace("·", "")))
    if name == "key":
        return _largest(facts, branches[0] == "words")
    if facts.answer is None:
        raise _Unknown(phrases.NO_ANSWER)
    if name == "answer":
        return float(_same(facts.answer, branches[0]))
    return float(facts.answer != facts.before)


def _above(gap: float) -> float:
    return 1 if gap > TOLERANCE else 0 if gap < -TOLERANCE else 0.5


def _largest(facts: Facts, words: bool) -> float:
    query, key = _chosen(facts.query, "query"), _chosen(facts.key, "key")
    rivals = [j for j, special in enumerate(facts.special) if not (words and special) and j != key]
    if words and facts.special[key]:
        return 0.0
    gap = facts.weight(query, key) - max((facts.weight(query, j) for j in rivals), default=-math.inf)
    return 1 if gap >= 0 else 0.5 if gap >= -TOLERANCE else 0


def _chosen(place: int | None, side: str) -> int:
    if place is None:
        raise _Unknown(phrases.NO_QUERY if side == "query" else phrases.NO_CHOSEN_KEY)
    return place


def _same(label: str, word: str) -> bool:
    return label.strip().lower() == word.strip().lower()


def _named(words: Sequence[tuple[str, Sequence[int]]], word: str) -> list[Sequence[int]]:
    matches = [pieces for label, pieces in words if _same(label, word)]
    if not matches:
        raise _Unknown(phrases.NO_SUCH_WORD.format(word=quotation(word)))
    return matches


def _number(tree: Any, facts: Facts) -> float:
    if isinstance(tree, float | int):
        return float(tree)
    if isinstance(tree, str):
        value = facts.statistics.get(tree, math.nan)
        if math.isnan(value):
            raise _Unknown(phrases.NO_NUMBER.format(name=tree))
        return value
    of = facts.weight if tree[0] == "weight" else facts.taken
    if of is None:
        raise _Unknown(phrases.NO_NORMS)
    if len(tree) == 1:
        return of(_chosen(facts.query, "query"), _chosen(facts.key, "key"))
    rows, columns = _named(facts.queries, tree[1]), _named(facts.keys, tree[2])
    return max(sum(of(i, j) for i in row for j in column) / len(row) for row in rows for column in columns)
