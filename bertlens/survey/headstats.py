"""HeadStats: what a survey knows of every head, by length of text, as named sums that can be added in any order.

Memory does not grow with the corpus: sums per head and layer for each bin of lengths, the values of at most 256 texts
in each (4.4 MB a bin for 144 heads), one sum of norms per piece of the vocabulary, and the few texts with the highest
value of each statistic of each head.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from ..base.amounts import amount
from ..base.arrays_file import difference
from ..base.dataframes import pd
from ..base.limits import TEXT_CHARACTERS
from ..errors import InputError, SelectionError, check_index, check_name, check_number, excerpt
from ..measures.norms import METHODS
from ..measures.ranks import spearman
from ..measures.statistics import STATISTICS, SURVEY_NAMES
from ..trace.provenance import short_provenance
from ..trace.trace import Trace
from .corpus import Item, digest
from .head_tables import gate_shares, heads_of
from .statsfile import FILE, PIECES, Contents, contents, write
from .sums import BY, BinSums, added, edges
from .text_statistics import CATEGORIES, TextStatistics
from .textlength import LengthBin, bin_of, near_steps, span
from .top_texts import TopText, TopTexts

_DIGEST = 1 << 64
NO_TEXTS = "these statistics do not hold the texts with the highest values: run the survey again"


@dataclass
class HeadStats:
    """Corpus statistics of every head; `a + b` is the statistics of both corpora. Made by `head_stats`.

    L layers, H heads, K statistics (SURVEY_NAMES), V pieces of the vocabulary. `bins` holds the sums of the texts
    of each length and number of segments (sums.BinSums), sparse; `pieces` "pieces.token" (V, L) of the heads' mean
    ‖f(x)‖ and their count, of all texts. What is read is of all texts, long and short; `of_length` is of some.
    """

    provenance: dict[str, Any]  # model, corpus, versions: where the numbers come from
    bins: dict[LengthBin, BinSums] = field(default_factory=dict)
    pieces: dict[str, np.ndarray] = field(default_factory=dict)
    corpus: int = 0  # sum of the texts' hashes
    # Places in the corpus, beyond the first texts that are all counted, whose texts are counted too: after an interrupt
    ahead: list[int] = field(default_factory=list)
    highest: TopTexts | None = field(default_factory=TopTexts)  # None where no texts are kept
    shard: dict[str, Any] | None = None  # of which share of a job these are, see survey_shards; None: of no share

    # --- filling, merging ---

    def add(self, trace: Trace, statistics: TextStatistics, item: Item, place: int = -1) -> None:
        """Count one text (item) and its statistics in, with its place in the corpus.

        Raises InputError for a trace of another model's shape.
        """
        shape = statistics.gates.shape
        if self.n_texts and self.shape != shape:
            raise InputError(f"traces of {self.shape} and {tuple(shape)} (layers, heads) do not add up: use one model")
        key, tally = digest(item), BinSums.of(statistics)
        self.corpus = (self.corpus + key) % _DIGEST
        self._count(bin_of(trace), tally)
        if self.highest is not None:
            self.highest.add(tally.values, key, TopText.of(item, place, trace.n_tokens))
        if statistics.lengths is not None:
            self._count_pieces(trace, statistics.lengths.numpy().mean(1).T)

    def _count(self, place: LengthBin, tally: BinSums) -> None:
        self.bins[place] = self.bins[place] + tally if place in self.bins else tally

    def _count_pieces(self, trace: Trace, lengths: np.ndarray) -> None:
        """lengths (S, L)."""
        if not self.pieces:
            size = trace.borrowed.vocabulary_size
            self.pieces = dict(zip(PIECES, (np.zeros((size, lengths.shape[1])), np.zeros(size)), strict=True))
        ids = trace.input_ids.cpu().numpy()
        for name, values in zip(PIECES, (lengths, np.array(1.0)), strict=True):
            np.add.at(self.pieces[name], ids, values)

    def __add__(self, other: HeadStats) -> HeadStats:
        """The statistics of both corpora. Raises InputError for statistics of different models or options."""
        if not isinstance(other, HeadStats):
            return NotImplemented
        models = (about.get("identity", {"model": about.get("model")}) for about in (self.provenance, other.provenance))
        names = [name for name in ("options", "lengths") if self.provenance.get(name) != other.provenance.get(name)]
        if name := difference(*models) or next(iter(names), ""):
            raise InputError(f"statistics of different {name} do not add up: make both in the same way")
        if self.n_texts and other.n_texts and self.shape != other.shape:
            raise InputError(f"statistics of {self.shape} and {other.shape} (layers, heads) do not add up")
        merged = HeadStats(
            dict(self.provenance),
            dict(self.bins),
            added(self.pieces, other.pieces),
            (self.corpus + other.corpus) % _DIGEST,
            highest=None if self.highest is None or other.highest is None else self.highest + other.highest,
        )
        for place, tally in other.bins.items():
            merged._count(place, tally)
        return merged

    def __radd__(self, other: Any) -> HeadStats:
        """`sum` begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def with_items(self, batch: HeadStats, numbers: list[int]) -> HeadStats:
        """These statistics and those of a batch of texts of the same corpus, numbers: of their places in it."""
        merged = self + batch
        merged.shard = self.shard
        if self.shard is not None:
            return merged  # a shard's batches are counted in their order
        prefix = self.n_texts - len(self.ahead)
        beyond = sorted({*self.ahead, *numbers})
        while beyond and beyond[0] == prefix:
            prefix += 1
            del beyond[0]
        merged.ahead = beyond
        return merged

    # --- saving ---

    def save(self, path: str | Path) -> None:
        """Write everything, provenance included, to one .npz file (numpy.load reads it, without pickles).

        The sums of a bin of lengths are named "segments.step/name", see sums.BinSums and textlength.LengthBin; values
        "segments.step/weight.values". The texts with the highest values are in it too, as `texts` gives them. What was
        there before stays whole if this is cut off. Raises ExportError where it cannot be written.
        """
        about = {
            "n_texts": self.n_texts,
            "n_tokens": self.n_tokens,
            "corpus": f"{self.corpus:016x}",
            "ahead": self.ahead,
            "provenance": self.provenance,
            "shard": self.shard,
        }
        write(path, about, Contents(self.bins, self.pieces, self.highest))

    @classmethod
    def load(cls, path: str | Path) -> HeadStats:
        """Read what `save` wrote. Raises InputError for another file, a damaged one, or one of another version."""
        with FILE.open(path) as (about, arrays):
            bins, pieces, highest = contents(about, arrays)
            ahead = [int(place) for place in about["ahead"]]
            stats = cls(
                dict(about["provenance"]), bins, pieces, int(about["corpus"], 16), ahead, highest, about.get("shard")
            )
            n_texts, n_tokens = int(about["n_texts"]), int(about["n_tokens"])
            if (stats.n_texts, stats.n_tokens) != (n_texts, n_tokens):
                raise ValueError(f"the sums are not of {n_texts} texts with {n_tokens} tokens")
            if len(ahead) > stats.n_texts or min(ahead, default=0) < 0:
                raise ValueError("the places of the texts do not go with their number")
        return stats

    # --- reading ---

    @property
    def n_texts(self) -> int:
        """Texts that were counted."""
        return sum(tally.n_texts for tally in self._tallies)

    @property
    def n_tokens(self) -> int:
        """Tokens of all texts, special ones counted."""
        return sum(tally.n_tokens for tally in self._tallies)

    @property
    def shape(self) -> tuple[int, int]:
        """(L, H). Raises InputError without texts."""
        if not self.bins:
            raise InputError("these statistics hold no texts yet")
        layers, heads, _ = next(iter(self.bins.values())).sums["gates"].shape
        return layers, heads

    @property
    def has_norms(self) -> bool:
        """Whether there are statistics by norm."""
        return any("norm.text" in tally.sums for tally in self._tallies)

    @property
    def span(self) -> tuple[int, int]:
        """Tokens between which the lengths of all texts lie, to within a bin. Raises InputError without texts."""
        _ = self.shape
        lengths = [place.tokens for place in self.bins]
        return min(tokens[0] for tokens in lengths), max(tokens[-1] for tokens in lengths)

    def of_length(self, tokens: int, segments: int = 1) -> HeadStats:
        """The statistics of the texts that are about as long as one of so many tokens, special ones counted.

        Those of as many segments (2 for pairs) in the bins ⌊8·log₂ n⌋ that lie wholly within .75 to 1.25 of `tokens`;
        there may be none (n_texts 0). ‖f(x)‖ by piece and the highest texts are not kept by length: there is neither
        frequency_correlation nor `texts`. Raises InputError for a number below 1.
        """
        tokens = check_number(tokens, "tokens is how long a text is,", 1, TEXT_CHARACTERS)
        segments = check_number(segments, "segments is of how many texts it is made,", 1)
        places = [LengthBin(segments, step) for step in near_steps(tokens)]
        return HeadStats(
            self.provenance | {"lengths": [segments, *span(tokens)]},
            {place: self.bins[place] for place in places if place in self.bins},
            highest=None,
        )

    def values(self, name: str, by: str = "weight", average: str = "text") -> np.ndarray:
        """(L, H) the statistic `name` of every head; NaN where no text has it. by, average, errors: as for `table`."""
        at = self._index(name, by)
        return self._mean(by, average)[at]

    def spread(self, name: str, by: str = "weight") -> np.ndarray:
        """(L, H) standard deviation (n − 1) of the statistic `name` over texts; NaN where fewer than two texts have it.

        Most of it is length where the texts are not of one: see `of_length`.
        """
        return self.spreads(by)[self._index(name, by)]

    def spreads(self, by: str = "weight") -> np.ndarray:
        """(K, L, H) the `spread` of all statistics."""
        self._check_by(by)
        counts = self.counts(by)[:, None, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = self._total(f"{by}.text_squares") - counts * self._mean(by, "text") ** 2
            return np.where(counts > 1, np.sqrt(np.maximum(squares, 0) / (counts - 1)), np.nan)

    def counts(self, by: str = "weight") -> np.ndarray:
        """(K,) how many texts have each statistic."""
        self._check_by(by)
        return self._total(f"{by}.text_count")

    def distribution(self, name: str, by: str = "weight") -> tuple[np.ndarray, np.ndarray]:
        """How the statistic `name` is spread over the texts: edges (BINS + 1,) and number of texts (L, H, BINS)."""
        at = self._index(name, by)
        return edges(name), reduce(add, (tally.counts(by, at) for tally in self._tallies))

    def lower(self, values: np.ndarray, by: str = "weight") -> np.ndarray:
        """(2, K, L, H) int: at least and at most so many texts have a lower value than one with `values` (K, L, H).

        Both are the same where at most 256 texts of a bin of lengths were counted; of more, it is known between which
        `edges` they lie.
        """
        self._check_by(by)
        return reduce(add, (tally.lower(by, values.astype(np.float32)) for tally in self._tallies))

    def texts(self, name: str, layer: int, head: int, by: str = "weight") -> pd.DataFrame:
        """DataFrame(value, text, text_pair ("" for none), tokens, place, whole): the texts in which a head has it most.

        name: of a statistic. At most five, all different, the highest value first; of any length, which nearly every
        statistic follows. Of a text its first 500 characters; `whole` says that they are all, so that it can be run
        again. place: in its corpus, from 0. `attrs["texts"]`: of how many texts that have the statistic.
        Raises SelectionError for what does not exist, InputError where no texts are kept: with
        `head_stats(..., texts=False)`, and of some lengths (`of_length`).
        """
        at, (layers, heads) = self._index(name, by), self.shape
        check_index(layer, layers, "layer")
        check_index(head, heads, "head")
        if self.highest is None:
            raise InputError(NO_TEXTS)
        columns = ["value", "text", "text_pair", "tokens", "place", "whole"]
        rows = [
            (value, text.sides[0], text.sides[1] if len(text.sides) > 1 else "", text.tokens, text.place, text.is_whole)
            for value, text in self.highest.of(by, at, layer, head)
        ]
        table = pd.DataFrame(rows, columns=columns)
        table.attrs = {"texts": int(self.counts(by)[at])}
        return table

    def table(self, by: str = "weight", average: str = "text") -> pd.DataFrame:
        """DataFrame(layer, head, previous, next, self, first, separator, ..., entropy, ..., k90), one row per head.

        by: "weight", rows are α; "norm", rows are ‖αf‖ / Σ_j ‖αf‖. average: "text", each text weighs the same (Clark et
        al. 2019); "token", each token does. What is counted how: statistics.row_statistics. `table.attrs` says both,
        with the units, and where the numbers come from.
        Raises SelectionError for another `by` or `average`, InputError where there are no texts or no norms.
        """
        self._check_by(by)
        means = self._mean(by, average)
        table = pd.DataFrame(heads_of(self.shape) | {name: means[k].ravel() for k, name in enumerate(SURVEY_NAMES)})
        units = {name: STATISTICS[name].unit for name in SURVEY_NAMES}
        table.attrs = {"by": by, "average": average, "special_rows": "counted", "texts": self.n_texts, "units": units}
        table.attrs["provenance"] = short_provenance(self.provenance)
        return table

    def gates(self, by_length: bool = False) -> pd.DataFrame:
        """DataFrame(layer, head, label, share, one column per gate), one row per head.

        The columns hold the share of texts in which the head had that gate (as primary label, full view, with the
        thresholds of measures.gates); label is the most frequent, share its share. Gates depend on the length of the
        text; attrs say how many texts of which lengths these are. by_length: one row per head and bin of lengths, with
        its segments, its shortest and longest length in tokens, and its number of texts before the rest.
        """
        if not by_length:
            table = gate_shares(reduce(add, (tally.sums["gates"] for tally in self._tallies)), self.shape)
            table.attrs = {"texts": self.n_texts, "tokens": self.span, "units": {"share": "share of texts"}}
            table.attrs["provenance"] = short_provenance(self.provenance)
            return table
        tables = []
        for place, tally in sorted(self.bins.items()):
            table, lengths = gate_shares(tally.sums["gates"], self.shape), place.tokens
            about = {"segments": place.segments, "from": lengths[0], "to": lengths[-1], "texts": tally.n_texts}
            for at, (name, value) in enumerate(about.items()):
                table.insert(at, name, value)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def layers(self, average: str = "text") -> pd.DataFrame:
        """DataFrame, one row per layer, without columns that the model's family does not offer.

        "mixing …": mixing ratios by method (norms.METHODS); "cone input", "cone output": cone index ÷ n of the layer's
        input and output; "length …": mean ‖f(x)‖ by kind of token, NaN for kinds that do not occur (tokens weigh the
        same, whatever `average`); "frequency": `frequency_correlation`.
        """
        columns: dict[str, Any] = {"layer": np.arange(self.shape[0])}
        if self._has("mixing.text"):
            mixing = self._mean("mixing", average)
            columns |= {f"mixing {method}": mixing[m] for m, method in enumerate(METHODS)}
        if self._has("cone.text"):
            cone = self._mean("cone", average)
            columns |= {"cone input": cone[:-1], "cone output": cone[1:]}
        if self._has("lengths.token"):
            means = self.lengths().mean(1)
            columns |= {f"length {kind}": means[:, k] for k, kind in enumerate(CATEGORIES)}
        if self.pieces:
            columns["frequency"] = self.frequency_correlation()
        return pd.DataFrame(columns)

    def lengths(self) -> np.ndarray:
        """(L, H, 4) mean ‖f(x)‖ of each kind of token (CATEGORIES); NaN where a kind does not occur.

        Raises InputError where the model's family offers no norms.
        """
        self._check_by("norm")
        with np.errstate(invalid="ignore"):
            return self._total("lengths.token") / self._total("lengths.token_count")

    def frequency_correlation(self) -> np.ndarray:
        """(L,) Spearman's ρ of a piece's frequency rank in this corpus (1 = most frequent) and its mean ‖f(x)‖.

        One point per different piece. Above 0: frequent pieces send less. After Kobayashi et al. 2020, section 4, who
        have a point per occurrence: that is survey.frequency_correlation. NaN under 3 different pieces.
        Raises InputError where the model's family offers no norms, and for texts of one length (`of_length`).
        """
        self._check_by("norm")
        if not self.pieces:
            raise InputError("‖f(x)‖ by piece is kept over all texts: take the statistics before of_length")
        sums, counts = (self.pieces[name] for name in PIECES)
        occurs = counts > 0
        means = sums[occurs] / counts[occurs, None]  # (V', L)
        return np.array([spearman(-counts[occurs], layer) for layer in means.T])

    @property
    def _tallies(self) -> list[BinSums]:
        """In the order of length: sums come out the same whatever was counted first."""
        return [self.bins[place] for place in sorted(self.bins)]

    def _has(self, name: str) -> bool:
        return any(name in tally.sums for tally in self._tallies)

    def _total(self, name: str) -> np.ndarray:
        """A sum over all bins of lengths."""
        totals = (tally.sums[name] for tally in self._tallies if name in tally.sums)
        return np.asarray(reduce(add, totals))

    def _mean(self, name: str, average: str) -> np.ndarray:
        if average not in ("text", "token"):
            raise SelectionError(f"average is 'text' or 'token', not {excerpt(average)}")
        total, count = self._total(f"{name}.{average}"), self._total(f"{name}.{average}_count")
        with np.errstate(invalid="ignore"):
            return total / count.reshape(*count.shape, *[1] * (total.ndim - count.ndim))

    def _index(self, name: str, by: str) -> int:
        self._check_by(by)
        check_name(name, SURVEY_NAMES, "statistic")
        return SURVEY_NAMES.index(name)

    def _check_by(self, by: str) -> None:
        if by not in BY:
            raise SelectionError(f"by is 'weight' or 'norm', not {excerpt(by)}")
        if self.shape and by == "norm" and not self.has_norms:
            raise InputError(
                "these statistics hold no norms: the model's family has no adapter, or only maps were given"
            )

    def __repr__(self) -> str:
        model = self.provenance.get("model")
        by = "weight and norm" if self.has_norms else "weight"
        return f"HeadStats({model}, {amount(self.n_texts, 'text')}, {amount(self.n_tokens, 'token')}, by {by})"
