"""The model's answer over how loud one head is, or some are together: from off over the run as it is to twice as loud,
each an exact run.

What the run does to the same heads already is left out (`changes.base`). The layers before the first of them are not
computed again, and runs share batches.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..base.limits import STEP_WORK
from ..base.vocabulary import phrases
from ..base.vocabulary.constants import ANSWERS, LOUDNESS
from ..errors import ModelError
from ..measures.predictions import UNITS, change_apart, embedder_of, embedding, states_of, texts_apart
from ..measures.rows import Here
from ..measures.vector_shares import pooled_shares
from ..run.changes import Change, Off, Scale, base
from ..trace.trace import Trace
from .before_after import NamedAnswer, alike, answer_kind, cosine, named_answers, numbers_of
from .reruns import check
from .strongest_heads import Head
from .sweeps import BaseRun, batches
from .targets import target_of


@dataclass(frozen=True)
class Loudness:
    """The answers of a text, and their numbers while a head, or a set of them, is `LOUDNESS` times as loud.

    kind, unit, rows: as of `before_after.answers` for the run without what is done to the heads: (position, name).
    numbers: (F, rows) float64. shares: of one text's encoder each token's share of its vector (F, S) float64, as of
    `vector_shares.pooled_shares`; else None, and where the vector is no sum over tokens.
    """

    kind: str
    unit: str
    rows: tuple[tuple[int, str], ...]
    numbers: Tensor
    shares: Tensor | None = None


def loudness_in_steps(
    here: Here,
    layer: int,
    head: int,
    target: str | int | None = None,
    position: int | None = None,
    partners: Sequence[Head] = (),
) -> Generator[None, None, Loudness]:
    """Yields before every batch but the first. target, position: as of `before_after.answers`. partners: heads that are
    as loud as this one.

    Raises ModelError where the model has no answer or a head's layer is off, else like `Trace.rerun` and
    `targets.target_of`.
    """
    heads = [(layer, head), *partners]
    check(here(), [Scale(*one) for one in heads])
    kind = answer_kind(here())
    lead = None if target is None else target_of(here(), target, position)
    for number, _ in heads:
        if any(change in (Off(number), Scale(number, None, 0)) for change in here().changes):
            raise ModelError(phrases.LAYER_SILENT.format(layer=number))
    earlier = here().changes
    for one in heads:
        earlier = base(earlier, Scale(*one))
    if kind == "similarity":
        vectors: list[list[Tensor]] = []
        for number in (0, 1):
            of_text = [part for change in earlier if (part := change_apart(here(), change)[number]) is not None]

            def text(number: int = number) -> Trace:
                return texts_apart(here().original)[number]

            check(text(), of_text)
            vectors.append((yield from _runs(text, heads, of_text, lambda output: _vector(here(), output))))
        alikes = [[alike(here(), a, b)] for a, b in zip(*vectors, strict=True)]
        return Loudness(kind, UNITS[embedder_of(here()).function], ((-1, phrases.TEXTS_ALIKE),), _float64(alikes))
    if kind == "embedding":
        original = _vector(here(), here().original.record.output)

        def compare(output: Any) -> tuple[float, tuple[Tensor, float] | None]:
            states = states_of(here(), output)
            return cosine(original, embedding(here(), states)), pooled_shares(here(), states)

        pairs = yield from _runs(here, heads, earlier, compare)
        cosines = [[cos] for cos, _ in pairs]
        rows = ((-1, phrases.EMBEDDING_ALIKE),)
        parts = [pooled for _, pooled in pairs if pooled]
        shares = torch.stack([values for values, _ in parts]) if parts else None
        return Loudness(kind, "cosine", rows, _float64(cosines), shares)
    unit, named = "", list[NamedAnswer]()

    def of_answers(output: Any) -> list[float]:
        nonlocal unit
        unit, [numbers] = numbers_of(kind, here(), output)
        if not named:  # the run as it is comes first: of a whole vocabulary only these are kept
            _, [before] = numbers_of(kind, here(), here().original.record.output)
            named.extend(named_answers(kind, here(), before, numbers, ANSWERS, lead))
        return [answer.number_in(numbers) for answer in named]

    table = yield from _runs(here, heads, earlier, of_answers)
    names = tuple((answer.position, answer.name) for answer in named)
    return Loudness(kind, unit, names, _float64(table).reshape(len(LOUDNESS), len(names)))


def _float64(table: list[list[float]]) -> Tensor:
    return torch.tensor(table, dtype=torch.float64, device="cpu")


def _vector(trace: Trace, output: Any) -> Tensor:
    return embedding(trace, states_of(trace, output)).detach()


def _runs(
    here: Here, heads: Sequence[Head], earlier: Sequence[Change], read: Callable[[Any], Any]
) -> Generator[None, None, list[Any]]:
    """What is read of each run's output, in the order of LOUDNESS; of 1, read first, that without the change."""
    baseline = BaseRun.of(here(), tuple(earlier))
    plain = read(baseline.output)
    readings: list[Any] = []
    sets = [[Scale(*one, factor) for one in heads] for factor in LOUDNESS if factor != 1]
    for batch in batches(here(), sets, STEP_WORK):
        if readings:
            yield
        readings += [read(output) for output in baseline.outputs(here(), batch)]
    readings.insert(LOUDNESS.index(1), plain)
    return readings
