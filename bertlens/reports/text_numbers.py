"""One pass over the texts: what every card of a report is computed from, text by text, so that all have intervals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ..base.batch_work import partial_work
from ..base.progress import bar
from ..base.shards import WHOLE, Shard
from ..lens import Lens
from ..measures.statistics import SURVEY_NAMES
from ..model.borrowed import checked_once
from ..survey.corpus import Numbered, digest, traces_of, windows
from ..survey.text_statistics import CATEGORIES, Lengths, TextStatistics, text_statistics
from ..trace.trace import Trace

BATCH = 8


@dataclass
class TextNumbers:
    """What was measured of N texts. L layers, H heads, K statistics (SURVEY_NAMES); NaN where a text has none.

    Of each text: values "weight", "norm" -> (K, L, H); mixing (M, L), methods as in norms.METHODS; cone (L + 1,), ÷ n;
    gates (L, H) indices into LABELS; lengths (L, H, kinds) mean ‖f(x)‖; largest (L + 1,) |activation| ÷ the layer's
    median one, its size and its dimension; tokens, and tokens of each kind (CATEGORIES). Lists are empty where the
    model's family offers no norms.
    """

    values: dict[str, list[np.ndarray]] = field(default_factory=lambda: {"weight": [], "norm": []})
    mixing: list[np.ndarray] = field(default_factory=list)
    cone: list[np.ndarray] = field(default_factory=list)
    gates: list[np.ndarray] = field(default_factory=list)
    lengths: list[np.ndarray] = field(default_factory=list)
    largest: list[np.ndarray] = field(default_factory=list)
    size: list[np.ndarray] = field(default_factory=list)
    dimension: list[np.ndarray] = field(default_factory=list)
    kinds: list[np.ndarray] = field(default_factory=list)
    ids: list[np.ndarray] = field(default_factory=list)  # (S,) token ids, and their ‖f(x)‖ over all heads and layers
    token_lengths: list[np.ndarray] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # in the corpus
    unknown: list[int] = field(default_factory=list)
    truncated: int = 0
    hash: int = 0

    @property
    def norms(self) -> list[np.ndarray]:
        return self.values["norm"]

    @property
    def n(self) -> int:
        return len(self.gates)

    @property
    def tokens(self) -> int:
        return int(sum(kinds.sum() for kinds in self.kinds))

    @property
    def shape(self) -> tuple[int, int]:
        layers, heads = self.gates[0].shape
        return layers, heads

    def of(self, name: str, by: str = "weight") -> np.ndarray:
        """(N, L, H) one statistic."""
        k = SURVEY_NAMES.index(name)
        return np.stack([values[k] for values in self.values[by]]).astype(float)

    def even(self, name: str) -> float:
        """What rows that are even over all tokens give the first token, separators or a neighbour, mean over texts; NaN
        of another statistic: the part of a share that the texts' length gives."""
        kinds = np.stack(self.kinds)
        n = kinds.sum(1)
        pairs = (n - 1) / n
        shares = {"first": 1, "separator": kinds[:, CATEGORIES.index("separator")], "previous": pairs, "next": pairs}
        return float(np.mean(shares[name] / n)) if name in shares else np.nan

    def __add__(self, other: TextNumbers) -> TextNumbers:
        """Of the texts of both."""
        sums = {entry.name: getattr(self, entry.name) + getattr(other, entry.name) for entry in fields(self)
                if entry.name not in ("values", "hash")}  # fmt: skip
        values = {by: [*self.values[by], *other.values[by]] for by in self.values}
        return TextNumbers(**sums, values=values, hash=(self.hash + other.hash) % (1 << 64))

    def in_order(self) -> TextNumbers:
        """The texts by their places in the corpus."""
        order = np.argsort(self.places)

        def sorted_(values: list[Any]) -> list[Any]:
            return [values[at] for at in order] if values else values

        lists: dict[str, Any] = {entry.name: sorted_(getattr(self, entry.name)) for entry in fields(self)
                 if isinstance(getattr(self, entry.name), list)}  # fmt: skip
        return replace(self, **lists, values={by: sorted_(values) for by, values in self.values.items()})

    def add(self, trace: Trace, statistics: TextStatistics, entry: Numbered) -> None:
        """Count one text in."""
        counts = statistics.denominators.numpy()[:, None, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            for by, numerators in statistics.numerators.items():
                self.values[by].append(np.where(counts > 0, numerators.numpy() / counts, np.nan).astype(np.float32))
            kinds = (statistics.categories.numpy()[:, None] == np.arange(len(CATEGORIES))).astype(float)
            if statistics.lengths is not None:
                lengths = statistics.lengths.numpy()
                self.lengths.append((lengths @ kinds) / kinds.sum(0))
                self.token_lengths.append(lengths.mean((0, 1)).astype(np.float32))
        if statistics.mixing is not None:
            self.mixing.append(statistics.mixing.numpy())
        if statistics.cone is not None:
            self.cone.append(statistics.cone.numpy())
        sizes = [state.abs().float().cpu() for state in trace.hidden_states]
        self.largest.append(np.array([float(size.max() / size.median().clamp_min(1e-30)) for size in sizes]))
        self.size.append(np.array([float(size.max()) for size in sizes]))
        self.dimension.append(np.array([int(size.argmax()) % size.shape[-1] for size in sizes]))
        self.gates.append(statistics.gates.numpy().astype(np.int8))
        self.kinds.append(kinds.sum(0))
        self.ids.append(trace.input_ids.cpu().numpy())
        self.places.append(entry.number)
        self.unknown.append(len(trace.report.unknown))
        self.truncated += bool(trace.report.truncated)
        self.hash = (self.hash + digest(entry.item)) % (1 << 64)


def batches_of(texts: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """In which the texts of a report are run."""
    return itertools.chain.from_iterable(windows(texts, BATCH))


def gather(
    lens: Lens,
    texts: list[Numbered],
    *,
    numbers: TextNumbers | None = None,
    autosave: Callable[[], None] | None = None,
    progress: bool = True,
    shard: Shard = WHOLE,
) -> TextNumbers:
    """Run the texts; an interrupt ends the pass with a warning, and those done count.

    shard: whose batches are run. numbers: what is done already, of the same texts; autosave is called after each batch.
    Texts that are too long for the model are cut. Raises InputError where attention holds NaN.
    """
    numbers, lengths = numbers or TextNumbers(), Lengths()
    places, model = {*numbers.places}, lens.borrowed.fingerprint()
    interrupt = partial_work(lambda: f"the report is of the {numbers.n} texts that were done" if numbers.n else "")
    with interrupt, bar(len(texts), "text", "texts", progress) as progress_bar:
        progress_bar.update(len(places))
        for batch in shard.batches(batches_of(texts)):
            if places.issuperset(entry.number for entry in batch):
                continue
            for trace, entry in zip(traces_of(lens, batch, True, model), batch, strict=True):
                if entry.number not in places:
                    with checked_once():
                        numbers.add(trace, text_statistics(trace, lengths), entry)
                    progress_bar.update()
            if autosave is not None:
                autosave()
    return numbers
