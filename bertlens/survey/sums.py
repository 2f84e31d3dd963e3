"""Sums over the texts of one bin of lengths, and the texts' own values as long as they are few."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from ..measures.norms import METHODS
from ..measures.statistics import STATISTICS, SURVEY_NAMES
from .text_statistics import CATEGORIES, LABELS, TextStatistics

BINS = 32
KEPT_TEXTS = 256  # of more, how many lie in each of BINS is kept
SAMPLED_TEXTS = 64  # and the values of so many
BY = ("weight", "norm")


def edges(name: str) -> np.ndarray:
    """(BINS + 1,) the bins in which the texts' values of a statistic are counted; the last takes all that is larger.

    Entropies in equal steps, k90 in equal factors, shares in equal steps of their square root: most are small.
    """
    unit = STATISTICS[name].unit
    if unit == "nats":
        return np.linspace(0, 7, BINS + 1)  # ln 1097
    return np.geomspace(1, 1024, BINS + 1) if unit == "keys" else np.linspace(0, 1, BINS + 1) ** 2


@dataclass
class BinSums:
    """Sums over some texts; `a + b` is that of both, in any order. L layers, H heads, K statistics (SURVEY_NAMES).

    `sums` are float64: "texts", "tokens" (); those of an average come as sum and count, once with a text as the unit,
    once with a token: "weight.text", "weight.token", "norm.text", "norm.token" (K, L, H), counts (K,), and
    "weight.text_squares" (K, L, H), also of "norm", for the spread; "mixing.text", … (M, L); "cone.text", … (L + 1,);
    "gates" (L, H, labels) texts in which a head had a gate; "lengths.token" (L, H, categories) of ‖f(x)‖.
    `values` of up to KEPT_TEXTS texts, "weight", "norm" -> (texts, K, L, H) float32, NaN where a text has none; of more
    those of SAMPLED_TEXTS, and "weight.text_bins" (K, L, H, BINS), the texts in each of `edges`.
    """

    sums: dict[str, np.ndarray] = field(default_factory=dict)
    values: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, text: TextStatistics) -> BinSums:
        """That of one text."""
        n, unit, counts = float(len(text.categories)), np.array(1.0), text.denominators.numpy()
        has = (counts > 0).astype(float)
        sums = {"texts": unit, "tokens": unit * n}
        values = {}
        for by, numerators in text.numerators.items():
            totals = numerators.numpy() * has[:, None, None]
            means = totals / np.maximum(counts, 1)[:, None, None]
            sums |= {f"{by}.text": means, f"{by}.text_count": has, f"{by}.text_squares": means**2}
            sums |= {f"{by}.token": totals, f"{by}.token_count": counts}
            values[by] = np.where(has[:, None, None] > 0, means, np.nan).astype(np.float32)[None]
        sums["gates"] = (text.gates.numpy()[..., None] == np.arange(len(LABELS))).astype(float)
        for name, layers in (("mixing", text.mixing), ("cone", text.cone)):
            if layers is not None:
                sums |= {f"{name}.text": layers.numpy(), f"{name}.text_count": unit}
                sums |= {f"{name}.token": layers.numpy() * n, f"{name}.token_count": unit * n}
        if text.lengths is not None:
            kinds = (text.categories.numpy()[:, None] == np.arange(len(CATEGORIES))).astype(float)
            sums |= {"lengths.token": text.lengths.numpy() @ kinds, "lengths.token_count": kinds.sum(0)}
        return cls(sums, values)

    def __add__(self, other: BinSums) -> BinSums:
        values = _concatenation(self.values, other.values)
        if self.n_texts + other.n_texts <= KEPT_TEXTS:
            return BinSums(added(self.sums, other.sums), values)
        sums = added(self._binned_sums(), other._binned_sums())
        return BinSums(sums, {by: _sample(array) for by, array in values.items()})

    @property
    def n_texts(self) -> int:
        return int(self.sums["texts"])

    @property
    def n_tokens(self) -> int:
        return int(self.sums["tokens"])

    def counts(self, by: str, k: int) -> np.ndarray:
        """(L, H, BINS) the texts in each of the `edges` of a statistic."""
        if self._has_all(by):
            return _bin_counts(self.values[by][:, k], SURVEY_NAMES[k])
        layers, heads, _ = self.sums["gates"].shape
        return self.sums.get(f"{by}.text_bins", np.zeros((len(SURVEY_NAMES), layers, heads, BINS)))[k]

    def lower(self, by: str, text: np.ndarray) -> np.ndarray:
        """(2, K, L, H) at least and at most so many texts have a lower value than this one's (K, L, H), float32.

        The same number twice while the texts' values are kept; where they are counted, those in the bin of the text's
        own value may be lower or not. 0 where the text has no value.
        """
        if self._has_all(by):
            counts = (self.values[by] < text).sum(0)
            return np.stack([counts, counts])
        if f"{by}.text_bins" not in self.sums:
            return np.zeros((2, *text.shape), int)
        below = np.concatenate([np.zeros((*text.shape, 1)), self.sums[f"{by}.text_bins"].cumsum(-1)], -1)
        bounds = np.stack([edges(name).astype(np.float32) for name in SURVEY_NAMES])[:, None, None]
        at = (bounds[..., 1:-1] <= text[..., None]).sum(-1)[..., None]  # the bin of the text's value
        start = np.take_along_axis(np.broadcast_to(bounds, below.shape), at, -1)
        ends = np.concatenate([at, np.where(text[..., None] > start, at + 1, at)], -1)  # at its edge: none is lower
        counts = np.moveaxis(np.take_along_axis(below, ends, -1), -1, 0)
        return np.where(np.isnan(text), 0, counts).astype(int)

    def check(self, layers: int, heads: int) -> None:
        """Raises ValueError or KeyError where the sums are not those of `of` and of their addition."""
        extra_axes: dict[str, tuple[int, ...]] = {"text": (), "token": (), "text_squares": ()}
        shapes: dict[str, tuple[int, ...]] = {"texts": (), "tokens": (), "gates": (layers, heads, len(LABELS))}
        full = 0 < self.n_texts <= KEPT_TEXTS
        if not full:
            extra_axes["text_bins"] = (BINS,)
        ways = [by for by in BY if by == "weight" or f"{by}.text" in self.sums]
        for by in ways:
            shapes |= {f"{by}.{name}": (len(SURVEY_NAMES), layers, heads, *axes) for name, axes in extra_axes.items()}
            shapes |= {f"{by}.{name}_count": (len(SURVEY_NAMES),) for name in ("text", "token")}
        of_layers: dict[str, tuple[int, ...]] = {"mixing": (len(METHODS), layers), "cone": (layers + 1,)}
        for name, shape in of_layers.items():
            if f"{name}.text" in self.sums:
                shapes |= {f"{name}.{unit}": shape for unit in ("text", "token")}
                shapes |= {f"{name}.{unit}_count": () for unit in ("text", "token")}
        if "lengths.token" in self.sums:
            shapes |= {"lengths.token": (layers, heads, len(CATEGORIES)), "lengths.token_count": (len(CATEGORIES),)}
        check_shapes(self.sums, shapes)
        if not (self.n_texts > 0 and self.n_tokens > 0 and (self.sums["gates"].sum(-1) == self.n_texts).all()):
            raise ValueError(f"the sums are not of {self.n_texts} texts")
        if [*self.values] != ways:
            raise ValueError(f"the values are not those of {self.n_texts} texts")
        for by, values in self.values.items():
            n_values = self.n_texts if by == "weight" and full else len(values)
            right = values.shape == (n_values, len(SURVEY_NAMES), layers, heads) and values.dtype == np.float32
            if not right or np.isinf(values).any() or not 0 < len(values) <= (self.n_texts if full else SAMPLED_TEXTS):
                raise ValueError(f"the values by {by} are not those of {self.n_texts} texts")

    def _has_all(self, by: str) -> bool:
        return by in self.values and f"{by}.text_bins" not in self.sums

    def _binned_sums(self) -> dict[str, np.ndarray]:
        """The sums, with all texts counted in bins."""
        ways = [by for by in self.values if self._has_all(by)]
        return self.sums | {
            f"{by}.text_bins": np.stack([self.counts(by, k) for k in range(len(SURVEY_NAMES))]) for by in ways
        }


def added(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Name by name; what one has alone as it is."""
    return {name: a[name] + b[name] if name in a and name in b else (a | b)[name] for name in a | b}


def check_shapes(sums: dict[str, np.ndarray], shapes: dict[str, tuple[int, ...]]) -> None:
    """Raises ValueError unless there are finite float64 numbers of these names and shapes, and no others."""
    if odd := sorted(sums.keys() ^ shapes.keys()):
        raise ValueError(f"missing or not known: {', '.join(odd)[:100]}")
    for name, shape in shapes.items():
        values = sums[name]
        if values.dtype != np.float64 or values.shape != shape or not np.isfinite(values).all():
            raise ValueError(f"{name} is not {shape} numbers")


def _concatenation(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    pairs = {by: [values[by] for values in (a, b) if by in values] for by in BY}
    return {by: np.concatenate(arrays) for by, arrays in pairs.items() if arrays}


def _sample(values: np.ndarray) -> np.ndarray:
    """Of values (texts, K, L, H) those of SAMPLED_TEXTS, drawn by a hash: the same in whatever order they come."""
    keys = [hashlib.blake2b(text.tobytes(), digest_size=8).digest() for text in values]
    return values[sorted(range(len(keys)), key=keys.__getitem__)[:SAMPLED_TEXTS]]


def _bin_counts(values: np.ndarray, name: str) -> np.ndarray:
    """(L, H, BINS) how many of the values (texts, L, H) lie in each bin; NaN lies in none."""
    at = np.searchsorted(edges(name).astype(np.float32)[1:-1], values, side="right")
    at[np.isnan(values)] = BINS
    heads = np.arange(at[0].size)
    flat = at.reshape(len(at), -1) + heads * (BINS + 1)
    counts = np.bincount(flat.ravel(), minlength=len(heads) * (BINS + 1)).reshape(*at.shape[1:], BINS + 1)
    return counts[..., :BINS].astype(float)
