"""Of which arguments a page without a kernel holds the answers to a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, TypeAlias

from ..base.limits import within
from ..base.vocabulary import MEASURES
from ..measures import gates
from ..measures.offers import offers
from ..trace.trace import Trace
from .answers import gate_answers, head_answers
from .messages.records import Selection

Saved: TypeAlias = Callable[[Trace, Iterable[int]], Iterator[dict[str, Any]]]


def of_short(saved: Saved) -> Saved:
    """Nothing of a long text: what takes work for all layers, or more than S² numbers for one."""

    def of(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
        if within("saved", trace.n_tokens, len(trace.key_tokens)):
            yield from saved(trace, layers)

    return of


def once(_subject: Any, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield {}


def each_layer(_subject: Any, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield from ({"layer": layer} for layer in layers)


def each_head(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield from ({"layer": layer, "head": head} for layer, head in product(layers, range(trace.n_heads)))


def if_changed(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    if trace.changes:
        yield {}


def measures(_trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield from ({"measure": name} for name in MEASURES if name != "weight")


def layer_maps(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    if within("carried", trace.n_tokens):
        kinds = [word.name for word in head_answers.layer_maps(trace) if word.carried]
        yield from ({"layer": layer, "kind": kind} for layer, kind in product(layers, kinds))


def shown_map(trace: Trace, selection: Selection) -> Iterator[dict[str, Any]]:
    names = [word.name for word in head_answers.layer_maps(trace)]
    if selection.heads and selection.layer_map in names and within("saved", trace.n_tokens, len(trace.key_tokens)):
        yield {"layer": selection.heads[0][0], "kind": selection.layer_map}


def each_by(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield {"by": "weight"}
    if not offers(trace)["norms"]:
        yield {"by": "norm"}


def stations(_trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    for station in sorted({place for layer in layers for place in ((0, 1) if layer == 0 else (layer + 1,))}):
        yield {"station": station}


def default_gates(_trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield {"threshold": gates.THRESHOLD, "margin": gates.MARGIN}


def clearest(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    if within("carried", trace.n_tokens):
        for layer, head, view in product(layers, range(trace.n_heads), gates.VIEWS):
            gate = gate_answers.clearest_gate(trace, layer, head, view)
            yield {"layer": layer, "head": head, "gate": gate, "view": view}
