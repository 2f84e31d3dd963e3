"""Which heads matter most to the number that stands first in the answer: each off in a run, by one backward pass in
which order."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..base.generators import run_to_end
from ..base.limits import HEADS_WORK, STEP_WORK, within
from ..base.vocabulary import phrases
from ..base.vocabulary.constants import ANSWERS, SURE
from ..errors import ModelError
from ..measures.metrics import Metric, Read, similarity
from ..measures.predictions import is_lone
from ..measures.rows import Here
from ..model.borrowed import checked_once
from ..run.changes import Off, base
from ..trace.trace import Trace
from .before_after import answer_kind, answers, span_chances
from .head_study import by_estimate, head_sites
from .reruns import check
from .sweeps import batches, work
from .swept_numbers import SweptNumber, by_metric, swept_numbers
from .targets import Target, name_of, numbers_at, target_of

RUN = 8  # heads that are run at first, the largest by the estimate
SHOWN = 8
ALIKE = 1e-6  # sizes that are no further apart are the same
FINEST = 1e-12  # of a probability from 1
HeadChange: TypeAlias = tuple[int, int, float]
Head: TypeAlias = tuple[int, int]
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
    """heads: (layer, head, change of the number without it), exact, the largest first as of `size_of`.
    rows: of each head the token whose row there moves the number most, to first order; -1
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
    record = trace.kept("first answers", lambda: answers(trace, ANSWERS))
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
    swept = by_metric(trace, turn, turn.name, turn.unit, 0)
    return FirstNumber(kind, turn.name, -1, turn.unit, 1 - first.after, swept)


def _of_target(trace: Trace, kind: str, target: Target) -> FirstNumber:
    def drawn(output: Any) -> Tensor:
        return numbers_at(kind, trace, target.position, output)[1][0][target.number]

    name = "" if kind == "labels" and is_lone(trace) else target.name
    output = trace.record.output
    unit, _ = numbers_at(kind, trace, target.position, output)
    return FirstNumber(
        kind,
        name,
        target.position,
        unit,
        float(drawn(output)),
        by_metric(trace, drawn, name, unit, max(0, target.position)),
    )


def _turned(trace: Trace) -> Read:
    alike = similarity().bind(trace)
    return lambda output: 1 - alike(output)


def limit(trace: Trace, number: FirstNumber, most_work: float = HEADS_WORK) -> str:
    """Why this is not tried unasked, in a sentence; "" where it is: the text's length, or a run for each head."""
    if not within("effects", trace.n_tokens):
        return phrases.HEADS_LONG.format(tokens=trace.n_tokens)
    if number.swept.slopes is None and work(trace, count(trace) / 2) > most_work:
        return phrases.HEADS_MANY.format(heads=count(trace))
    return ""


def limit_of_all(trace: Trace, most_work: float = HEADS_WORK) -> str:
    """Why not all heads are run unasked where some are, in a sentence; "" where they are."""
    if not within("all_heads", trace.n_tokens):
        return phrases.HEADS_LONG.format(tokens=trace.n_tokens)
    return phrases.HEADS_MANY.format(heads=count(trace)) if work(trace, count(trace) / 2) > most_work else ""


def count(trace: Trace) -> int:
    """L · H."""
    return trace.n_layers * trace.n_heads


def runs(trace: Trace, number: FirstNumber, most: int) -> int:
    """How many runs of the whole model `ranking` takes, about: of a head those of its layer and later ones, half of
    them; a backward pass with its forward pass is three."""
    return count(trace) // 2 if number.swept.slopes is None else 3 + min(most, count(trace)) // 2


def strongest_heads(trace: Trace, about: Asked = FIRST_ANSWER, most: int | None = None) -> StrongestHeads:
    """The eight heads that move the first number of the answer most, of those that are run without each.

    most: how many are run, those with the largest `sweeps.estimate` first; None: all, and so it is where the number has
    no slope (an embedding compared with itself). Of sizes that are within 1e-6 the lower layer, then the lower head, is
    first. What a head changes is told from the run shown, or from that without what covers the change; heads that a
    change of the run names are the first to be run. Raises like `first_number` and `sweeps.estimate`.
    """
    return run_to_end(ranking(lambda: trace, about, count(trace) if most is None else most))


def estimated_effects(trace: Trace, about: Asked = FIRST_ANSWER) -> Tensor | None:
    """(L, H, S), of two texts one more as of `SweptNumber`: what each head's output at a token adds to the first number
    of the answer, to first order (see `sweeps.slopes`), by one backward pass, made once of a run; None where the number
    has no slope. Raises like `first_number`."""
    slopes = first_number(trace, about).swept.slopes
    return None if slopes is None else trace.kept(("slopes", about), slopes)


def effects_of_runs(trace: Trace, about: Asked = FIRST_ANSWER) -> dict[Head, float]:
    """What the heads that were run so far change, by (layer, head)."""
    return trace.kept(("effects of runs", about), dict[Head, float])


def ranking(here: Here, about: Asked, most: int) -> Generator[float, None, StrongestHeads]:
    """`strongest_heads` in steps, each yields the share of the work that is done; each head is run once of a run."""
    slopes, effects = estimated_effects(here(), about), effects_of_runs(here(), about)
    bases: dict[Any, Any] = {}
    order: Sequence[Head] = head_sites(here()) if slopes is None else _by_estimate(here(), slopes)
    missing = [head for head in order[: len(order) if slopes is None else most] if head not in effects]
    share = 0.3 if len(missing) <= RUN else 0.0  # a backward pass takes as long as these
    if slopes is not None:
        yield share
    begin = len(effects)
    for heads in _steps(here(), missing):  # whole each: what is begun would keep its trace
        with checked_once():
            for batch in first_number(here(), about).swept.exact(heads, bases):
                effects.update(((layer, head), effect) for (layer, head), effect in batch)
        yield share + (1 - share) * min(1, (len(effects) - begin) / len(missing))
    number, trace = first_number(here(), about), here()
    run = dict(effects)  # another thread may go on
    strongest = in_order({head: size_of(number, effect) for head, effect in run.items()})
    rows = [-1 if slopes is None else strongest_row(trace, slopes[head]) for head in strongest]
    shape = trace.n_layers, trace.n_heads
    changes = (
        torch.full(shape, torch.nan, dtype=torch.float64, device="cpu")
        if slopes is None
        else slopes.sum(2).double().cpu()
    )
    for head, effect in run.items():
        changes[head] = effect
    heads_shown = tuple((layer, head, run[layer, head]) for layer, head in strongest)
    return StrongestHeads(number, heads_shown, tuple(rows), len(run), changes)


def _steps(trace: Trace, heads: list[Head]) -> list[Sequence[Head]]:
    """Heads that are run at once, those first that come first: of one layer, where their batch begins; those that the
    changes cover are each compared with a run of its own."""
    compared: dict[tuple[Any, ...], list[Head]] = {}
    for layer, head in heads:
        compared.setdefault((layer, base(trace.changes, Off(layer, head))), []).append((layer, head))
    depth = trace.n_layers
    return [
        batch
        for (layer, _), group in compared.items()
        for batch in batches(trace, group, STEP_WORK * depth / (depth - layer))
    ]


def _by_estimate(trace: Trace, slopes: Tensor) -> Sequence[Head]:
    """All heads, those that a change of the run names first, then the largest estimate."""
    sizes = slopes.sum(2).cpu().double().numpy(force=True)
    for change in trace.changes:
        layer, head = getattr(change, "layer", None), getattr(change, "head", None)
        if layer is not None and head is not None:
            sizes[layer, head] = np.inf
    heads = head_sites(trace)
    return [heads[n] for n in by_estimate(sizes.ravel())]


def strongest_row(trace: Trace, slopes: Tensor) -> int:
    """The token whose slope is largest, of a head's (as of `estimated_effects`); -1 where that is none of the trace."""
    row = -1 if bool(slopes.isnan().any()) else int(slopes.abs().argmax())
    return row if row < trace.n_tokens else -1


def size_of(number: FirstNumber, change: float) -> float:
    """How large a change of the number is: of a probability above .97 that of its log-odds. NaN is no size."""
    if math.isnan(change):
        return -math.inf
    if number.unit != "probability" or number.before <= SURE:
        return abs(change)
    return abs(_log_odds(number.before + change) - _log_odds(number.before))


def in_order(sizes: Mapping[Head, float]) -> list[Head]:
    """The largest first; of those within ALIKE of the largest that is left, the first in its place."""
    remainder, order = sorted(sizes), list[Head]()
    while remainder and len(order) < SHOWN:
        peak = max(sizes[index] for index in remainder)
        order.append(next(index for index in remainder if sizes[index] >= peak - ALIKE))
        remainder.remove(order[-1])
    return order


def _log_odds(p: float) -> float:
    inside = max(FINEST, min(1 - FINEST, p))
    return math.log(inside / (1 - inside))
