"""Which tokens of two texts are the same: the longest common subsequence of their words, gaps kept; numbers on them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..base.quotes import quotation
from ..base.vocabulary import phrases
from ..base.vocabulary.constants import NAMED_UNITS
from ..measures.words import grouped
from ..text.display import letters_of, word_of
from ..text.encoding import Encoding
from ..text.word_numbers import scripts_without_blanks

Pair = tuple[int | None, int | None]
Key = tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """A token, or a word of one or more."""

    pieces: tuple[int, ...]  # positions
    name: str
    key: Key  # equal where two units are the same


@dataclass(frozen=True)
class Alignment:
    """Units of two texts, in order. Every unit of either is in exactly one of `pairs`; None is a gap: the other text
    has no unit like it between the pairs before and behind, but may have one elsewhere."""

    by: str  # "tokens" or "words"
    a: tuple[Unit, ...]
    b: tuple[Unit, ...]
    pairs: tuple[Pair, ...]
    open: tuple[tuple[int, int], ...]  # of `shared` those that another alignment, as long as this one, does without

    @cached_property
    def shared(self) -> tuple[tuple[int, int], ...]:
        """(i, j): units of a and b that are the same."""
        return tuple((i, j) for i, j in self.pairs if i is not None and j is not None)

    @cached_property
    def alone(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The units of a, and those of b, that are aligned with none."""
        return (
            tuple(i for i, j in self.pairs if i is not None and j is None),
            tuple(j for i, j in self.pairs if j is not None and i is None),
        )

    def only(self, aligned: bool) -> Alignment:
        """Without gaps, or with all of them again."""
        return replace(self, pairs=self.shared if aligned else _with_gaps(self.shared, len(self.a), len(self.b)))

    @property
    def said(self) -> str:
        """How much is aligned, and which pairs could be others."""
        n, of_a, of_b = len(self.shared), len(self.a), len(self.b)
        is_whole = not len(self.pairs) == n < max(of_a, of_b)
        text = (phrases.ALIGNED if is_whole else phrases.ALIGNED_ALONE).format(count=n, a=of_a, units=self.by, b=of_b)
        if not self.open:
            return text
        named = _first(
            [f"{quotation(self.a[i].name)} ({self.a[i].pieces[0]} and {self.b[j].pieces[0]})" for i, j in self.open]
        )
        return f"{text} {phrases.ALIGNED_OTHERWISE.format(pairs=named)}"

    def gap(self, side: int, n: int) -> str:
        """What the other text has of a unit of one (0: a, 1: b) that has no partner: nothing like it, or where."""
        units, counterparts = (self.b, self.a) if side else (self.a, self.b)
        places = [str(unit.pieces[0]) for unit in counterparts if unit.key == units[n].key]
        if places:
            return phrases.GAP_ELSEWHERE.format(side="ba"[side], places=_first(places))
        return phrases.GAP.format(side="ba"[side], unit=self.by[:-1])


def _first(names: list[str]) -> str:
    named, more = ", ".join(names[:NAMED_UNITS]), len(names) - NAMED_UNITS
    return phrases.AND_MORE.format(names=named, count=more) if more > 0 else named


def align(a: Encoding, b: Encoding, one_tokenizer: bool) -> Alignment:
    """The tokens of two texts: those of words that both have, in the order of both, as many as can be.

    one_tokenizer: words are the same where their pieces are, and tokens are aligned one by one. Otherwise whole words:
    what stands between white space in the text (given words, where words were given), the same where its characters
    are, capitals or not; in a script without blanks, the shortest stretches that end where a token of each text does.
    Template tokens are aligned with template tokens, separators with separators. Which words,
    where there is a choice: the next ones that both texts come to first (`common`); `open` names them. The order of a
    and b does not matter.
    """
    words_a, words_b = ([_word(e, pieces) for pieces in grouped(e.word_ids)] for e in (a, b))
    if not one_tokenizer:
        return _by_letters(*(_letters(e, _unbroken(e, words)) for e, words in ((a, words_a), (b, words_b))))
    matched, free = common([unit.key for unit in words_a], [unit.key for unit in words_b])
    of_tokens, open_tokens = (
        [pair for i, j in matches for pair in zip(words_a[i].pieces, words_b[j].pieces, strict=True)]
        for matches in (matched, free)
    )
    return Alignment("tokens", _tokens(a), _tokens(b), _with_gaps(of_tokens, len(a), len(b)), tuple(open_tokens))


def members(units: Sequence[Unit], like: Tensor, mean: bool = False) -> Tensor:
    """(tokens, units) 1 where a token is a piece of the word, or its share of it; of words that follow each other."""
    start = units[0].pieces[0]
    matrix = like.new_zeros(units[-1].pieces[-1] + 1 - start, len(units))
    for number, unit in enumerate(units):
        matrix[[piece - start for piece in unit.pieces], number] = 1 / len(unit.pieces) if mean else 1
    return matrix


def spread(x: Tensor, dim: int, places: list[int | None]) -> Tensor:
    """Entries of one dimension at new places, NaN where there is none."""
    index = torch.tensor([0 if place is None else place for place in places], device=x.device)
    gaps = torch.tensor([place is None for place in places], device=x.device)
    return x.index_select(dim, index).masked_fill(gaps if dim == -1 else gaps[:, None], torch.nan)


def common(x: Sequence[Key], y: Sequence[Key]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The longest common subsequence, as (index in x, index in y), and those of its pairs that another one lacks.

    Of several as long, the one whose next pair has the smallest i + j, then the smallest |i − j|, then the smaller key:
    a rule that says the same of (y, x).
    """
    numbers: dict[Key, int] = {}
    a, b = (np.array([numbers.setdefault(key, len(numbers)) for key in keys], int) for keys in (x, y))
    n, m = len(x), len(y)
    length = np.zeros((n + 1, m + 1), np.int32)  # of what the rests from (i, j) on have in common
    for i in reversed(range(n)):
        best = np.maximum(length[i + 1, :-1], length[i + 1, 1:] + (b == a[i]))
        length[i, :m] = np.maximum.accumulate(best[::-1])[::-1]
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while length[i, j]:
        i, j = _next(a, b, length, i, j, x)
        pairs.append((i, j))
        i, j = i + 1, j + 1
    choices = _choices(a, b, length)
    return pairs, [pair for pair, n in zip(pairs, choices, strict=True) if n > 1]


def _choices(a: np.ndarray, b: np.ndarray, length: np.ndarray) -> np.ndarray:
    """(N,) how many pairs can be the first, second, … of a longest common subsequence; each has just one of them."""
    longest = int(length[0, 0])
    counts, prefix = np.zeros(longest, int), np.zeros(len(b) + 1, np.int32)  # what is in common before (i, j)
    for i, key in enumerate(a):
        equal = b == key
        at = prefix[:-1][equal & (prefix[:-1] + 1 + length[i + 1, 1:] == longest)]
        counts += np.bincount(at, minlength=longest)
        prefix[1:] = np.maximum(prefix[1:], prefix[:-1] + equal)
        np.maximum.accumulate(prefix, out=prefix)
    return counts


def _next(a: np.ndarray, b: np.ndarray, length: np.ndarray, i: int, j: int, keys: Sequence[Key]) -> tuple[int, int]:
    """The first pair at or behind (i, j) with which as much is in common as there can be."""
    longest, away = length[i, j], 0
    while True:
        u = np.arange(max(0, away - (len(b) - 1 - j)), min(away, len(a) - 1 - i) + 1)
        p, q = i + u, j + away - u
        good = (a[p] == b[q]) & (length[p, q] == longest)
        if good.any():
            return min(
                zip(p[good].tolist(), q[good].tolist(), strict=True),
                key=lambda pair: (abs(pair[0] - pair[1]), keys[pair[0]]),
            )
        away += 1


def _with_gaps(matched: Sequence[tuple[int, int]], n: int, m: int) -> tuple[Pair, ...]:
    """What is not matched in between: first a's, then b's."""
    pairs: list[Pair] = []
    i = j = 0
    for p, q in [*matched, (n, m)]:
        pairs += [(k, None) for k in range(i, p)] + [(None, k) for k in range(j, q)]
        if p < n:
            pairs.append((p, q))
        i, j = p + 1, q + 1
    return tuple(pairs)


def _tokens(encoding: Encoding) -> tuple[Unit, ...]:
    return tuple(Unit((i,), name, (name,)) for i, name in enumerate(encoding.display_tokens))


def _template(encoding: Encoding, position: int) -> Key:
    return ("template", "separator" if encoding.separators[position] else "other")


def _word(encoding: Encoding, pieces: Sequence[int]) -> Unit:
    """A word by its pieces."""
    name = " ".join(encoding.display_tokens[i] for i in pieces)
    if encoding.special[pieces[0]]:
        return Unit(tuple(pieces), name, _template(encoding, pieces[0]))
    return Unit(tuple(pieces), name, ("word", *(encoding.tokens[i] for i in pieces)))


def _unbroken(encoding: Encoding, words: Sequence[Unit]) -> list[Unit]:
    """Words as the text has them: what touches is one, by their characters; white space belongs to what follows it."""
    listed = encoding.words is not None
    units: list[Unit] = []
    open_until: int | None = None  # where the word before ends, if another may go on with it
    for unit in words:
        span = _span(encoding, unit)
        if encoding.special[unit.pieces[0]]:
            units.append(unit)
            open_until = None
            continue
        if listed or span is None:
            units.append(_named(unit.pieces, _given(encoding, unit) if listed else _joined(encoding, unit)))
            continue
        text, pieces = _text(encoding, unit), unit.pieces
        touches = span[0] == open_until and not text[span[0] : span[0] + 1].isspace()
        if open_until is not None and (touches or not units[-1].name):
            pieces = (*units.pop().pieces, *pieces)
        begin = _span(encoding, Unit(pieces, "", ())) or span
        units.append(_named(pieces, text[begin[0] : span[1]].strip()))
        behind = unit.pieces[-1] + 1
        goes_on = behind < len(encoding) and encoding.segments[behind] == encoding.segments[behind - 1]
        open_until = span[1] if goes_on else None
    return units


def _letters(encoding: Encoding, words: Sequence[Unit]) -> list[Unit]:
    """Words with letters of a script without blanks as their letters, each with the tokens that hold some of it."""
    units: list[Unit] = []
    for unit in words:
        span = None if encoding.words is not None else _span(encoding, unit)
        if span is None or not scripts_without_blanks([unit.name]):
            units.append(unit)
            continue
        text, offsets = _text(encoding, unit), encoding.offsets or ()
        spans = {piece: offsets[piece] or (0, 0) for piece in unit.pieces}
        owners = {at: tuple(p for p, (start, end) in spans.items() if start <= at < end) for at in range(*span)}
        letters = [(text[at], pieces) for at, pieces in owners.items() if pieces and not text[at].isspace()]
        blanks = tuple(piece for piece in unit.pieces if not any(piece in pieces for _, pieces in letters))
        letters[0] = (letters[0][0], (*blanks, *letters[0][1]))  # white space belongs to what follows it
        units += [_named(pieces, letter) for letter, pieces in letters]
    return units


def _by_letters(a: list[Unit], b: list[Unit]) -> Alignment:
    """Letters and words aligned, then put together to units that no token of either text goes beyond."""
    matched, free = common([unit.key for unit in a], [unit.key for unit in b])
    starts: list[int] = []  # of blocks of `pairs`: where both texts begin a token
    i = j = 0
    pairs = _with_gaps(matched, len(a), len(b))
    for number, (p, q) in enumerate(pairs):
        if _begins(a, i) and _begins(b, j):
            starts.append(number)
        i, j = i + (p is not None), j + (q is not None)
    units: tuple[list[Unit], list[Unit]] = ([], [])
    shared, open_pairs = [], []
    for start, end in itertools.pairwise([*starts, len(pairs)]):
        block = pairs[start:end]
        is_same = all(p is not None and q is not None for p, q in block)
        if is_same:
            shared.append((len(units[0]), len(units[1])))
            if {*block} <= {*free}:
                open_pairs.append(shared[-1])
        for side, letters in enumerate((a, b)):
            places = [place for pair in block if (place := pair[side]) is not None]
            cuts = [at for at in places if at == places[0] or (not is_same and _begins(letters, at))]
            ends = [*cuts[1:], places[-1] + 1] if places else []
            units[side].extend(_united(letters[at:stop]) for at, stop in zip(cuts, ends, strict=True))
    gaps = _with_gaps(shared, len(units[0]), len(units[1]))
    return Alignment("words", tuple(units[0]), tuple(units[1]), gaps, tuple(open_pairs))


def _begins(letters: Sequence[Unit], at: int) -> bool:
    """Whether no token holds some of a letter and of the one before."""
    return not 0 < at < len(letters) or not {*letters[at - 1].pieces} & {*letters[at].pieces}


def _united(letters: Sequence[Unit]) -> Unit:
    if len(letters) == 1:
        return letters[0]
    return _named(tuple(sorted({p for unit in letters for p in unit.pieces})), "".join(unit.name for unit in letters))


def _named(pieces: tuple[int, ...], name: str) -> Unit:
    return Unit(pieces, name, ("word", name.casefold()))


def _joined(encoding: Encoding, unit: Unit) -> str:
    pieces = [letters_of(encoding.display_tokens[i], encoding.continuation) for i in unit.pieces]
    return word_of(pieces, "")


def _text(encoding: Encoding, unit: Unit) -> str:
    return (encoding.text_pair if encoding.segments[unit.pieces[0]] and encoding.text_pair else encoding.text) or ""


def _span(encoding: Encoding, unit: Unit) -> tuple[int, int] | None:
    """First and last character of a word in its text; None where not known."""
    if encoding.offsets is None or encoding.text is None:
        return None
    start, end = encoding.offsets[unit.pieces[0]], encoding.offsets[unit.pieces[-1]]
    return None if start is None or end is None else (start[0], end[1])


def _given(encoding: Encoding, unit: Unit) -> str:
    """The word that was given."""
    words = [word for text in encoding.words or () for word in text]
    return words[encoding.word_ids[unit.pieces[0]] or 0]
