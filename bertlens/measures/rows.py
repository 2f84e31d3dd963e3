"""Numbers of heads from the rows of their maps: how much goes where, how even a row is. By weight or by any other rows.

A statistic is a numerator per head and one denominator, so that texts can be averaged one by one or token by token.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..trace import Trace

MARKS = (".", ",")  # what Clark et al. count as punctuation
SMOOTHING = 1e-4  # Clark's: 0.9999 α + 0.0001 / n
HELD = 0.9  # of a row, by k90
AT_ONCE = 4_000_000  # weights of the rows that are looked at together (16 MB)


@dataclass(frozen=True)
class Roles:
    """What the tokens of a text are: boolean masks (K,) of keys, and which pairs belong together."""

    square: bool  # queries and keys are the same tokens
    separator: Tensor
    special: Tensor
    punctuation: Tensor  # exactly "." or ","
    punctuation_all: Tensor  # Unicode P
    pair: bool  # a text of two segments
    trace: Trace

    @classmethod
    def of(cls, trace: Trace) -> Roles:
        special = trace.key_special_mask
        text = ["" if s else token for s, token in zip(special.tolist(), trace.display_key_tokens, strict=True)]
        square = trace.key_encoding is None

        def mask(values: list[bool]) -> Tensor:
            return torch.tensor(values, device=special.device)

        return cls(
            square=square,
            separator=trace.key_separator_mask,
            special=special,
            punctuation=mask([token in MARKS for token in text]),
            punctuation_all=mask([token != "" and all(map(_is_mark, token)) for token in text]),
            pair=square and bool(trace.segments.any()),
            trace=trace,
        )

    def same_segment(self, queries: slice) -> Tensor | None:
        """(R, K) bool: the key is in the query's own sentence; None for a single text."""
        return self.trace.segments[queries, None] == self.trace.key_segments if self.pair else None

    def same_word(self, queries: slice) -> Tensor | None:
        """(R, S) bool: the key belongs to another occurrence of the query's word, upper and lower case alike."""
        if not self.square:
            return None
        identity, words = self._words
        same = identity[queries, None] == identity
        return same & (identity >= 0) & (words[queries, None] != words)

    @cached_property
    def _words(self) -> tuple[Tensor, Tensor]:
        """(S,) a number for each word as it is spelled, and the word's own; -1 where there is none.

        Words are what the tokenizer calls so, put together from their pieces; those without a letter or digit do not
        count.
        """
        tokens, pieces = self.trace.display_tokens, defaultdict(list)
        for position, word in enumerate(self.trace.word_ids):
            if word is not None:
                pieces[word].append(position)
        numbers: dict[str, int] = {}
        identity = torch.full((len(tokens),), -1, device="cpu")
        words = torch.full((len(tokens),), -1, device="cpu")
        for word, positions in pieces.items():
            spelled = "".join(tokens[at].removeprefix("##") for at in positions).casefold()
            if any(map(str.isalnum, spelled)):
                identity[positions] = numbers.setdefault(spelled, len(numbers))
                words[positions] = word
        return identity.to(self.special.device), words.to(self.special.device)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


@dataclass(frozen=True)
class Rows:
    """Maps (H, S, K) [query, key] whose rows sum to 1, or R of their rows from `start` on; what their tokens are."""

    values: Tensor
    roles: Roles
    start: int = 0

    def statistic(self, name: str) -> tuple[Tensor, int]:
        """(numerator (H,), denominator); a denominator of 0 says that the text has no such tokens or pairs.

        Of some rows, the numerator is their part of the sum, of "max" their largest; the denominator is that of all.
        """
        return STATISTICS[name](self)

    @property
    def n(self) -> int:
        return self.roles.trace.n_tokens

    @property
    def queries(self) -> slice:
        return slice(self.start, self.start + self.values.shape[1])

    @cached_property
    def received(self) -> Tensor:
        """(H, S, 4) what each row gives to separators, special tokens, "." and ",", and punctuation."""
        roles = self.roles
        columns = (roles.separator, roles.special, roles.punctuation, roles.punctuation_all)
        return self.values @ torch.stack(columns, -1).to(self.values.dtype)

    @cached_property
    def entropies(self) -> Tensor:
        """(H, S) nats."""
        return entropy(self.values.clone())

    @cached_property
    def smoothed(self) -> Tensor:
        """(H, S) nats, of 0.9999 p + 0.0001 / n."""
        return entropy((self.values * (1 - SMOOTHING)).add_(SMOOTHING / self.n))

    def diagonal(self, offset: int) -> tuple[Tensor, int]:
        """Σ over the pairs at a distance, ÷ n tokens."""
        return self.values.diagonal(self.start + offset, 1, 2).sum(-1), self.n if self.roles.square else 0

    def column(self, index: int, there: bool = True) -> tuple[Tensor, int]:
        return self.received[:, :, index].sum(1), self.n if there else 0

    def separators(self, from_separators: bool) -> tuple[Tensor, int]:
        """What the separators' own rows, or the other rows, give to separators."""
        count = int(self.roles.separator.sum()) if self.roles.square else 0
        if count == 0:
            return self.values.new_zeros(len(self.values)), 0
        chosen = self.roles.separator[self.queries] == from_separators
        rows = self.received[:, chosen, 0].sum(-1)
        return rows, count if from_separators else self.n - count

    def first(self, entropies: Tensor) -> tuple[Tensor, int]:
        """Of the first token's row, which other rows have no part in."""
        return entropies[:, 0] if self.start == 0 else entropies.new_zeros(len(entropies)), 1

    def pairs(self, chosen: Tensor | None) -> tuple[Tensor, int]:
        if chosen is None:
            return self.values.new_zeros(len(self.values)), 0
        return self.values.flatten(1) @ chosen.flatten().to(self.values.dtype), self.n


# name -> (numerator, denominator), in the words of vocabulary.STATISTICS. Shares: Σ over the pairs ÷ n tokens, rows of
# special tokens included, also for previous and next. Clark et al. 2019, sections 3.1 to 3.3.
STATISTICS: dict[str, Callable[[Rows], tuple[Tensor, int]]] = {
    "previous": lambda rows: rows.diagonal(-1),
    "next": lambda rows: rows.diagonal(1),
    "self": lambda rows: rows.diagonal(0),
    "same_word": lambda rows: rows.pairs(rows.roles.same_word(rows.queries)),
    "first": lambda rows: (rows.values[:, :, 0].sum(-1), rows.n),
    "separator": lambda rows: rows.column(0, bool(rows.roles.separator.any())),
    "special": lambda rows: rows.column(1),
    "punctuation": lambda rows: rows.column(2),
    "punctuation_all": lambda rows: rows.column(3),
    "same_segment": lambda rows: rows.pairs(rows.roles.same_segment(rows.queries)),
    "separator_to_separator": lambda rows: rows.separators(from_separators=True),
    "rest_to_separator": lambda rows: rows.separators(from_separators=False),
    "entropy": lambda rows: (rows.entropies.sum(-1), rows.n),
    "entropy_first": lambda rows: rows.first(rows.entropies),
    "entropy_smoothed": lambda rows: (rows.smoothed.sum(-1), rows.n),
    "entropy_first_smoothed": lambda rows: rows.first(rows.smoothed),
    "k90": lambda rows: (k90(rows.values).to(rows.values.dtype).sum(-1) + 0 * rows.values.sum((1, 2)), rows.n),
    "max": lambda rows: (rows.values.amax((1, 2)), 1),
}


def blocks(trace: Trace, layer: int) -> Iterator[tuple[int, Tensor]]:
    """A layer's attention as successive rows of all heads, (start, (H, R, K)): of a short text all at once."""
    step = max(1, AT_ONCE // (trace.n_heads * len(trace.key_tokens)))
    if step >= trace.n_tokens:
        yield 0, trace.attention(layer)
        return
    for start in range(0, trace.n_tokens, step):
        yield start, trace.attention_rows(layer, start, min(start + step, trace.n_tokens))


Counted = list[tuple[Tensor, int]]  # (numerator (H,), denominator) of each name


def counted(names: Sequence[str], rows: Rows, before: Counted | None = None) -> Counted:
    """The statistics of some rows, joined with those of the rows before."""
    new = [rows.statistic(name) for name in names]
    if not before:
        return new
    largest, add = torch.maximum, torch.add
    return [
        ((largest if name == "max" else add)(sum_before, numerator), denominator)
        for name, (sum_before, _), (numerator, denominator) in zip(names, before, new, strict=True)
    ]


def means(found: Counted) -> Tensor:
    """float32 (H, names) numerators by denominators, NaN where there are no such tokens or pairs."""
    return torch.stack([(numerator.float() / (denominator or torch.nan)) for numerator, denominator in found], -1)


def entropy(rows: Tensor) -> Tensor:
    """(...) −Σ p ln p in nats of rows (..., K); overwrites p. Half the time of xlogy."""
    return -rows.clamp_min(1e-30).log_().mul_(rows).sum(-1)


def k90(rows: Tensor, share: float = HELD) -> Tensor:
    """(...) int64 in [1, K]: the least number of keys that hold `share` of a row of (..., K), to 1e-6.

    The size of the metastable state of Ramsauer et al. 2021, as Bonino et al. 2025 draw it per head.
    """
    return (_descending(rows).cumsum(-1) < share - 1e-6).sum(-1) + 1


def _descending(rows: Tensor) -> Tensor:
    """Rows from the largest to the smallest. On a CPU numpy sorts rows of floats tens of times faster than torch."""
    if rows.device.type == "cpu":
        return torch.from_numpy(np.sort(rows.numpy(), axis=-1)).flip(-1)
    return rows.sort(-1, descending=True).values
