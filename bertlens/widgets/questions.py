"""The questions that a page may ask about a trace: an explicit table, every field checked, nothing else reachable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import product
from typing import Any, TypeAlias

from ..errors import SelectionError
from ..measures import gates, norms
from ..trace import Trace
from ..wire import pack
from . import answers
from .picture import head_slice

Message: TypeAlias = dict[str, Any]
Answer: TypeAlias = tuple[dict[str, Any], list[bytes]]  # JSON fields, buffers


def packed(arrays: dict[str, Any], fields: dict[str, Any] | None = None) -> Answer:
    """An answer with arrays in one buffer."""
    index, blob = pack(arrays)
    return {**(fields or {}), "arrays": index}, [blob]


def _head(trace: Trace, message: Message) -> Answer:
    fields, arrays = head_slice(trace, _layer(trace, message), _head_of(trace, message))
    return packed(arrays, fields)


def _norms(trace: Trace, message: Message) -> Answer:
    return packed({"norms": answers.layer_norms(trace, _layer(trace, message))})


def _thumbs(trace: Trace, message: Message) -> Answer:
    thumbs, largest = answers.thumbnails(trace, choice(message, "measure", answers.MEASURES[1:]))
    return packed({"thumbs": thumbs, "thumb_max": largest})


def _layer_map(trace: Trace, message: Message) -> Answer:
    kind = choice(message, "kind", answers.LAYER_MAPS)
    return packed({"values": answers.LAYER_MAPS[kind](trace, _layer(trace, message)).float().contiguous()})


def _gates(trace: Trace, message: Message) -> Answer:
    fields, arrays = answers.gate_labels(trace, _share(message, "threshold"), _share(message, "margin"))
    return packed(arrays, fields)


def _evidence(trace: Trace, message: Message) -> Answer:
    gate, view = choice(message, "gate", gates.GATES), choice(message, "view", ("full", "content"))
    fields, arrays = answers.gate_evidence(trace, _layer(trace, message), _head_of(trace, message), gate, view)
    return packed(arrays, fields)


def _norm_view(trace: Trace, _message: Message) -> Answer:
    fields, arrays = answers.norm_view(trace)
    return packed(arrays, fields)


def _geometry(trace: Trace, _message: Message) -> Answer:
    return answers.layer_rows(trace), []


def _histograms(trace: Trace, message: Message) -> Answer:
    return answers.histograms(trace, _layer(trace, message), _head_of(trace, message)), []


def _spectra(trace: Trace, message: Message) -> Answer:
    fields, arrays = answers.layer_ranks(trace, _layer(trace, message))
    return packed(arrays, fields)


QUESTIONS: dict[str, Callable[[Trace, Message], Answer]] = {
    "head": _head,
    "norms": _norms,
    "thumbs": _thumbs,
    "layer_map": _layer_map,
    "gates": _gates,
    "evidence": _evidence,
    "norm_view": _norm_view,
    "geometry": _geometry,
    "histograms": _histograms,
    "spectra": _spectra,
}


def carried(trace: Trace, layers: Iterable[int], panels: Collection[str]) -> Iterator[Message]:
    """The questions beside heads that a page without a kernel is asked about some layers, as its panels ask them."""
    if answers.has_gates(trace) and not {"atlas", "gates"}.isdisjoint(panels):
        yield {"op": "gates", "threshold": gates.THRESHOLD, "margin": gates.MARGIN}
    with_norms = norms.available(trace)
    if with_norms and "norms" in panels:
        yield {"op": "norm_view"}
    if with_norms and "geometry" in panels:
        yield {"op": "geometry"}
    if with_norms and "atlas" in panels:
        yield from ({"op": "thumbs", "measure": measure} for measure in answers.MEASURES[1:])
    for layer in layers:
        if "gates" in panels and answers.page_evidence(trace):
            for head, view in product(range(trace.n_heads), ("full", "content")):
                gate = answers.clearest_gate(trace, layer, head, view)
                yield {"op": "evidence", "layer": layer, "head": head, "gate": gate, "view": view}
        if not with_norms:
            continue
        if "geometry" in panels:
            if trace.nan_layer is None:
                yield {"op": "spectra", "layer": layer}
            yield from ({"op": "histograms", "layer": layer, "head": head} for head in range(trace.n_heads))
        yield {"op": "norms", "layer": layer}
        if "head" in panels:
            yield from ({"op": "layer_map", "layer": layer, "kind": kind} for kind in answers.page_layer_maps(trace))


def _layer(trace: Trace, message: Message) -> int:
    return _index(message, "layer", trace.n_layers)


def _head_of(trace: Trace, message: Message) -> int:
    return _index(message, "head", trace.n_heads)


def _index(message: Message, name: str, limit: int) -> int:
    value = message.get(name)
    if type(value) is not int or not 0 <= value < limit:
        raise SelectionError(f"{name} {str(value)[:40]} does not exist: there are 0 to {limit - 1}")
    return value


def _share(message: Message, name: str) -> float:
    value = message.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise SelectionError(f"{name} {str(value)[:40]!r} is not between 0 and 1")
    return float(value)


def choice(message: Message, name: str, choices: Iterable[str]) -> str:
    """A name that the page sent, one of a few. Raises SelectionError for another."""
    value = message.get(name)
    if value not in tuple(choices):
        raise SelectionError(f"no {name} {str(value)[:40]!r}: there are {', '.join(choices)}")
    return str(value)
