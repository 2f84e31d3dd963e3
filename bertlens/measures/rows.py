"""Numbers of heads from the rows of their maps: how much goes where, how even a row is. By weight or by any other rows.

A statistic is a numerator per head and one denominator, so that texts can be averaged one by one or token by token.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..trace import Trace

MARKS = (".", ",")  # what Clark et al. count as punctuation
SMOOTHING = 1e-4  # Clark's: 0.9999 α + 0.0001 / n
HELD = 0.9  # of a row, by k90


@dataclass(frozen=True)
class Roles:
    """What the tokens of a text are: boolean masks (K,) of keys, and which pairs belong together (S, K)."""

    square: bool  # queries and keys are the same tokens
    separator: Tensor
    special: Tensor
    punctuation: Tensor  # exactly "." or ","
    punctuation_all: Tensor  # Unicode P
    same_segment: Tensor | None  # (S, K); None for a single text
    trace: Trace

    @classmethod
    def of(cls, trace: Trace) -> Roles:
        special = trace.key_special_mask
        text = ["" if s else token for s, token in zip(special.tolist(), trace.display_key_tokens, strict=True)]
        square = trace.key_encoding is None
        pair = square and bool(trace.segments.any())

        def mask(values: list[bool]) -> Tensor:
            return torch.tensor(values, device=special.device)

        return cls(
            square=square,
            separator=trace.key_separator_mask,
            special=special,
            punctuation=mask([token in MARKS for token in text]),
            punctuation_all=mask([token != "" and all(map(_is_mark, token)) for token in text]),
            same_segment=trace.segments[:, None] == trace.key_segments[None, :] if pair else None,
            trace=trace,
        )

    @cached_property
    def same_word(self) -> Tensor:
        """(S, S) bool: the key belongs to another occurrence of the query's word, upper and lower case alike.

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
        same = (identity[:, None] == identity) & (identity >= 0) & (words[:, None] != words)
        return same.to(self.special.device)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


@dataclass(frozen=True)
class Rows:
    """Maps (H, S, K) [query, key] whose rows sum to 1, and what their tokens are."""

    values: Tensor
    roles: Roles

    def statistic(self, name: str) -> tuple[Tensor, int]:
        """(numerator (H,), denominator); a denominator of 0 says that the text has no such tokens or pairs."""
        return STATISTICS[name](self)

    @property
    def n(self) -> int:
        return self.values.shape[1]

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
        return self.values.diagonal(offset, 1, 2).sum(-1), self.n if self.roles.square else 0

    def column(self, index: int, there: bool = True) -> tuple[Tensor, int]:
        return self.received[:, :, index].sum(1), self.n if there else 0

    def separators(self, from_separators: bool) -> tuple[Tensor, int]:
        """What the separators' own rows, or the other rows, give to separators."""
        count = int(self.roles.separator.sum()) if self.roles.square else 0
        if count == 0:
            return self.values.new_zeros(len(self.values)), 0
        rows = self.received[:, self.roles.separator == from_separators, 0].sum(-1)
        return rows, count if from_separators else self.n - count

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
    "same_word": lambda rows: rows.pairs(rows.roles.same_word if rows.roles.square else None),
    "first": lambda rows: (rows.values[:, :, 0].sum(-1), rows.n),
    "separator": lambda rows: rows.column(0, bool(rows.roles.separator.any())),
    "special": lambda rows: rows.column(1),
    "punctuation": lambda rows: rows.column(2),
    "punctuation_all": lambda rows: rows.column(3),
    "same_segment": lambda rows: rows.pairs(rows.roles.same_segment),
    "separator_to_separator": lambda rows: rows.separators(from_separators=True),
    "rest_to_separator": lambda rows: rows.separators(from_separators=False),
    "entropy": lambda rows: (rows.entropies.sum(-1), rows.n),
    "entropy_first": lambda rows: (rows.entropies[:, 0], 1),
    "entropy_smoothed": lambda rows: (rows.smoothed.sum(-1), rows.n),
    "entropy_first_smoothed": lambda rows: (rows.smoothed[:, 0], 1),
    "k90": lambda rows: (k90(rows.values).to(rows.values.dtype).sum(-1) + 0 * rows.values.sum((1, 2)), rows.n),
    "max": lambda rows: (rows.values.amax((1, 2)), 1),
}


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
