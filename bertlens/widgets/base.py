"""LensWidget: what all widgets of bertlens share.

Three kinds of state, kept apart: the selection is traits, synced both ways; the first picture is a trait that only the
kernel sets; everything else is an answer to a question of the page (`model.send` with an id, an explicit table of
operations, bytes in the answer's buffers). Questions may arrive on a second thread while a cell runs: a trace is
immutable, and a new forward pass takes the lens's own lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import traitlets
from traitlets import Bool, Dict, Enum, Int, List, Unicode

from ..errors import BertLensError, InputError, SelectionError
from ..trace import Trace
from .answers import LAYER_MAPS, MEASURES, page_evidence, page_layer_maps
from .picture import head_slice, picture
from .questions import QUESTIONS, Answer, Message, carried

if TYPE_CHECKING:
    from .survey_view import Corpus

STATIC = Path(__file__).parent.parent / "static"
if not (STATIC / "widget.js").exists():
    raise ImportError("bertlens was not built: run `make build` in the checkout, or `pip install .`")

MOST_CHARACTERS = 100_000  # of a text that the page sends


def _optional_int() -> Any:
    return Int(None, allow_none=True).tag(sync=True)


class LensWidget(anywidget.AnyWidget):
    """A view of one trace. Every selection can be given as an argument, read, set and observed from Python.

    layer, head: the selected head, 0-based. heads: further heads drawn over it as lines, [[layer, head], ...].
    measure: "weight" α, "norm" ‖αf(x)‖, "difference" of their shares. layer_map: "" for a head, or a map of the whole
    layer ("attn-w", "attn-n", "attnres-n", "attnresln-n", ...).
    query, key: the pinned tokens (positions of pieces) or None. mode: "matrix" or "lines". view: "neurons" or "table".
    pair_filter: "all", "AA", "AB", "BA", "BB" (query's sentence, key's sentence). units: "pieces", "words",
    or "spans" where the tokenizer names some (protein domains).
    hide_special, renormalize: leave special tokens out, and scale the rows that are left to 1. theme: "auto", "light",
    "dark". map: "self", or "encoder", "decoder", "cross" of an encoder-decoder. include_layers, include_heads: show
    only these. truncation: cut a text typed into the view to what the model takes, and say so.

    Raises SelectionError for a layer, head, token or argument that does not exist.
    """

    # Texts, not paths: anywidget watches files for as long as the program runs, and with them every widget (its #929).
    _esm = (STATIC / "widget.js").read_text(encoding="utf-8")
    _css = (STATIC / "widget.css").read_text(encoding="utf-8")
    PANELS: ClassVar[tuple[str, ...]] = ()

    panels = List(Unicode()).tag(sync=True)
    picture = Dict().tag(sync=True, echo_update=False)
    map = Unicode("self").tag(sync=True)
    layer = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    heads: Any = List().tag(sync=True)
    query = _optional_int()
    key = _optional_int()
    measure = Enum(MEASURES, "weight").tag(sync=True)
    layer_map = Enum(["", *LAYER_MAPS], "").tag(sync=True)
    mode = Enum(["matrix", "lines"], "matrix").tag(sync=True)
    view = Enum(["neurons", "norms", "gates", "geometry", "survey", "table"], "neurons").tag(sync=True)
    text = Unicode("").tag(sync=True)
    text_pair = Unicode("").tag(sync=True)
    truncation = Bool(False).tag(sync=True)
    pair_filter = Enum(["all", "AA", "AB", "BA", "BB"], "all").tag(sync=True)
    units = Enum(["pieces", "words", "spans"], "pieces").tag(sync=True)
    hide_special = Bool(False).tag(sync=True)
    renormalize = Bool(False).tag(sync=True)
    theme = Enum(["auto", "light", "dark"], "auto").tag(sync=True)
    include_layers = List(Int(), allow_none=True, default_value=None).tag(sync=True)
    include_heads = List(Int(), allow_none=True, default_value=None).tag(sync=True)

    def __init__(self, trace: Trace, *, corpus: Corpus | None = None, **selection: Any) -> None:
        if corpus is not None:
            corpus.check(next(iter(trace.maps.values())))
        self._corpus = corpus
        unknown = [name for name in selection if not self.has_trait(name) or name in ("picture", "panels")]
        if unknown:
            known = "layer, head, heads, query, key, mode, view, pair_filter, units, hide_special, renormalize, theme"
            raise SelectionError(f"no option {unknown[0]!r}: there are {known}, include_layers, include_heads, map")
        self._trace = trace
        maps = list(trace.maps)
        selection.setdefault("map", maps[0])
        if selection.get("include_layers") and "layer" not in selection:
            selection["layer"] = selection["include_layers"][0]
        if selection.get("include_heads") and "head" not in selection:
            selection["head"] = selection["include_heads"][0]
        for name in ("layer", "head"):
            included = selection.get(f"include_{name}s")
            if included and selection[name] not in included:
                raise SelectionError(f"{name} {selection[name]} is not among include_{name}s {list(included)}")
        super().__init__(panels=list(self.PANELS), text=trace.text or "", text_pair=trace.text_pair or "", **selection)
        self.picture = self._first_picture()
        self._answers: dict[str, Callable[[Message], Answer]] = {
            "hello": self._answer_hello,
            "picture": self._answer_picture,
            "survey": self._answer_survey,
            "trace": self._answer_trace,
            "html": self._answer_html,
            "extras": self._answer_extras,
        }
        self.on_msg(self._answer)
        self.observe(self._new_map, "map")  # not before: a pin given as an argument belongs to the map given with it

    # The trace

    @property
    def trace(self) -> Trace:
        """The trace shown. Setting another one redraws the view and keeps what still makes sense of the selection."""
        return self._trace

    @trace.setter
    def trace(self, trace: Trace) -> None:
        before, self._trace = self._trace, trace
        old, new = before.maps.get(self.map), trace.maps.get(self.map) or next(iter(trace.maps.values()))
        with self.hold_sync():
            if self.map not in trace.maps:
                self.map = next(iter(trace.maps))
            self.layer, self.head = min(self.layer, new.n_layers - 1), min(self.head, new.n_heads - 1)
            self.heads = [[l, h] for l, h in self.heads if l < new.n_layers and h < new.n_heads]  # noqa: E741
            self.query = _same_token(old.tokens if old else [], new.tokens, self.query)
            self.key = _same_token(old.key_tokens if old else [], new.key_tokens, self.key)
            self.text, self.text_pair = trace.text or "", trace.text_pair or ""
            self.picture = self._first_picture()

    @property
    def _map(self) -> Trace:
        return self._trace.maps[self.map]

    def _first_picture(self) -> dict[str, Any]:
        shown = picture(self._trace, self.map, self.layer, self.head)
        return {**shown, "header": shown["header"] | {"survey": self._has_survey(self._map)}}

    def _has_survey(self, shown: Trace) -> bool:
        return self._corpus is not None and self._corpus.fits(shown)

    # The selection

    @traitlets.validate("layer", "head", "query", "key")
    def _valid_index(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if value is None:
            return value
        shown = self._trace.maps.get(self.map) or next(iter(self._trace.maps.values()))
        limits = {
            "layer": shown.n_layers,
            "head": shown.n_heads,
            "query": len(shown.tokens),
            "key": len(shown.key_tokens),
        }
        if not 0 <= value < limits[name]:
            raise SelectionError(f"{name} {value} does not exist: there are 0 to {limits[name] - 1}")
        return value

    @traitlets.validate("heads")
    def _valid_heads(self, proposal: Any) -> list[list[int]]:
        shown = self._trace.maps.get(self.map) or next(iter(self._trace.maps.values()))
        chosen = [[self.layer, item] if isinstance(item, int) else list(item) for item in proposal["value"]]
        for item in chosen:
            if len(item) != 2 or not all(isinstance(n, int) for n in item):
                raise SelectionError("heads is a list of [layer, head], or of heads of the selected layer")
            if not (0 <= item[0] < shown.n_layers and 0 <= item[1] < shown.n_heads):
                raise SelectionError(
                    f"head {item} does not exist: layers 0 to {shown.n_layers - 1}, heads 0 to {shown.n_heads - 1}"
                )
        return chosen

    @traitlets.validate("include_layers", "include_heads")
    def _valid_include(self, proposal: Any) -> list[int] | None:
        name, value = proposal["trait"].name, proposal["value"]
        limit = self._trace.n_layers if name == "include_layers" else self._trace.n_heads
        if value is not None and (not value or not all(0 <= n < limit for n in value)):
            raise SelectionError(f"{name} is a list of numbers from 0 to {limit - 1}, with at least one")
        return value

    @traitlets.validate("map")
    def _valid_map(self, proposal: Any) -> str:
        if proposal["value"] not in self._trace.maps:
            raise SelectionError(f"no map {proposal['value']!r}: there are {', '.join(self._trace.maps)}")
        return str(proposal["value"])

    def _new_map(self, _change: Any) -> None:
        """Tokens of one map are not those of another: pins go, a head that the map lacks gives way to the last one."""
        shown = self._map
        self.query = self.key = None
        self.layer, self.head = min(self.layer, shown.n_layers - 1), min(self.head, shown.n_heads - 1)

    # Questions of the page

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """Answer one question, or say why not. The table is explicit: the page cannot name anything else."""
        if not isinstance(message, dict) or "id" not in message:
            return
        try:
            fields, buffers = self._answer_to(message)
        except BertLensError as error:
            fields, buffers = {"error": str(error)}, []
        except Exception as error:  # noqa: BLE001  shown in the view: an error in a handler is lost otherwise
            fields, buffers = {"error": f"{type(error).__name__}: {error}"}, []
        self.send({**fields, "id": message["id"]}, buffers)

    def _answer_to(self, message: Message) -> Answer:
        op = str(message.get("op"))
        if op in self._answers:
            return self._answers[op](message)
        if op not in QUESTIONS:
            raise InputError("the page asked for something that this version of bertlens does not know")
        return QUESTIONS[op](self._asked_map(message), message)

    def _answer_hello(self, _message: Message) -> Answer:
        return {"kernel": True}, []

    def _answer_survey(self, message: Message) -> Answer:
        if self._corpus is None:
            raise InputError("this view was made without a survey: pass stats= of bl.survey.head_stats")
        shown = self._asked_map(message)
        self._corpus.check(shown)
        return self._corpus.answer(shown)

    def _answer_picture(self, message: Message) -> Answer:
        shown = self._asked_map(message)
        layer, head = min(self.layer, shown.n_layers - 1), min(self.head, shown.n_heads - 1)
        answer = picture(self._trace, message["map"], layer, head)
        return answer["header"] | {"survey": self._has_survey(shown)}, [answer["data"]]

    def _asked_map(self, message: Message) -> Trace:
        header = self.picture["header"]
        if message.get("map") == header["map"] and message.get("trace") != header["trace"]:
            raise SelectionError("the text has changed since: choose the head again")
        shown = self._trace.maps.get(str(message.get("map")))
        if shown is None:
            raise SelectionError(f"no map {str(message.get('map'))[:40]!r}: there are {', '.join(self._trace.maps)}")
        return shown

    def _answer_trace(self, message: Message) -> Answer:
        lens = self._trace.lens
        if lens is None:
            raise InputError("this view was made from attention maps: it has no model to run another text with")
        text, pair = message.get("text"), message.get("text_pair") or None
        if not isinstance(text, str) or not isinstance(pair, str | None):
            raise InputError("the text is not text")
        if len(text) + len(pair or "") > MOST_CHARACTERS:
            raise InputError(f"the text is longer than {MOST_CHARACTERS:,} characters: use lens.trace in a cell")
        self.trace = lens.trace(text, pair, truncation=self.truncation)
        return {}, []

    def _answer_html(self, message: Message) -> Answer:
        layers = message.get("layers")
        if layers is not None and not (isinstance(layers, list) and all(isinstance(n, int) for n in layers)):
            raise SelectionError("layers is a list of numbers")
        return {}, [self.to_html(layers=layers).encode()]

    def _answer_extras(self, _message: Message) -> Answer:
        """The second half of the front end: js/src/extras.ts."""
        return {}, [(STATIC / "extras.js").read_bytes()]

    # Export

    def to_html(self, path: str | Path | None = None, *, layers: list[int] | None = None) -> str:
        """The view as one page that needs no kernel and no network; written to `path` if given.

        Holds all heads, or those of `layers`. Raises ExportError past 20 MB, naming the way out.
        """
        from ..export.html import to_html

        return to_html(self, path, layers=layers)

    def page_state(self) -> dict[str, Any]:
        """The synced traits that a page without a kernel starts from."""
        state = {name: getattr(self, name) for name in LensWidget.class_own_traits(sync=True)}
        shown = self._trace.maps[self.picture["header"]["map"]]
        carried = {"layer_maps": page_layer_maps(shown), "evidence": page_evidence(shown)}
        return state | {"picture": {**self.picture, "header": self.picture["header"] | carried}}

    def slices(self, layers: list[int] | None) -> Iterator[tuple[tuple[str, int, int], dict[str, Any], dict[str, Any]]]:
        """((map, layer, head), fields, arrays) of all heads, or of those of some layers."""
        for name, shown in self._trace.maps.items():
            for layer in range(shown.n_layers) if layers is None else layers:
                if not 0 <= layer < shown.n_layers:
                    raise SelectionError(f"layer {layer} does not exist: there are 0 to {shown.n_layers - 1}")
                for head in range(shown.n_heads):
                    fields, arrays = head_slice(shown, layer, head)
                    yield (name, layer, head), fields, arrays

    def page_answers(self, layers: list[int] | None) -> Iterator[tuple[dict[str, Any], Answer]]:
        """What a page without a kernel is asked beside heads: (question, answer) pairs; for all layers, or for some."""
        header = self.picture["header"]
        shown = self._trace.maps[header["map"]]
        place = {"trace": header["trace"], "map": header["map"]}
        if self._has_survey(shown):
            yield {"op": "survey"}, self._answer_survey(place)
        for question in carried(shown, range(shown.n_layers) if layers is None else layers, self.panels):
            yield question, self._answer_to(place | question)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The live widget, and a still picture for pages that cannot run widgets."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            from ..export.picture import to_png

            bundle[0]["image/png"] = to_png(self)
        return bundle


def _same_token(before: list[str], after: list[str], position: int | None) -> int | None:
    """Where a pinned token is in the new text: at the same place, or at its only other place, or nowhere."""
    if position is None or position >= len(before):
        return None
    token = before[position]
    if position < len(after) and after[position] == token:
        return position
    return after.index(token) if after.count(token) == 1 else None
