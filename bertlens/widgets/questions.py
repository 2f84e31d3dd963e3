"""The questions that a page may ask about a trace: an explicit table, every argument checked, nothing else reachable.

A new question is one record, added here or by `register_question`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from ..base.limits import within
from ..base.wire import json_safe, pack
from ..errors import InputError, ModelError, SelectionError, check_index
from ..measures import gates, sources
from ..measures.geometry.projection import METHODS
from ..measures.offers import check_capability, offers
from ..trace.trace import Trace
from ..vocabulary import LAYER_MAPS, MEASURES
from .answers import heads, score_maps, whatif, why
from .answers.thumbnails import layer_pictures_in_turn
from .selection import Picked

Message: TypeAlias = dict[str, Any]
Reply: TypeAlias = tuple[dict[str, Any], list[bytes]]  # JSON fields, buffers


def packed(fields: dict[str, Any], arrays: dict[str, Any]) -> Reply:
    """An answer as it travels: fields as plain JSON, all arrays in one buffer."""
    if not arrays:
        return json_safe(fields), []
    index, blob = pack(arrays)
    return {**json_safe(fields), "arrays": index}, [blob]


def _layer(trace: Trace, value: Any) -> int:
    return _index(value, "layer", trace.n_layers)


def _head(trace: Trace, value: Any) -> int:
    return _index(value, "head", trace.n_heads)


def _query(trace: Trace, value: Any) -> int:
    return _index(value, "query", len(trace.tokens))


def _index(value: Any, name: str, size: int) -> int:
    check_index(value if type(value) is int else str(value)[:40], size, name)
    return int(value)


def _share(name: str) -> Callable[[Trace, Any], float]:
    def check(_trace: Trace, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise SelectionError(f"{name} {str(value)[:40]!r} is not between 0 and 1")
        return float(value)

    return check


def _choice(name: str, choices: Iterable[str]) -> Callable[[Trace, Any], str]:
    def check(_trace: Trace, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise SelectionError(f"no {name} {str(value)[:40]!r}: there are {', '.join(choices)}")
        return value

    return check


def _key(trace: Trace, value: Any) -> int:
    return _index(value, "key", len(trace.key_tokens))


def _against(trace: Trace, value: Any) -> str | int | None:
    return value if value in ("others", None) else _key(trace, value)


def _flag(name: str) -> Callable[[Trace, Any], bool]:
    def check(_trace: Trace, value: Any) -> bool:
        if not isinstance(value, bool):
            raise SelectionError(f"{name} {str(value)[:40]!r} is neither true nor false")
        return value

    return check


# argument -> what checks it: (trace, what the page sent) -> its value, or a SelectionError
ARGUMENTS: dict[str, Callable[[Trace, Any], Any]] = {
    "layer": _layer,
    "head": _head,
    "query": _query,
    "key": _key,
    "side": _choice("side", sources.SIDES),
    "against": _against,
    "through_mlps": _flag("through_mlps"),
    "measure": _choice("measure", [name for name in MEASURES if name != "weight"]),
    "kind": _choice("layer map", LAYER_MAPS),
    "threshold": _share("threshold"),
    "margin": _share("margin"),
    "gate": _choice("gate", gates.GATES),
    "view": _choice("view", gates.VIEWS),
    "by": _choice("by", ("weight", "norm")),
    "last": _query,
    "station": lambda trace, value: _index(value, "station", trace.n_layers + 1),
    "method": _choice("method", METHODS),
    "metric": lambda _trace, value: value if isinstance(value, str) else str(value)[:40],
}


def _never(_trace: Trace, _chosen: Any) -> Iterator[dict[str, Any]]:
    return iter(())


@dataclass(frozen=True)
class Question:
    """One question: its arguments, its answer, and what of it a page without a kernel carries.

    arguments: names in ARGUMENTS, with "?" those that may be missing.
    answer: (trace, **arguments) -> fields and arrays. needs: a capability of `offers`, or "". carried: (trace, layers)
    -> the arguments of each answer that such a page holds, for these layers. carried_shown: the same for what is too
    much for whole layers, (trace, what is picked).
    """

    name: str
    answer: Callable[..., heads.Answer]
    arguments: tuple[str, ...] = ()
    needs: str = ""
    carried: Callable[[Trace, Iterable[int]], Iterator[dict[str, Any]]] = _never
    carried_shown: Callable[[Trace, Picked], Iterator[dict[str, Any]]] = _never

    def check(self, trace: Trace, message: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a message. Raises SelectionError for what does not exist."""
        named = (name.removesuffix("?") for name in self.arguments if not name.endswith("?") or name[:-1] in message)
        return {name: ARGUMENTS[name](trace, message.get(name)) for name in named}

    def reply(self, trace: Trace, message: Mapping[str, Any]) -> Reply:
        """The answer to a message. Raises ModelError where the trace does not offer what is needed, with the reason."""
        if self.needs and (reason := offers(trace)[self.needs]):
            raise ModelError(reason)
        return packed(*self.answer(trace, **self.check(trace, message)))


Carried: TypeAlias = Callable[[Trace, Iterable[int]], Iterator[dict[str, Any]]]


def _of_short(carried: Carried) -> Carried:
    """Nothing of a long text: what takes work for all layers, or more than S² numbers for one."""

    def of(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
        if within("saved", trace.n_tokens, len(trace.key_tokens)):
            yield from carried(trace, layers)

    return of


def _once(_trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield {}


def _each_layer(_trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield from ({"layer": layer} for layer in layers)


def _each_head(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield from ({"layer": layer, "head": head} for layer, head in product(layers, range(trace.n_heads)))


def _if_changed(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    if trace.changes:
        yield {}


def _measures(_trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield from ({"measure": name} for name in MEASURES if name != "weight")


def _layer_maps(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    if within("carried", trace.n_tokens):
        kinds = [word.name for word in heads.layer_maps(trace) if word.carried]
        yield from ({"layer": layer, "kind": kind} for layer, kind in product(layers, kinds))


def _shown_map(trace: Trace, picked: Picked) -> Iterator[dict[str, Any]]:
    names = [word.name for word in heads.layer_maps(trace)]
    if picked.heads and picked.layer_map in names and within("saved", trace.n_tokens, len(trace.key_tokens)):
        yield {"layer": picked.heads[0][0], "kind": picked.layer_map}


def _each_by(trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield {"by": "weight"}
    if not offers(trace)["norms"]:
        yield {"by": "norm"}


def _stations(_trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    for station in sorted({place for layer in layers for place in ((0, 1) if layer == 0 else (layer + 1,))}):
        yield {"station": station, "method": "pca"}


def _default_gates(_trace: Trace, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    yield {"threshold": gates.THRESHOLD, "margin": gates.MARGIN}


def _clearest(trace: Trace, layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    if within("carried", trace.n_tokens):
        for layer, head, view in product(layers, range(trace.n_heads), gates.VIEWS):
            gate = heads.clearest_gate(trace, layer, head, view)
            yield {"layer": layer, "head": head, "gate": gate, "view": view}


QUESTIONS: dict[str, Question] = {}


def register_question(question: Question) -> None:
    """Let pages ask one more question; those of one name replace each other.

    Raises InputError for what is no question, or names an argument or a capability that does not exist.
    """
    if not isinstance(question, Question):
        raise InputError(f"a Question is registered, not {type(question).__name__}")
    name, needs = question.name, question.needs
    if not isinstance(name, str) or not name:
        raise InputError(f"a question is named by a word, not by {name!r}")
    if not all(callable(part) for part in (question.answer, question.carried, question.carried_shown)):
        raise InputError(f"question {name!r}: answer, carried and carried_shown are functions")
    if not isinstance(question.arguments, tuple) or not {str(one).removesuffix("?") for one in question.arguments} <= {
        *ARGUMENTS
    }:
        raise InputError(f"question {name!r}: arguments is a tuple of some of {', '.join(ARGUMENTS)}")
    check_capability(f"question {name!r}", needs)
    QUESTIONS[question.name] = question


for _question in (
    Question("pictures", layer_pictures_in_turn, ("layer",)),
    Question("head", heads.head, ("layer", "head"), carried=_each_head),
    Question("norms", heads.layer_norms, ("layer",), "norms", _each_layer),
    Question("thumbs", heads.thumbnails, ("measure", "layer?"), "norms", _of_short(_measures)),
    Question("statistics", heads.head_statistics, ("by", "layer?"), carried=_of_short(_each_by)),
    Question("rows", heads.query_rows, ("query", "last")),
    Question("layer_map", heads.layer_map, ("layer", "kind"), carried=_layer_maps, carried_shown=_shown_map),
    Question("gates", heads.gate_labels, ("threshold", "margin", "layer?"), "gates", _of_short(_default_gates)),
    Question("evidence", heads.gate_evidence, ("layer", "head", "gate", "view"), "gates", _clearest),
    Question("norm_view", heads.norm_view, (), "norms", _of_short(_once)),
    Question("geometry", heads.layer_rows, (), "geometry", _of_short(_once)),
    Question("histograms", heads.histograms, ("layer", "head"), "neurons", _each_head),
    Question("stream", heads.stream, ("station", "method"), "geometry", _stations),
    Question("spectra", heads.layer_ranks, ("layer", "head?"), "spectra", _of_short(_each_layer)),
    Question(
        "why",
        why.why,
        ("layer", "head", "query", "key", "side", "against", "through_mlps"),
        "sources",
        carried_shown=why.carried,
    ),
    Question("why_pairs", why.why_pairs, ("layer", "head", "query", "key"), "sources", carried_shown=why.carried_pairs),
    Question("answers", whatif.answers, (), carried=_once),
    Question("moved", whatif.moved, (), carried=_if_changed),
    Question("matters", whatif.matters, ("metric",), "whatif", carried=whatif.carried),
    Question("matters_exact", whatif.matters_exact, ("metric", "layer"), "whatif", carried=whatif.carried_exact),
    Question(
        "score_maps", score_maps.score_maps_in_turn, ("layer", "head"), "sources", carried_shown=score_maps.carried_maps
    ),
):
    register_question(_question)
