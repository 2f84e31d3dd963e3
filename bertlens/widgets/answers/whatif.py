"""What the page is told of changes: the answer before and after, which heads look elsewhere, which matter."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from typing_extensions import NotRequired, TypedDict

from ...base.vocabulary import SETTINGS
from ...base.vocabulary.constants import ANSWERS, CHOICES
from ...base.wire import Float32
from ...errors import BertLensError
from ...measures.answer_words import namer
from ...measures.largest import largest
from ...measures.predictions import is_lone, labels_of, masked
from ...measures.rows import Here, head_groups
from ...trace.trace import Trace
from ...whatif import before_after as asking
from ...whatif import heads_moved
from ...whatif.swept_numbers import swept_number, swept_numbers
from ...whatif.targets import named_by, numbers_at, target_of
from ..messages.records import Nothing, Selection
from ..messages.turns import PATIENCE, ask_again, in_steps

MOST_LABELS = 1000


def asked_target(target: str, target_at: int) -> tuple[str | None, int | None]:
    """A target as a page has it ("": the model's first answer; -1: no place chosen) as Python has it."""
    return target or None, None if target_at < 0 or not target else target_at


class TargetName(TypedDict):
    name: str


class Choices(TypedDict):
    choices: list[str]  # names that may be asked about, of words the likeliest
    places: list[int]  # where, if there are several
    tags: NotRequired[list[str]]  # of tags: the own label of the token at each place


class ModelAnswer(Choices):
    kind: str
    unit: str
    said: str  # beside the number
    rows: list[tuple[int, str, float, float]]  # position, name, before, after; that of the target first
    metrics: list[tuple[str, str, str]]  # that heads can be swept for: name, label, unit
    why_not: str  # a sentence, "" where the model gives an answer


class Moved(TypedDict):
    moved: Float32  # (L, H)


class OfMetric(TypedDict):
    metric: str


class OfMetricLayer(OfMetric):
    layer: int


class Swept(TypedDict):
    values: Float32  # (L, H), or (H,) of a layer


def find_target(trace: Trace, text: str) -> tuple[TargetName, Nothing]:
    """The name of the label or word that a reader typed. Raises InputError with what is near it."""
    return {"name": named_by(trace, text)}, {}


def answers(trace: Trace, target: str = "", target_at: int = -1) -> tuple[ModelAnswer, Nothing]:
    """The answer before and after, and what heads can be swept for; a reason where the model gives none.

    Raises InputError or ModelError for a target that this run has not.
    """
    name, position = asked_target(target, target_at)
    if name is not None:
        target_of(trace, name, position)
    try:
        record = asking.answers(trace, ANSWERS, name, position)
        numbers = swept_numbers(trace, name, position)
        metrics = [(key, number.label, number.unit) for key, number in numbers.items()]
    except BertLensError as error:
        nothing = ModelAnswer(kind="", unit="", said="", rows=[], metrics=[], choices=[], places=[], why_not=str(error))
        return nothing, {}
    rows = [(row.position, row.name, row.before, row.after) for row in record.rows]
    return {
        "kind": record.kind,
        "unit": record.unit,
        "said": record.said,
        "rows": rows,
        "metrics": metrics,
        "why_not": "",
        **_choices(trace, record.kind),
    }, {}


def _choices(trace: Trace, kind: str) -> Choices:
    """What may be asked about, and the masks or tokens where, if there are several."""
    if kind == "words":
        places = masked(trace)
        _, [chances] = numbers_at(kind, trace, places[0], trace.original.record.output)
        names = [*map(namer(trace, places[0]), largest(chances, min(CHOICES, len(chances)))[0].tolist())]
        return {"choices": names, "places": places if len(places) > 1 else []}
    if kind == "labels" and is_lone(trace):
        return {"choices": [], "places": []}
    if kind not in ("labels", "tags"):
        return {"choices": [], "places": []}
    labels = labels_of(trace)
    fields: Choices = {"choices": labels[:MOST_LABELS], "places": []}
    if kind == "tags":
        places = (~trace.special_mask).nonzero()[:, 0].tolist()
        tags = trace.original.record.output.logits[0].argmax(-1).tolist()
        fields |= {"places": places, "tags": [labels[tags[at]] for at in places]}
    return fields


def moved(trace: Trace, patience: float = PATIENCE) -> tuple[Nothing, Moved]:
    """How much each head looks elsewhere, nats; NaN where it cannot differ.

    Where it takes longer than `patience` (s): "again", see turns.
    """
    divergences = in_steps(trace, "moved", _moved, patience)
    return ask_again() if divergences is None else ({}, {"moved": divergences})


def _moved(here: Here) -> Generator[None, None, Tensor]:
    layers = []
    for layer in range(here().n_layers):
        groups = []
        for heads in head_groups(here(), layer):
            groups.append(heads_moved.of_heads(here(), layer, heads).float())
            yield
        layers.append(torch.cat(groups))
    return torch.stack(layers)


Sweep: TypeAlias = tuple[str, str, int]  # metric, target, where


def _swept(trace: Trace) -> dict[Sweep, dict[int, np.ndarray]]:
    """What was computed of a run, for a saved page: of each metric layer -> (H,), layer -1 the estimate (L, H)."""
    return trace.kept("swept heads", dict[Sweep, dict[int, np.ndarray]])


def matters(trace: Trace, metric: str, target: str = "", target_at: int = -1) -> tuple[OfMetric, Swept]:
    """The first-order estimate of what each head's switching off changes, all NaN where there is none."""
    number = swept_number(trace, metric, *asked_target(target, target_at))
    memo = _swept(trace).setdefault((metric, target, target_at), {})
    if -1 not in memo:
        nothing = np.full((trace.n_layers, trace.n_heads), np.nan)
        memo[-1] = nothing if number.estimated is None else number.estimated().numpy()
    return {"metric": metric}, {"values": memo[-1].astype(np.float32)}


def matters_exact(
    trace: Trace, metric: str, layer: int, target: str = "", target_at: int = -1
) -> tuple[OfMetricLayer, Swept]:
    """What switching off each head of a layer changes, each in a run of its own."""
    memo = _swept(trace).setdefault((metric, target, target_at), {})
    if layer not in memo:
        values = np.full(trace.n_heads, np.nan)
        heads = [(layer, head) for head in range(trace.n_heads)]
        for batch in swept_number(trace, metric, *asked_target(target, target_at)).exact(heads):
            for (_, head), effect in batch:
                values[head] = effect
        memo[layer] = values
    return {"metric": metric, "layer": layer}, {"values": memo[layer].astype(np.float32)}


def of_target(target: str, target_at: int) -> dict[str, Any]:
    """The arguments of a question about a target, as a page sends them: none for the model's first answer."""
    if not target:
        return {}
    return {"target": target} if target_at < 0 else {"target": target, "target_at": target_at}


def carried_target(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    """The answers with the target that the view is set to, where this run has it."""
    target, target_at = (selection.settings.get(name, SETTINGS[name]) for name in ("target", "target_at"))
    try:
        if target:
            target_of(trace, target, asked_target(target, target_at)[1])
            yield of_target(target, target_at)
    except BertLensError:
        pass


def carried(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The estimates that were computed."""
    for (metric, target, target_at), layers in _swept(trace).copy().items():
        if -1 in layers:
            yield {"metric": metric, **of_target(target, target_at)}


def carried_exact(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The layers that were swept, those of all heads: the picture is of all of them."""
    for (metric, target, target_at), layers in _swept(trace).copy().items():
        sent = {"metric": metric, **of_target(target, target_at)}
        yield from (sent | {"layer": layer} for layer in sorted(layers) if layer >= 0)
