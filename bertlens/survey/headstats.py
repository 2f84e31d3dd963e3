"""HeadStats: what a survey knows of every head, as named sums that can be added in any order.

Memory does not grow with the corpus: sums per head and layer, and one sum of norms per piece of the vocabulary.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..errors import InputError, SelectionError
from ..files import replacing
from ..measures.norms import METHODS
from ..measures.ranks import spearman
from ..trace import Trace
from .corpus import Item, digest
from .statistics import CATEGORIES, LABELS, NAMES, TextStatistics

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2
BINS = 32
_DIGEST = 1 << 64


def edges(name: str) -> np.ndarray:
    """(BINS + 1,) the bins in which the texts' values of a statistic are counted; the last takes all that is larger.

    Entropies in equal steps, k90 in equal factors, shares in equal steps of their square root: most are small.
    """
    if name.startswith("entropy"):
        return np.linspace(0, 7, BINS + 1)  # ln 1097
    return np.geomspace(1, 1024, BINS + 1) if name == "k90" else np.linspace(0, 1, BINS + 1) ** 2


@dataclass
class HeadStats:
    """Corpus statistics of every head; `a + b` is the statistics of both corpora. Made by `head_stats`.

    L layers, H heads, K statistics (statistics.NAMES), V pieces of the vocabulary. `sums` are float64 arrays; those of
    an average come as sum and count, once with a text as the unit, once with a token:
    "weight.text", "weight.token", "norm.text", "norm.token" (K, L, H), counts (K,); "weight.text_squares" and
    "weight.text_bins" (K, L, H, BINS), also of "norm", for the spread; "mixing.text", … (M, L); "cone.text", …
    (L + 1,); "gates" (L, H, labels) texts in which a head had a gate; "lengths.token" (L, H, categories) of ‖f(x)‖;
    "pieces.token" (V, L) of the heads' mean ‖f(x)‖.
    """

    provenance: dict[str, Any]
    n_texts: int = 0
    n_tokens: int = 0
    corpus: int = 0  # sum of the texts' hashes
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    # Places in the corpus, beyond the first texts that are all counted, whose texts are counted too: after an interrupt
    ahead: list[int] = field(default_factory=list)

    # --- filling, merging ---

    def add(self, trace: Trace, statistics: TextStatistics, item: Item) -> None:
        """Count one text in. Raises InputError for a trace of another shape, so of another model."""
        shape = statistics.gates.shape
        if self.n_texts and self.shape != shape:
            raise InputError(f"traces of {self.shape} and {tuple(shape)} (layers, heads) do not add up: use one model")
        self.n_texts += 1
        self.n_tokens += trace.n_tokens
        self.corpus = (self.corpus + digest(item)) % _DIGEST
        n, one = trace.n_tokens, np.array(1.0)
        counts = statistics.denominators.numpy()
        has = (counts > 0).astype(float)
        for by, numerators in statistics.numerators.items():
            totals = numerators.numpy() * has[:, None, None]
            means = totals / np.maximum(counts, 1)[:, None, None]
            self._count(f"{by}.text", means, has)
            self._count(f"{by}.token", totals, counts)
            self._count(f"{by}.text_squares", means**2)
            self._count(f"{by}.text_bins", _binned(means) * has[:, None, None, None])
        self._count("gates", (statistics.gates.numpy()[..., None] == np.arange(len(LABELS))).astype(float))
        for name, values in (("mixing", statistics.mixing), ("cone", statistics.cone)):
            if values is not None:
                self._count(f"{name}.text", values.numpy(), one)
                self._count(f"{name}.token", values.numpy() * n, one * n)
        if statistics.lengths is not None:
            lengths = statistics.lengths.numpy()
            kinds = (statistics.categories.numpy()[:, None] == np.arange(len(CATEGORIES))).astype(float)
            self._count("lengths.token", lengths @ kinds, kinds.sum(0))
            self._count_pieces(trace, lengths.mean(1).T)

    def _count(self, name: str, values: np.ndarray, count: np.ndarray | None = None) -> None:
        self.sums[name] = self.sums[name] + values if name in self.sums else values
        if count is not None:
            self._count(f"{name}_count", count)

    def _count_pieces(self, trace: Trace, lengths: np.ndarray) -> None:
        """lengths (S, L)."""
        assert trace.model is not None
        if "pieces.token" not in self.sums:
            size = trace.model.vocabulary_size
            self.sums["pieces.token"] = np.zeros((size, lengths.shape[1]))
            self.sums["pieces.token_count"] = np.zeros(size)
        ids = trace.input_ids.cpu().numpy()
        np.add.at(self.sums["pieces.token"], ids, lengths)
        np.add.at(self.sums["pieces.token_count"], ids, 1)

    def __add__(self, other: HeadStats) -> HeadStats:
        """The statistics of both corpora. Raises InputError for statistics of different models or options."""
        if not isinstance(other, HeadStats):
            return NotImplemented
        for name in ("model", "weights", "options"):
            if self.provenance.get(name) != other.provenance.get(name):
                raise InputError(f"statistics of different {name} do not add up: make both in the same way")
        merged = HeadStats(
            dict(self.provenance),
            self.n_texts + other.n_texts,
            self.n_tokens + other.n_tokens,
            (self.corpus + other.corpus) % _DIGEST,
            dict(self.sums),
        )
        if self.n_texts and other.n_texts and self.shape != other.shape:
            raise InputError(f"statistics of {self.shape} and {other.shape} (layers, heads) do not add up")
        for name, values in other.sums.items():
            merged._count(name, values)
        return merged

    def with_items(self, batch: HeadStats, numbers: list[int]) -> HeadStats:
        """These statistics and those of some more texts of the same corpus, at these places in it."""
        merged = self + batch
        first = self.n_texts - len(self.ahead)
        beyond = sorted({*self.ahead, *numbers})
        while beyond and beyond[0] == first:
            first += 1
            del beyond[0]
        merged.ahead = beyond
        return merged

    # --- saving ---

    def save(self, path: str | Path) -> None:
        """Write everything, provenance included, to one .npz file (numpy.load reads it, without pickles).

        What was there before stays whole if this is cut off. Raises ExportError where it cannot be written.
        """
        header = {
            "format": FORMAT,
            "statistics": NAMES,
            "labels": LABELS,
            "n_texts": self.n_texts,
            "n_tokens": self.n_tokens,
            "corpus": f"{self.corpus:016x}",
            "ahead": self.ahead,
            "provenance": self.provenance,
        }
        with replacing(path) as out:
            np.savez_compressed(out, header=np.array(json.dumps(header)), **self.sums)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> HeadStats:
        """Read what `save` wrote. Raises InputError for another file, a damaged one, or one of another version."""
        try:
            with np.load(path, allow_pickle=False) as file:
                sums = dict(file)
            header = json.loads(str(sums.pop("header")))
            versions = (header["format"], header["statistics"], header["labels"])
        except Exception as error:  # noqa: BLE001  a damaged zip raises whatever its decoders stumble on
            said = " ".join(str(error).split())[:150] or type(error).__name__
            raise InputError(f"{path} holds no head statistics ({said})") from None
        if versions != (FORMAT, [*NAMES], [*LABELS]):
            raise InputError(f"{path} was written by another version of bertlens: run the survey again")
        try:
            stats = cls(
                dict(header["provenance"]),
                int(header["n_texts"]),
                int(header["n_tokens"]),
                int(header["corpus"], 16),
                sums,
                [int(place) for place in header["ahead"]],
            )
            stats._check_sums()
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise InputError(f"{path} holds no whole head statistics ({error})") from None
        return stats

    def _check_sums(self) -> None:
        """Raises ValueError or KeyError where the sums are not those that `add` makes."""
        layers, heads, _ = self.sums["gates"].shape
        shapes: dict[str, tuple[int, ...]] = {"gates": (layers, heads, len(LABELS))}
        for by in ("weight", "norm"):
            if by == "weight" or "norm.text" in self.sums:
                each: dict[str, tuple[int, ...]] = {"text": (), "token": (), "text_squares": (), "text_bins": (BINS,)}
                shapes |= {f"{by}.{name}": (len(NAMES), layers, heads, *more) for name, more in each.items()}
                shapes |= {f"{by}.{name}_count": (len(NAMES),) for name in ("text", "token")}
        of_layers: dict[str, tuple[int, ...]] = {"mixing": (len(METHODS), layers), "cone": (layers + 1,)}
        for name, shape in of_layers.items():
            if f"{name}.text" in self.sums:
                shapes |= {f"{name}.{unit}": shape for unit in ("text", "token")}
                shapes |= {f"{name}.{unit}_count": () for unit in ("text", "token")}
        if "lengths.token" in self.sums:
            pieces, kinds = len(self.sums["pieces.token_count"]), len(CATEGORIES)
            shapes |= {"lengths.token": (layers, heads, kinds), "lengths.token_count": (kinds,)}
            shapes |= {"pieces.token": (pieces, layers), "pieces.token_count": (pieces,)}
        if odd := sorted(self.sums.keys() ^ shapes.keys()):
            raise ValueError(f"missing or not known: {', '.join(odd)[:100]}")
        for name, shape in shapes.items():
            values = self.sums[name]
            if values.dtype != np.float64 or values.shape != shape or not np.isfinite(values).all():
                raise ValueError(f"{name} is not {shape} numbers")
        if not (self.n_texts > 0 and self.n_tokens > 0 and (self.sums["gates"].sum(-1) == self.n_texts).all()):
            raise ValueError(f"the sums are not of {self.n_texts} texts")
        if len(self.ahead) > self.n_texts or min(self.ahead, default=0) < 0:
            raise ValueError("the places of the texts do not go with their number")

    # --- reading ---

    @property
    def shape(self) -> tuple[int, int]:
        """(L, H). Raises InputError without texts."""
        if self.n_texts == 0:
            raise InputError("these statistics hold no texts yet")
        layers, heads, _ = self.sums["gates"].shape
        return layers, heads

    def values(self, name: str, by: str = "weight", average: str = "text") -> np.ndarray:
        """(L, H) one statistic of every head; NaN where no text has it. Arguments and errors as for `table`."""
        at = self._index(name, by)
        return self._mean(by, average)[at]

    def spread(self, name: str, by: str = "weight") -> np.ndarray:
        """(L, H) standard deviation of a statistic from text to text; NaN where no text has it."""
        at = self._index(name, by)
        with np.errstate(invalid="ignore"):
            squares = self.sums[f"{by}.text_squares"][at] / self.sums[f"{by}.text_count"][at]
        return np.sqrt(np.maximum(squares - self.values(name, by) ** 2, 0))

    def distribution(self, name: str, by: str = "weight") -> tuple[np.ndarray, np.ndarray]:
        """How a statistic is spread over the texts: edges (BINS + 1,) and number of texts (L, H, BINS)."""
        at = self._index(name, by)
        return edges(name), self.sums[f"{by}.text_bins"][at]

    def table(self, by: str = "weight", average: str = "text") -> pd.DataFrame:
        """DataFrame(layer, head, previous, next, self, first, separator, ..., entropy, ..., k90), one row per head.

        by: "weight", rows are α; "norm", rows are ‖αf‖ / Σ_j ‖αf‖. average: "text", each text weighs the same (Clark et
        al. 2019); "token", each token does. What is counted how: statistics.row_statistics. `table.attrs` says both.
        Raises SelectionError for another `by` or `average`, InputError where there are no texts or no norms.
        """
        import pandas as pd

        self._check(by)
        means = self._mean(by, average)
        columns = _heads(self.shape) | {name: means[k].ravel() for k, name in enumerate(NAMES)}
        table = pd.DataFrame(columns)
        table.attrs = {"by": by, "average": average, "special_rows": "counted", "texts": self.n_texts}
        return table

    def gates(self) -> pd.DataFrame:
        """DataFrame(layer, head, label, share, one column per gate), one row per head.

        The columns hold the share of texts in which the head had that gate (as primary label, full view, with the
        thresholds of measures.gates); label is the most frequent, share its share.
        """
        import pandas as pd

        layers, heads = self.shape
        shares = self.sums["gates"].reshape(layers * heads, -1) / self.n_texts
        columns = _heads(self.shape)
        columns |= {"label": np.array(LABELS)[shares.argmax(1)], "share": shares.max(1)}
        return pd.DataFrame(columns | {name: shares[:, k] for k, name in enumerate(LABELS)})

    def layers(self, average: str = "text") -> pd.DataFrame:
        """DataFrame, one row per layer, without columns that the model's family does not offer.

        "mixing …": mixing ratios by method (norms.METHODS); "cone input", "cone output": cone index ÷ n of the layer's
        input and output; "length …": mean ‖f(x)‖ by kind of token, NaN for kinds that do not occur (tokens weigh the
        same, whatever `average`); "frequency": `frequency_correlation`.
        """
        import pandas as pd

        columns: dict[str, Any] = {"layer": np.arange(self.shape[0])}
        if "mixing.text" in self.sums:
            mixing = self._mean("mixing", average)
            columns |= {f"mixing {method}": mixing[m] for m, method in enumerate(METHODS)}
        if "cone.text" in self.sums:
            cone = self._mean("cone", average)
            columns |= {"cone input": cone[:-1], "cone output": cone[1:]}
        if "lengths.token" in self.sums:
            means = self.lengths().mean(1)
            columns |= {f"length {kind}": means[:, k] for k, kind in enumerate(CATEGORIES)}
            columns["frequency"] = self.frequency_correlation()
        return pd.DataFrame(columns)

    def lengths(self) -> np.ndarray:
        """(L, H, 4) mean ‖f(x)‖ of each kind of token (CATEGORIES); NaN where a kind does not occur.

        Raises InputError where the model's family offers no norms.
        """
        self._check("norm")
        with np.errstate(invalid="ignore"):
            return self.sums["lengths.token"] / self.sums["lengths.token_count"]

    def frequency_correlation(self) -> np.ndarray:
        """(L,) Spearman's ρ of a piece's frequency rank in this corpus (1 = most frequent) and its mean ‖f(x)‖.

        One point per different piece. Above 0: frequent pieces send less. After Kobayashi et al. 2020, section 4, who
        have a point per occurrence: that is survey.frequency_correlation. NaN under 3 different pieces.
        Raises InputError where the model's family offers no norms.
        """
        self._check("norm")
        counts = self.sums["pieces.token_count"]
        seen = counts > 0
        means = torch.from_numpy(self.sums["pieces.token"][seen] / counts[seen, None])  # (V', L)
        rarity = torch.from_numpy(-counts[seen])
        return np.array([spearman(rarity, layer) for layer in means.T])

    def _mean(self, name: str, average: str) -> np.ndarray:
        if average not in ("text", "token"):
            raise SelectionError(f"average is 'text' or 'token', not {average!r}")
        total, count = self.sums[f"{name}.{average}"], self.sums[f"{name}.{average}_count"]
        with np.errstate(invalid="ignore"):
            return total / count.reshape(*count.shape, *[1] * (total.ndim - count.ndim))

    def _index(self, name: str, by: str) -> int:
        self._check(by)
        if name not in NAMES:
            raise SelectionError(f"no statistic {name!r}: there are {', '.join(NAMES)}")
        return NAMES.index(name)

    def _check(self, by: str) -> None:
        if by not in ("weight", "norm"):
            raise SelectionError(f"by is 'weight' or 'norm', not {by!r}")
        if self.shape and by == "norm" and "norm.text" not in self.sums:
            raise InputError(
                "these statistics hold no norms: the model's family has no adapter, or only maps were given"
            )

    def __repr__(self) -> str:
        model = self.provenance.get("model")
        by = "weight and norm" if "norm.text" in self.sums else "weight"
        return f"HeadStats({model}, {self.n_texts} texts, {self.n_tokens} tokens, by {by})"


def _heads(shape: tuple[int, int]) -> dict[str, Any]:
    layers, heads = np.indices(shape)
    return {"layer": layers.ravel(), "head": heads.ravel()}


def _binned(means: np.ndarray) -> np.ndarray:
    """(K, L, H, BINS) 1 in the bin of each value (K, L, H)."""
    at = [np.searchsorted(edges(name)[1:-1], values, side="right") for name, values in zip(NAMES, means, strict=True)]
    return (np.array(at)[..., None] == np.arange(BINS)).astype(float)
