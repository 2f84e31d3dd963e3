"""The rows of heads' maps, by weight or norm, some at a time: how much goes where, how even a row is."""

from __future__ import annotations

import math
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias
from weakref import ref

import torch
from torch import Tensor

from ..run.attention_weights import dense_mask
from ..run.score_bias import ScoreBias
from ..text.display import word_of
from ..trace.trace import Trace
from .distributions import Diagonal, information
from .k90 import k90

Here: TypeAlias = Callable[[], Trace]  # what takes many steps names its trace only within one, so as not to keep it
MARKS = (".", ",")  # what Clark et al. count as punctuation
SMOOTHING = 1e-4  # Clark's: 0.9999 α + 0.0001 / n
WEIGHTS_AT_ONCE = 1_048_576  # 4 MB, which a processor keeps near; 32 times that on a GPU
PAIRS = 2_000_000  # of one word that are kept: 16 MB
WHOLE_MAPS = 2  # part of it, on a CPU, for whole maps of several layers: 2 MB, and what is made of them stays near
LEAST_ROWS = 128  # of a head at a time, where there are as many: fewer take longer each
NEIGHBOURS = 64  # rows that a local layer's width is measured by


@dataclass(frozen=True)
class Roles:
    """What the tokens of a text are: boolean masks (K,) of keys, and which pairs belong together."""

    square: bool  # queries and keys are the same tokens
    separator: Tensor  # [SEP], </s>: the template's behind a text
    special: Tensor  # all of the template's
    punctuation: Tensor  # exactly "." or ","
    punctuation_all: Tensor  # Unicode P
    pair: bool  # a text of two segments
    _trace: ref[Trace]  # so that work which waits for its next turn does not keep it

    @property
    def trace(self) -> Trace:
        """Whose tokens these are: who asks has it."""
        trace = self._trace()
        assert trace is not None
        return trace

    @classmethod
    def of(cls, trace: Trace) -> Roles:
        """The roles of a trace's tokens."""
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
            _trace=ref(trace),
        )

    def same_segment(self, queries: slice, keys: slice) -> Tensor | None:
        """(R, C) bool: the key is in the query's own sentence; None for a single text."""
        return self.trace.segments[queries, None] == self.trace.key_segments[keys] if self.pair else None

    def same_word(self, queries: slice, keys: slice) -> Tensor | None:
        """(P,) the pairs of two occurrences of one word, as places in a block; upper and lower case alike."""
        if not self.square:
            return None
        block = (queries.start, queries.stop, keys.start, keys.stop)
        if block not in self._known:
            if sum(map(len, self._known.values())) > PAIRS:
                self._known.clear()
            self._known[block] = self._same_word(queries, keys)
        return self._known[block]

    @cached_property
    def _known(self) -> dict[tuple[int, ...], Tensor]:
        """The pairs of the last blocks, which are looked at by weight and by norm, of some heads after others."""
        return {}

    def _same_word(self, queries: slice, keys: slice) -> Tensor:
        words, order, starts, count = self._occurrences
        pairs = count[queries]
        row = torch.arange(len(pairs), device=pairs.device).repeat_interleave(pairs)
        nth = torch.arange(len(row), device=row.device) - (pairs.cumsum(0) - pairs)[row]
        key = order[starts[queries][row] + nth]
        inside = (words[queries][row] != words[key]) & (key >= keys.start) & (key < keys.stop)
        return (row * (keys.stop - keys.start) + key - keys.start)[inside]

    @cached_property
    def _occurrences(self) -> tuple[Tensor, ...]:
        """(S,) each: words as in `_words`, all places sorted by identity, where those of one's own begin
        there, and how many they are (0 for a token that is no word)."""
        identity, words = self._words
        ordered, order = identity.sort(stable=True)
        start, end = (torch.searchsorted(ordered, identity, right=right) for right in (False, True))
        return words, order, start, torch.where(identity >= 0, end - start, 0)

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
        identity, words = [-1] * len(tokens), [-1] * len(tokens)
        for word, positions in pieces.items():
            spelled = word_of((tokens[at] for at in positions), self.trace.encoding.continuation).casefold()
            if any(map(str.isalnum, spelled)):
                number = numbers.setdefault(spelled, len(numbers))
                for at in positions:
                    identity[at], words[at] = number, word
        identities, word_numbers = torch.tensor([identity, words], device=self.special.device)
        return identities, word_numbers


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


@dataclass(frozen=True)
class Rows:
    """Maps (H, S, K) [query, key] whose rows sum to 1, or a block (H, R, C) of some; what their tokens are.

    The block's first row is the query `start`, its first column the key `first_key`: weights of other keys are 0.
    """

    values: Tensor  # (H, R, C) in [0, 1]
    roles: Roles
    start: int = 0
    first_key: int = 0

    @property
    def n(self) -> int:
        """Query tokens of the text."""
        return self.roles.trace.n_tokens

    @property
    def queries(self) -> slice:
        """The places of these rows among the queries."""
        return slice(self.start, self.start + self.values.shape[1])

    @property
    def keys(self) -> slice:
        """The places of these columns among the keys."""
        return slice(self.first_key, self.first_key + self.values.shape[2])

    def received(self, role: str) -> Tensor:
        """(H, R) what each row gives to the keys of a role, a mask (K,) of `Roles`."""
        if role not in self._received:
            columns: Tensor = getattr(self.roles, role)
            self._received[role] = self.values[..., columns[self.keys].nonzero()[:, 0]].sum(-1)
        return self._received[role]

    @cached_property
    def _received(self) -> dict[str, Tensor]:
        return {}

    @cached_property
    def entropies(self) -> Tensor:
        """(H, R) nats."""
        return -information(self.values).sum(-1)

    @cached_property
    def smoothed(self) -> Tensor:
        """(H, R) nats, of 0.9999 p + 0.0001 / n."""
        floor = SMOOTHING / self.n
        hidden = len(self.roles.special) - self.values.shape[2]
        smoothed = (self.values * (1 - SMOOTHING)).add_(floor)
        return -information(smoothed, positive=True).sum(-1) - hidden * floor * math.log(floor)

    def diagonal(self, offset: int) -> tuple[Tensor, int]:
        """Σ over the pairs whose key is `offset` tokens after the query (below 0: before it), ÷ n tokens."""
        cells = self.values.diagonal(self.start + offset - self.first_key, 1, 2)
        return cells.sum(-1), self.n if self.roles.square else 0

    def own(self) -> Tensor:
        """(H, R) what each token gives to itself."""
        return Diagonal(self.values, self.start - self.first_key).get()

    def column(self, role: str, there: bool = True) -> tuple[Tensor, int]:
        """(H',) Σ over the rows of what the keys of a role get, and n; 0 of them where none is there."""
        return self.received(role).sum(1), self.n if there else 0

    def separators(self, from_separators: bool) -> tuple[Tensor, int]:
        """What the separators' own rows (from_separators), or the other rows, give to separators."""
        count = int(self.roles.separator.sum()) if self.roles.square else 0
        if count == 0:
            return self.values.new_zeros(len(self.values)), 0
        queries = self.roles.separator[self.queries] == from_separators
        rows = self.received("separator")[:, queries].sum(-1)
        return rows, count if from_separators else self.n - count

    def of_first(self, entropies: Tensor) -> tuple[Tensor, int]:
        """Of `entropies` (H, R) that of the first token's row, which other rows have no part in."""
        return entropies[:, 0] if self.start == 0 else entropies.new_zeros(len(entropies)), 1

    def to_first(self) -> tuple[Tensor, int]:
        """What the first key gets."""
        return self.values[:, :, : 1 if self.first_key == 0 else 0].sum((1, 2)), self.n

    def pairs(self, chosen: Tensor | None) -> tuple[Tensor, int]:
        """What goes between the `chosen` pairs: a mask (R, C), or few of them as places in the flattened block."""
        if chosen is None:
            return self.values.new_zeros(len(self.values)), 0
        cells = self.values.flatten(1)
        if chosen.dtype == torch.bool:
            return cells @ chosen.flatten().to(cells.dtype), self.n
        return cells[:, chosen].sum(-1), self.n

    def k90(self) -> tuple[Tensor, int]:
        """Σ of k90; NaN stays."""
        values = self.values
        return k90(values).to(values.dtype).sum(-1) + 0 * self.entropies.sum(-1), self.n


def visible(trace: Trace, layer: int) -> Tensor:
    """(H or 1, S, K) bool: which keys a query may look at. Of weights that were given all, or, where no head of the
    layer looks ahead, those that are not ahead."""
    shape = 1, trace.n_tokens, len(trace.key_tokens)
    everything = torch.ones(shape, dtype=torch.bool, device=trace.device)
    if trace.has_neurons:
        record = trace.record.layers[layer]  # of a bias a tensor alone hides keys, and is there already
        mask = dense_mask(replace(record, bias=None) if isinstance(record.bias, ScoreBias) else record)
        return everything if mask is None else (mask > -torch.inf).reshape(-1, *shape[1:])
    is_causal = trace.key_encoding is None and not trace.attention(layer).triu(1).any()
    return everything.tril() if is_causal else everything


def _room(trace: Trace) -> int:
    return WEIGHTS_AT_ONCE if trace.device.type == "cpu" else 32 * WEIGHTS_AT_ONCE


def _keys(trace: Trace, layer: int, start: int, stop: int) -> slice:
    """`Trace.keys_seen`, which reads all of a mask's rows: once for all heads and measures."""
    return trace.kept(("keys seen", layer, start, stop), lambda: trace.keys_seen(layer, start, stop))


def _width(trace: Trace, layer: int) -> int:
    """Keys that some successive queries see together: few in local layers."""
    spans = (
        _keys(trace, layer, at, min(at + NEIGHBOURS, trace.n_tokens)) for at in range(0, trace.n_tokens, NEIGHBOURS)
    )
    return max(keys.stop - keys.start for keys in spans)


def layer_groups(trace: Trace) -> list[range]:
    """The layers whose heads are looked at together: of a short text several, which takes fewer calls."""
    room = _room(trace) // WHOLE_MAPS if trace.device.type == "cpu" else _room(trace)
    step = max(1, room // (trace.n_heads * trace.n_tokens * len(trace.key_special_mask)))
    return [range(start, min(start + step, trace.n_layers)) for start in range(0, trace.n_layers, step)]


def head_groups(trace: Trace, layer: int | range) -> list[slice]:
    """The heads of a layer that are looked at together: of a short text all, of a long one a few.

    layer: or one of `layer_groups`, whose heads are counted on, layer by layer.
    """
    if isinstance(layer, range):
        if len(layer) > 1:
            return [slice(0, len(layer) * trace.n_heads)]
        layer = layer.start
    step = max(1, _room(trace) // (min(LEAST_ROWS, trace.n_tokens) * _width(trace, layer)))
    return [slice(start, min(start + step, trace.n_heads)) for start in range(0, trace.n_heads, step)]


def blocks(trace: Trace, layer: int, heads: slice) -> Iterator[tuple[int, int, Tensor]]:
    """Some heads' attention as successive rows: first row, first key, (H', R, C). Other keys get nothing of them."""
    return passing(lambda: trace, layer, heads)


def passing(here: Here, layer: int | range, heads: slice) -> Iterator[tuple[int, int, Tensor]]:
    """`blocks` for work that pauses between them and holds no trace then; layer: as for `head_groups`."""
    if isinstance(layer, range):
        if len(layer) > 1:
            yield 0, 0, _whole_maps(here(), layer)
            return
        layer = layer.start
    width, n = _width(here(), layer), here().n_tokens
    step = max(1, _room(here()) // ((heads.stop - heads.start) * width))
    step = min(step, max(width, NEIGHBOURS))  # each row more of a local layer brings a key more to all of them
    for start in range(0, n, step):
        stop = min(start + step, n)
        keys = _keys(here(), layer, start, stop)
        yield start, keys.start, here().attention_part(layer, heads, slice(start, stop), keys)


def _whole_maps(trace: Trace, layers: range) -> Tensor:
    """(L'·H, S, K)"""
    everything = [slice(None)] * 3
    return torch.cat([trace.attention_part(layer, *everything) for layer in layers])
