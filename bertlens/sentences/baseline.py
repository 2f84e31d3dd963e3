"""How similar unrelated texts are to a model: without it, the number of two texts says little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..errors import InputError
from ..model.fingerprint import Fingerprint
from .encoders import SentenceLens
from .similarity_matrix import check_texts
from .unrelated import TEXTS

FEWEST = 8  # texts
QUANTILES = (0.05, 0.5, 0.95)
Tasks = tuple[str | None, str | None]


@dataclass(frozen=True)
class Baseline:
    """The similarities of all pairs of n unrelated texts, by the model's own function, beside one number."""

    value: float
    n: int  # texts
    pairs: int
    low: float  # 5 % of the pairs are below
    median: float
    high: float  # 95 % of the pairs are below
    above: float  # the share of the pairs that are as similar as `value` or more, 0 to 1

    def __str__(self) -> str:
        return (
            f"{self.value:.3f}; of {self.pairs:,} pairs of {self.n} unrelated texts 5 % are below {self.low:.3f}, half "
            f"below {self.median:.3f}, 95 % below {self.high:.3f}, and {self.above:.1%} are as similar or more"
        )


_similarities: WeakKeyDictionary[SentenceLens, dict[tuple[Tasks, tuple[str, ...]], tuple[Fingerprint, Tensor]]] = (
    WeakKeyDictionary()
)


def baseline(
    lens: SentenceLens, value: float, tasks: Tasks, texts: Iterable[str] | None = None, column: str | None = None
) -> Baseline:
    """Beside the pairs of `texts`, each encoded for either task; None: sentences that come with the package.

    A text is compared with the others only. Computed once for a lens and kept.
    Raises InputError for fewer than FEWEST different texts.
    """
    pool = TEXTS if texts is None else tuple(dict.fromkeys(check_texts(texts, column=column)))
    if len(pool) < FEWEST:
        raise InputError(f"a baseline is of at least {FEWEST} different texts, not {len(pool)}")
    cache, fingerprint = _similarities.setdefault(lens, {}), lens.borrowed.fingerprint()
    stamp, numbers = cache.get((tasks, pool), (None, None))
    if numbers is None or stamp != fingerprint:
        numbers = _numbers(lens, pool, tasks)
        cache[tasks, pool] = fingerprint, numbers
    levels = torch.tensor(QUANTILES, dtype=torch.float64, device="cpu")
    low, median, high = torch.quantile(numbers, levels).tolist()
    above = float((numbers >= value).double().mean())
    return Baseline(value, len(pool), len(numbers), low, median, high, above)


def is_known(lens: SentenceLens, tasks: Tasks) -> bool:
    """Whether the pairs of the package's own sentences were compared with the model as it is."""
    stamp, _ = _similarities.get(lens, {}).get((tasks, TEXTS), (None, None))
    return stamp is not None and stamp == lens.borrowed.fingerprint()


def _numbers(lens: SentenceLens, texts: Sequence[str], tasks: Tasks) -> Tensor:
    """(pairs,) float64 of each text with each other; in both orders where the two are encoded for different tasks."""
    a = lens.encode(texts, tasks[0])
    b = a if tasks[0] == tasks[1] else lens.encode(texts, tasks[1])
    scores = lens.sentences.similarity(a, b).double().cpu()
    places = torch.ones_like(scores, dtype=torch.bool)
    return scores[
        places.triu(1) if tasks[0] == tasks[1] else places & ~torch.eye(len(scores), dtype=torch.bool, device="cpu")
    ]
