"""Which heads matter most to the number that stands first in the answer: ordered by one backward pass, the best run."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ..base.generators import run_to_end
from ..base.limits import ALONE_WORK, within
from ..base.vocabulary import phrases
from ..base.vocabulary.constants import ANSWERS, SURE
from ..errors import ModelError
from ..measures.metrics import Metric, Read, similarity
from ..measures.predictions import is_lone
from ..measures.rows import Here
from ..run.changes import Change, Off, base
from ..trace.trace import Trace
from .before_after import answer_kind, answers, span_chances
from .reruns import check
from .sweeps import Index, batches, work
from .swept_numbers import SweptNumber, by_metric, swept_numbers
from .targets import Target, name_of, numbers_at, target_of

RUN = 8  # heads that are run, the first by the estimate
SHOWN = 8
FINEST = 1e-12  # of a probability from 1
HeadChange: TypeAlias = tuple[int, int, float]
Asked: TypeAlias = tuple[str | None, int | None]  # a target and where, as of `targets.target_of`
FIRST_ANSWER: Asked = (None, None)


@dataclass(frozen=True)
class FirstNumber:
    """The number of an answer's first bar in this run. name: the word, label or tag, "" of a lone number; position: -1
    of the whole text; unit: as drawn, "1 − cosine" of an embedding; swept: what heads do to it."""

    kind: str
    name: str
    position: int
    unit: str
    before: float
    swept: SweptNumber


@dataclass(frozen=True)
class StrongestHeads:
    """heads: (layer, head, change of the number without it), exact, the largest change first, of a probability above
    .97 that of its log-odds. rows: of each head the token whose row there moves the number most, to first order; -1
    where there is no slope. tried: heads that were run. changes: (L, H) float64, exact where the head was run,
    elsewhere to first order; NaN where there is no slope."""

    number: FirstNumber
    heads: tuple[HeadChange, ...]
    rows: tuple[int, ...]
    tried: int
    changes: Tensor


def first_number(trace: Trace, about: Asked = FIRST_ANSWER) -> FirstNumber:
    """Of the model's first answer in the original run, or of a target.

    Raises ModelError where the model gives no answer, or no run can be changed, InputError for a target it has not.
    """
    check(trace, ())
    kind = answer_kind(trace)
    name, position = about
    if name is not None:
        return _of_target(trace, kind, target_of(trace, name, position))
    record = answers(trace, ANSWERS)
    if not record.rows:
        raise ModelError("the model has no answer to this text: none of its tokens is one to answer at")
    first, origin = record.rows[0], trace.original.record.output
    if kind in ("words", "labels", "tags"):
        _, [numbers] = numbers_at(kind, trace, first.position, origin)
        number = int(numbers.argmax())
        return _of_target(trace, kind, Target(name_of(trace, kind, number, first.position), number, first.position))
    if kind == "similarity":
        return FirstNumber(kind, first.name, -1, record.unit, first.after, swept_numbers(trace)["similarity"])
    if kind == "span":
        best = int(span_chances(trace, origin).argmax())
        swept = by_metric(trace, lambda output: span_chances(trace, output)[best], first.name, record.unit)
        return FirstNumber(kind, first.name, first.position, record.unit, first.after, swept)
    turn = Metric(phrases.EMBEDDING_TURNED, "1 − cosine", _turned, flat=True)
    swept = by_metric(trace, turn, turn.name, turn.unit)
    return FirstNumber(kind, turn.name, -1, turn.unit, 1 - first.after, swept)


def _of_target(trace: Trace, kind: str, target: Target) -> FirstNumber:
    def drawn(output: Any) -> Tensor:
        return numbers_at(kind, trace, target.position, output)[1][0][target.number]

    name = "" if kind == "labels" and is_lone(trace) else target.name
    output = trace.record.output
    unit, _ = numbers_at(kind, trace, target.position, output)
    return FirstNumber(kind, name, target.position, unit, float(drawn(output)), by_metric(trace, drawn, name, unit))


def _turned(trace: Trace) -> Read:
    alike = similarity().bind(trace)
    return lambda output: 1 - alike(output)


def limit(trace: Trace, number: FirstNumber) -> str:
    """Why this is not tried unasked, in a sentence; "" where it is: the text's length, or a run for each head."""
    if not within("effects", trace.n_tokens):
        return phrases.HEADS_LONG.format(tokens=trace.n_tokens)
    heads = trace.n_layers * trace.n_heads
    if number.swept.slopes is None and work(trace, heads / 2) > ALONE_WORK:
        return phrases.HEADS_MANY.format(heads=heads)
    return ""


def runs(trace: Trace, number: FirstNumber) -> int:
    """How many runs of the whole model `ranking` takes, about: of a head those of its layer and later ones, half of
    them; a backward pass with its forward pass is three."""
    return trace.n_layers * trace.n_heads // 2 if number.swept.slopes is None else 3 + RUN // 2


def strongest_heads(trace: Trace, about: Asked = FIRST_ANSWER) -> StrongestHeads:
    """The eight heads that move the first number of the answer most by `sweeps.estimate`, each run without it.

    What a head changes is told from the run shown, or from that without what covers the change; heads that a change of
    the run names are the first to be run. Where the number has no slope (an embedding compared with itself) every head
    is run. Raises like `first_number` and `sweeps.estimate`.
    """
    return run_to_end(ranking(lambda: trace, about))


def estimated_effects(trace: Trace, about: Asked = FIRST_ANSWER) -> Tensor | None:
    """(L, H, S), of two texts one more as of `SweptNumber`: what each head's output at a token adds to the first number
    of the answer, to first order (see `sweeps.slopes`), by one backward pass, made once of a run; None where the number
    has no slope. Raises like `first_number`."""
    slopes = first_number(trace, about).swept.slopes
    return None if slopes is None else trace.kept(("slopes", about), slopes)


def ranking(here: Here, about: Asked) -> Generator[float, None, StrongestHeads]:
    """`strongest_heads` in steps, each yields the share of the work that is done; made once of a run."""
    memo = here().kept("strongest heads", dict[Asked, tuple[tuple[HeadChange, ...], tuple[int, ...], int, Tensor]])
    if about not in memo:
        slopes, picked, share = estimated_effects(here(), about), _heads(here()), 0.0
        if slopes is not None:
            picked, share = _largest(here(), slopes), 0.3
            yield share
        effects: list[HeadChange] = []
        for heads in _steps(here(), picked):  # whole each: what is begun would keep its trace
            for batch in first_number(here(), about).swept.exact(heads):
                effects += [(layer, head, effect) for (layer, head), effect in batch]
            yield share + (1 - share) * len(effects) / len(picked)
        number = first_number(here(), about)
        strongest = sorted(effects, key=lambda effect: -_size(number, effect[2]))[:SHOWN]
        rows = [-1 if slopes is None else strongest_row(here(), slopes[layer, head]) for layer, head, _ in strongest]
        shape = here().n_layers, here().n_heads
        changes = (
            torch.full(shape, torch.nan, dtype=torch.float64, device="cpu")
            if slopes is None
            else slopes.sum(2).double().cpu()
        )
        for layer, head, effect in effects:
            changes[layer, head] = effect
        memo[about] = tuple(strongest), tuple(rows), len(picked), changes
    return StrongestHeads(first_number(here(), about), *memo[about])


def _heads(trace: Trace) -> list[Index]:
    return [*product(range(trace.n_layers), range(trace.n_heads))]


def _steps(trace: Trace, heads: list[Index]) -> list[Sequence[Index]]:
    """Heads that are run at once: those that the changes cover are each compared with a run of its own."""
    compared: dict[tuple[Change, ...], list[Index]] = {}
    for index in heads:
        compared.setdefault(base(trace.changes, Off(*index)), []).append(index)
    return [batch for group in compared.values() for batch in batches(trace, group)]


def _largest(trace: Trace, slopes: Tensor) -> list[Index]:
    """The eight heads to run, layer by layer."""
    sizes = slopes.sum(2).abs().nan_to_num(-1)
    for change in trace.changes:
        layer, head = getattr(change, "layer", None), getattr(change, "head", None)
        if layer is not None and head is not None:
            sizes[layer, head] = torch.inf
    order = sizes.flatten().argsort(descending=True, stable=True)[:RUN].tolist()
    return [_heads(trace)[n] for n in sorted(order)]


def strongest_row(trace: Trace, slopes: Tensor) -> int:
    """The token whose slope is largest, of a head's (as of `estimated_effects`); -1 where that is none of the trace."""
    row = -1 if bool(slopes.isnan().any()) else int(slopes.abs().argmax())
    return row if row < trace.n_tokens else -1


def _size(number: FirstNumber, change: float) -> float:
    if number.unit != "probability" or number.before <= SURE:
        return abs(change)
    return abs(_log_odds(number.before + change) - _log_odds(number.before))


def _log_odds(p: float) -> float:
    inside = max(FINEST, min(1 - FINEST, p))
    return math.log(inside / (1 - inside))
