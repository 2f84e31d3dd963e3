"""The texts with the highest values of each head's statistics: a few for each, kept while a corpus is counted.

Memory does not grow with the corpus: TEXTS_KEPT texts for each head, statistic and way of counting, LETTERS of each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..trace.trace import Trace
from .corpus import Item

TEXTS_KEPT = 5  # texts for each head and statistic, all different
LETTERS = 500  # kept of a text
_WAITING = 64  # texts that are not sorted in yet: sorting in some at once takes little longer than one
_ROOM = 1000  # texts that are held for nothing before they are let go, at least


class TopText(NamedTuple):
    """A text of a corpus: its place there, from 0 (-1: not known), its tokens as the model sees them, its sides.

    sides: the text, or both of a pair, together at most LETTERS; `is_whole` where nothing is cut off, so that it can
    be run again. A text given as words has blanks between them; of maps without a text there are the tokens.
    """

    place: int
    tokens: int
    sides: tuple[str, ...]
    is_whole: bool

    @classmethod
    def of(cls, item: Item, place: int, tokens: int) -> TopText:
        runs = True
        if isinstance(item, Trace):
            runs = item.text is not None
            texts = (item.text, item.text_pair) if runs else (" ".join(item.display_tokens), None)
            sides = tuple(text for text in texts if text is not None)
        elif isinstance(item, list):
            sides = (" ".join(item),)
        else:
            sides = item if isinstance(item, tuple) else (item,)
        is_whole = runs and sum(map(len, sides)) <= LETTERS
        return cls(place, tokens, sides if is_whole else tuple(s[: LETTERS // len(sides)] for s in sides), is_whole)


@dataclass
class TopTexts:
    """The few texts with the highest value of each statistic of each head; `a + b` is those of both, in any order.

    values: "weight", "norm" -> (TEXTS_KEPT, K, L, H) float32, falling, −inf where there are no more; keys: the same of
    uint64, under which `texts` has the text (a hash of it, so that a text that comes twice counts once). Of equal
    values the lower key comes first: what is kept does not depend on the order of the texts.
    """

    values: dict[str, np.ndarray] = field(default_factory=dict)
    keys: dict[str, np.ndarray] = field(default_factory=dict)
    texts: dict[int, TopText] = field(default_factory=dict)
    _added: list[tuple[dict[str, np.ndarray], int]] = field(default_factory=list)  # not sorted in yet
    _room: int = _ROOM

    def add(self, values: dict[str, np.ndarray], key: int, text: TopText) -> None:
        """Count one text in. values: "weight", "norm" -> (1, K, L, H) float32, NaN where it has none."""
        self._added.append((values, key))
        self._hold({key: text})
        if len(self._added) > _WAITING:
            vars(self).update(vars(self + TopTexts()))

    def __add__(self, other: TopTexts) -> TopTexts:
        total = TopTexts(dict(self.values), dict(self.keys), dict(self.texts), [], self._room)
        total._hold(other.texts)
        for by, values in other.values.items():
            total._sort_in(by, values, other.keys[by])
        added = self._added + other._added
        for by in dict.fromkeys(by for values, _ in added for by in values):
            pairs = [(values[by], key) for values, key in added if by in values]
            keys = np.array([key for _, key in pairs], np.uint64)
            values = np.concatenate([values for values, _ in pairs])
            total._sort_in(by, values, np.broadcast_to(keys[:, None, None, None], values.shape))
        if len(total.texts) > total._room:
            total._let_go()
        return total

    def of(self, by: str, statistic: int, layer: int, head: int) -> list[tuple[float, TopText]]:
        """The texts of one head and their values, the highest first."""
        settled = self.settled
        if by not in settled.values:
            return []
        at = (slice(None), statistic, layer, head)
        pairs = zip(settled.values[by][at].tolist(), settled.keys[by][at].tolist(), strict=True)
        return [(value, settled.texts[key]) for value, key in pairs if value > -np.inf]

    @property
    def settled(self) -> TopTexts:
        """The same with everything sorted in, and only the texts that are named."""
        total = self + TopTexts()
        total._let_go()
        return total

    def _hold(self, texts: dict[int, TopText]) -> None:
        for key, text in texts.items():
            self.texts[key] = min(text, self.texts.get(key, text))  # of one that comes twice the first

    def _sort_in(self, by: str, values: np.ndarray, keys: np.ndarray) -> None:
        """Some more texts, (N, K, L, H) values and keys. Makes new arrays: others may hold those that there are."""
        shape = (TEXTS_KEPT, *values.shape[1:])
        self.values[by] = self.values.get(by, np.full(shape, -np.inf, np.float32)).copy()
        self.keys[by] = self.keys.get(by, np.zeros(shape, np.uint64)).copy()
        arrays = self.values[by], self.keys[by]
        beaten = (values >= arrays[0][-1]).any(0)  # NaN is not
        stacks = [np.concatenate([a[:, beaten], b[:, beaten]]) for a, b in zip(arrays, (values, keys), strict=True)]
        arrays[0][:, beaten], arrays[1][:, beaten] = _highest(*stacks)

    def _let_go(self) -> None:
        """Of texts that nothing names any more."""
        named = {int(key) for keys in self.keys.values() for key in np.unique(keys)}
        self.texts = {key: text for key, text in self.texts.items() if key in named}
        self._room = 2 * len(self.texts) + _ROOM

    def numbered(self, layer: int | None = None) -> tuple[dict[int, TopText], dict[str, np.ndarray]]:
        """The texts in the order of their keys, and arrays of values and of numbers of texts (−1: none).

        "weight.values", "weight.texts", … (TEXTS_KEPT, K, L, H) float32 and int32, or of one layer (TEXTS_KEPT, K, H).
        """
        settled = self.settled
        arrays: dict[str, np.ndarray] = {}
        at: tuple[Any, ...] = (slice(None), slice(None), *([] if layer is None else [layer]))
        named = [keys[at].ravel() for keys in settled.keys.values()]
        order = np.unique(np.concatenate([np.zeros(1, np.uint64), *named]))
        for by, values in settled.values.items():
            numbers = np.searchsorted(order, settled.keys[by][at]) - 1  # the first key is that of none
            arrays |= {f"{by}.values": values[at], f"{by}.texts": numbers.astype(np.int32)}
        return {key: settled.texts[key] for key in order[1:].tolist()}, arrays

    # --- in a file ---

    def saved(self) -> tuple[list[Any], dict[str, np.ndarray]]:
        """The texts as JSON has them, and the arrays of `numbered`."""
        texts, arrays = self.numbered()
        return [[f"{key:016x}", *text] for key, text in texts.items()], arrays

    @classmethod
    def read(cls, listed: list[Any], arrays: dict[str, np.ndarray]) -> TopTexts:
        """What `saved` gave. Raises ValueError, TypeError, KeyError or IndexError for anything else."""
        texts = {}
        for key, place, tokens, sides, is_whole in listed:
            if not all(isinstance(side, str) for side in sides) or not 0 < len(sides) <= 2:
                raise ValueError("the texts are not texts")
            texts[int(key, 16)] = TopText(int(place), int(tokens), tuple(sides), bool(is_whole))
        keys = np.array([*texts, 0], np.uint64)  # at -1: none
        names = {name.partition(".")[0] for name in arrays}
        numbers = {by: arrays[f"{by}.texts"] for by in names}
        if any(array.dtype != np.int32 or (array < -1).any() for array in numbers.values()):
            raise ValueError("the texts' numbers are not numbers of texts")
        return cls({by: arrays[f"{by}.values"] for by in names}, {by: keys[numbers[by]] for by in names}, texts)

    def check(self, shape: tuple[int, int, int], by: list[str]) -> None:
        """Raises ValueError where these are not the texts of (K, L, H) statistics, counted in these ways."""
        if sorted(self.values) != sorted(by) or len(self.texts) > 2 * TEXTS_KEPT * int(np.prod(shape)):
            raise ValueError("the texts are not those of the statistics")
        for name, values in self.values.items():
            keys = self.keys[name]
            right = values.shape == keys.shape == (TEXTS_KEPT, *shape) and values.dtype == np.float32
            if not right or np.isnan(values).any() or (values == np.inf).any() or (values[1:] > values[:-1]).any():
                raise ValueError(f"the texts by {name} are not those of the statistics")
            if ((keys == 0) != np.isneginf(values)).any():
                raise ValueError(f"the texts by {name} are not there")


def _highest(values: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first TEXTS_KEPT of (N, n) values, falling, and their keys: each key once, with its highest value."""
    values = np.where(np.isnan(values), -np.inf, values)
    order = np.lexsort((-values, keys), axis=0)
    values, keys = (np.take_along_axis(array, order, 0) for array in (values, keys))
    values[1:][keys[1:] == keys[:-1]] = -np.inf
    order = np.lexsort((keys, -values), axis=0)[:TEXTS_KEPT]
    values, keys = (np.take_along_axis(array, order, 0) for array in (values, keys))
    return values, np.where(np.isneginf(values), np.uint64(0), keys)
