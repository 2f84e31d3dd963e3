"""LensWidget: what all widgets of bertlens share.

Three kinds of state, kept apart: the selection is traits, synced both ways; the overview is a trait that only the
kernel sets; everything else is an answer to a question of the page (`model.send` with an id, an explicit table of
operations, bytes in the answer's buffers). Questions may arrive on a second thread while a cell runs: what is shown is
one immutable record (overview.Shown), and a new forward pass takes the model's own lock.
"""

from __future__ import annotations

import base64
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import ipywidgets
import traitlets
from traitlets import TraitError

from ..base.limits import PAGE_TEXT_CHARACTERS, within
from ..base.one_thread import one_thread_if_small
from ..base.wire import messages
from ..errors import BertLensError, InputError, ModelError, SelectionError, check_index, check_indices
from ..export.html import Page, to_html
from ..export.still import to_png
from ..measures.offers import offers
from ..model.borrowed import checked_once
from ..page import bundle
from ..trace.provenance import provenance, visible
from ..trace.trace import Trace
from ..vocabulary import LAYER_MAPS, TRAITS
from .answers import whatif
from .answers.compare import Compared
from .answers.survey import Corpus
from .host import CELLS
from .questions import ARGUMENTS, QUESTIONS, Message, Reply, packed
from .saving import Step, carried, check_size
from .selection import Picked
from .shared import Bundle, shared
from .shown import Shown, stream_size, stream_tokens
from .tabs import TABS
from .traits import KINDS

if TYPE_CHECKING:
    from tqdm.auto import tqdm

if not (bundle.STATIC / "widget.js").exists():
    raise ImportError("bertlens was not built: run `make build` in the checkout, or `pip install .`")

SELECTABLE = frozenset(trait.name for trait in TRAITS if trait.selectable)


def _choices(name: str) -> Sequence[str]:
    """The values that a trait of choices may have, with what was registered since."""
    if name == "layer_map":
        return ("", *LAYER_MAPS)
    if name == "view":
        return tuple(TABS)
    return next(trait.choices for trait in TRAITS if trait.name == name)


class LensWidget(anywidget.AnyWidget):
    """A view of one trace. Every selection can be given as an argument, read, set and observed from Python.

    layer, head: the selected head, 0-based. heads: further heads drawn over it as lines, [[layer, head], ...].
    measure: "weight" α, "norm" ‖αf(x)‖, "difference" of their shares. layer_map: "" for a head, or a map of the whole
    layer ("attn-w", "attn-n", "attnres-n", "attnresln-n", ...).
    query, key: the pinned tokens (positions of pieces) or None. mode: "matrix" or "lines". view: the open tab.
    pair_filter: "all", "AA", "AB", "BA", "BB" (query's sentence, key's sentence). units: "pieces", "words",
    or "spans" where the tokenizer names some (protein domains).
    hide_special, renormalize: leave special tokens out, and scale the rows that are left to 1. theme: "auto", "light",
    "dark". map: "self", or "encoder", "decoder", "cross" of an encoder-decoder. include_layers, include_heads: show
    only these. truncation: cut a text typed into the view to what the model takes, and say so.
    settings: how the page is set, names and defaults in vocabulary.SETTINGS (order of the atlas, thresholds, ...); a
    page takes them over when they are set, and keeps what its reader changes afterwards to itself.

    Raises SelectionError for a layer, head, token or argument that does not exist, ModelError where the trace does not
    offer what the view is for.
    """

    # Texts, not paths: anywidget watches files for as long as the program runs, and with them every widget (its #929).
    _esm = bundle.text("widget.js")
    _css = bundle.text("widget.css")
    PARTS: ClassVar[tuple[str, ...]] = ()

    vars().update({trait.name: KINDS[trait.kind](trait).tag(sync=True) for trait in TRAITS})
    vars()["overview"].tag(echo_update=False, to_json=lambda overview, _view: _sent(overview))

    def __init__(
        self, trace: Trace, *, corpus: Corpus | None = None, compared: Compared | None = None, **selection: Any
    ) -> None:
        self._setting = threading.RLock()  # one text, or one update of a page, at a time: they come from two threads
        parts = self._parts()
        _checked(trace, parts, corpus, selection)
        self._open: Shown | None = Shown.of(
            trace, corpus, selection["map"], selection.get("layer", 0), selection.get("head", 0), compared=compared
        )
        self._met = False  # a page has asked something
        self._pinned: dict[str, tuple[str, int | None]] = {}  # each pin with the map that it was checked in
        selection.setdefault("view", next((part for part in parts if part in TABS), "neurons"))
        held = shared()
        if held is not None:
            named = traitlets.Instance(Bundle, allow_none=True).tag(sync=True, **ipywidgets.widget_serialization)
            self.add_traits(bundle=named)
            self._esm, self._css, selection["bundle"] = bundle.text("loader.js"), "", held
        super().__init__(
            layout={"height": "max-content"},  # some hosts give what names no height one of their own
            parts=list(parts),
            text=trace.text or "",
            text_pair=trace.text_pair or "",
            overview=dict(self._shown.overview),
            **selection,
        )
        self._replies: dict[str, Callable[[Shown, Message], Reply]] = {
            "hello": lambda shown, message: ({"kernel": True}, []),
            "overview": self._reply_overview,
            "survey": self._reply_survey,
            "survey_texts": self._reply_survey,
            "compared": self._reply_compared,
            "compared_heads": self._reply_compared,
            "trace": self._reply_trace,
            "change": self._reply_change,
            "html": self._reply_html,
            "bundle": lambda shown, message: ({"packed": bundle.packed()}, []),
        }
        self.on_msg(self._answer)
        self.observe(self._new_map, "map")  # not before: a pin given as an argument belongs to the map given with it

    def _parts(self) -> tuple[str, ...]:
        return self.PARTS

    # The trace

    @property
    def trace(self) -> Trace:
        """The trace shown. Setting another one redraws the view and keeps what still makes sense of the selection.

        Raises InputError once the view is closed, and where two runs are compared.
        """
        return self._shown.trace

    @trace.setter
    def trace(self, trace: Trace) -> None:
        if self._shown.compared is not None:
            raise InputError("this view compares two runs: bl.compare(a, b).explore() makes one of others")
        with self._setting:
            before = self._shown.trace.maps.get(self.map)
            name = self.map if self.map in trace.maps else next(iter(trace.maps))
            new = trace.maps[name]
            opened = self._fitted(new)
            # One assignment: from here on, a question about the text before is refused.
            self._open = Shown.of(trace, self._shown.corpus, name, opened["layer"], opened["head"], self._shown)
            kept = self._fitted(new) | {  # once more: a cell may have chosen another head meanwhile
                "map": name,
                "query": _same_token(before.tokens if before else [], new.tokens, self.query),
                "key": _same_token(before.key_tokens if before else [], new.key_tokens, self.key),
                "text": trace.text or "",
                "text_pair": trace.text_pair or "",
                "overview": dict(self._shown.overview),
            }
            with self.hold_sync(), self.hold_trait_notifications():
                for trait, value in kept.items():
                    setattr(self, trait, value)

    def _fitted(self, shown: Trace) -> dict[str, Any]:
        """What of the selection makes sense in other maps: heads that are there, the last one for one that is not."""
        fitted: dict[str, Any] = {
            "layer": min(self.layer, shown.n_layers - 1),
            "head": min(self.head, shown.n_heads - 1),
            "heads": [[l, h] for l, h in self.heads if l < shown.n_layers and h < shown.n_heads],  # noqa: E741
        }
        for name, size in (("layer", shown.n_layers), ("head", shown.n_heads)):
            included = getattr(self, f"include_{name}s")
            if included is not None and (max(included) >= size or fitted[name] not in included):
                fitted[f"include_{name}s"] = None
        return fitted

    @property
    def _shown(self) -> Shown:
        """What is shown; a message reads it once."""
        if self._open is None:
            raise InputError("this view is closed: trace.explore() makes another one")
        return self._open

    def close(self) -> None:
        """Take the view out of its pages, and let go of its trace. A cell that runs again closes its old views."""
        super().close()
        with getattr(self, "_setting", nullcontext()):  # none where its arguments were refused
            self._open = None
            self._trait_values.pop("overview", None)

    @property
    def _map(self) -> Trace:
        return self._shown.trace.maps.get(self.map) or self._shown.map(self._shown.map_name)

    def get_state(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What is saved or sent. A state that is read whole while no page has asked has all thumbnails of a short text.

        The page's own first state is sent before there is a comm.
        """
        names, shown = args[0] if args else kwargs.get("key"), self._open
        is_saved = names is None and self.comm is not None and not self._met
        if is_saved and shown is not None and within("saved", shown.map(shown.map_name).n_tokens):
            pictured = shown.with_pictures()  # takes seconds: another text may come, or the view be closed
            with self._setting:
                if self._open is shown:
                    self._open, self._trait_values["overview"] = pictured, dict(pictured.overview)
        return dict(super().get_state(*args, **kwargs))

    # The selection. Values that are set together (an update of the page, hold_trait_notifications) are checked
    # together, after all of them are set: a check reads the others as they will be, and one refusal takes all back.

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """What a page sets: of the selection, all values or none. A page whose values are refused gets the kernel's."""
        chosen = {name: value for name, value in sync_data.items() if name in SELECTABLE}
        if not chosen:
            return
        with self._setting:
            try:
                super().set_state(chosen)
                if "map" in chosen:  # a pin that had this value before belongs to the new map all the same
                    pins = {name: chosen[name] for name in ("query", "key") if name in chosen}
                    super().set_state({name: pin for name, pin in pins.items() if getattr(self, name) != pin})
            except TraitError:
                self.send_state(list(chosen))

    @traitlets.validate("layer", "head", "query", "key")
    def _valid_index(self, proposal: Any) -> Any:
        name, value, shown = proposal["trait"].name, proposal["value"], self._map
        sizes = {"layer": shown.n_layers, "head": shown.n_heads}
        sizes |= {"query": len(shown.tokens), "key": len(shown.key_tokens)}
        if (compared := self._shown.compared) is not None:
            sizes |= compared.sizes
        if value is not None:
            check_index(value, sizes[name], name)
        if name in ("query", "key"):
            self._pinned[name] = (self.map, value)
        else:
            self._check_included(name, value, getattr(self, f"include_{name}s"))
        return value

    @traitlets.validate("include_layers", "include_heads")
    def _valid_include(self, proposal: Any) -> list[int] | None:
        name, value = proposal["trait"].name, proposal["value"]
        if value is None:
            return None
        chosen = check_indices(value, self._map.n_layers if name == "include_layers" else self._map.n_heads, name)
        one = name.removeprefix("include_").removesuffix("s")
        self._check_included(one, getattr(self, one), chosen)
        return chosen

    @staticmethod
    def _check_included(name: str, value: int, included: list[int] | None) -> None:
        if included is not None and value not in included:
            raise SelectionError(f"{name} {value} is not among include_{name}s {included[:20]}: set both together")

    @traitlets.validate("heads")
    def _valid_heads(self, proposal: Any) -> list[list[int]]:
        shown, chosen = self._map, []
        if len(proposal["value"]) > shown.n_layers * shown.n_heads:
            raise SelectionError(f"heads are more than the {shown.n_layers * shown.n_heads} that there are")
        for item in proposal["value"]:
            layer, head = [self.layer, item] if isinstance(item, int) else item
            check_index(layer, shown.n_layers, "heads: layer")
            check_index(head, shown.n_heads, "heads: head")
            chosen.append([layer, head])
        return chosen

    @traitlets.validate("map")
    def _valid_map(self, proposal: Any) -> str:
        self._shown.map(proposal["value"])
        if self._shown.compared is not None and proposal["value"] != self._shown.map_name:
            raise SelectionError("other maps are compared by bl.compare(a.maps[name], b.maps[name])")
        return str(proposal["value"])

    @traitlets.validate(*(trait.name for trait in TRAITS if trait.kind == "choice"))
    def _valid_choice(self, proposal: Any) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        if value not in _choices(name):
            raise SelectionError(f"no {name} {str(value)[:40]!r}: there are {', '.join(map(repr, _choices(name)))}")
        return str(value)

    def _new_map(self, _change: Any) -> None:
        """Tokens of one map are not those of another: pins go, unless they were set together with the map."""
        changes = self._fitted(self._map)
        here = {name: (self.map, getattr(self, name)) for name in ("query", "key")}
        changes |= {name: None for name, pin in here.items() if self._pinned.get(name) != pin}
        with self.hold_trait_notifications():
            for name, value in changes.items():
                setattr(self, name, value)

    # Questions of the page

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """Answer one question, or say why not. The tables are explicit: the page cannot name anything else."""
        if not isinstance(message, dict) or "id" not in message:
            return
        self._met = True
        try:
            with one_thread_if_small(stream_size(self._shown.trace)), checked_once():
                fields, buffers = self._reply(self._shown, message)
        except _StaleError as error:
            fields, buffers = {"error": str(error), "stale": True}, []
        except BertLensError as error:
            fields, buffers = {"error": str(error)}, []
        except Exception as error:  # noqa: BLE001  shown in the view: an error in a handler is lost otherwise
            fields, buffers = {"error": f"{type(error).__name__}: {error}"}, []
        for content, data in messages({**fields, "id": message["id"]}, buffers):
            self.send(content, data)

    def _reply(self, shown: Shown, message: Message) -> Reply:
        name = str(message.get("op"))
        if name in self._replies:
            return self._replies[name](shown, message)
        if name not in QUESTIONS:
            raise InputError("the page asked for something that this version of bertlens does not know")
        return QUESTIONS[name].reply(_asked(shown, message), message)

    def _reply_overview(self, shown: Shown, message: Message) -> Reply:
        _asked(shown, message)
        overview = shown.overview_of(str(message.get("map")), self.layer, self.head)
        return overview["header"], [overview["data"]]

    def _reply_survey(self, shown: Shown, message: Message) -> Reply:
        asked = _asked(shown, message)
        if shown.corpus is None:
            raise InputError("this view was made without a survey: pass stats= of bl.survey.head_stats")
        if message["op"] == "survey":
            return packed(*shown.corpus.answer(asked))
        return packed(*shown.corpus.texts(asked, ARGUMENTS["layer"](asked, message.get("layer"))))

    def _reply_compared(self, shown: Shown, message: Message) -> Reply:
        _asked(shown, message)
        if shown.compared is None:
            raise InputError("this view shows one run: bl.compare(a, b).explore() compares two")
        return packed(*(shown.compared.heads() if message["op"] == "compared_heads" else shown.compared.maps(message)))

    def _reply_trace(self, shown: Shown, message: Message) -> Reply:
        if shown.trace.lens is None:
            raise InputError("this view was made from attention maps: it has no model to run another text with")
        text, pair = message.get("text"), message.get("text_pair") or None
        if not isinstance(text, str) or not isinstance(pair, str | None):
            raise InputError("the text is not text")
        if len(text) + len(pair or "") > PAGE_TEXT_CHARACTERS:
            raise InputError(f"the text is longer than {PAGE_TEXT_CHARACTERS:,} characters: use lens.trace in a cell")
        self.trace = shown.trace.lens.trace(text, pair, truncation=self.truncation)
        return {}, []

    def _reply_change(self, shown: Shown, message: Message) -> Reply:
        _asked(shown, message)
        original = shown.trace.original
        changes = whatif.read(original, shown.known, message.get("changes"))
        self.trace = original.rerun(*changes) if changes else original
        return {}, []

    def _reply_html(self, _shown: Shown, message: Message) -> Reply:
        layers = message.get("layers")
        return {}, [self.to_html(layers=layers, progress=False).encode()]

    # Export

    def to_html(self, path: str | Path | None = None, *, layers: list[int] | None = None, progress: bool = True) -> str:
        """The view as one page that needs no kernel and no network; written to `path` if given.

        Holds all heads, or those of `layers`. Of a text of more than 512 tokens it has the atlas of these layers alone,
        and neither gates nor geometry nor the atlas by norm, which take work for every layer. progress: a bar once it
        has taken two seconds.

        Raises ExportError past 20 MB, naming the way out, and where the file
        cannot be written; SelectionError for no layer at all, or one that does not exist.
        """
        from tqdm.auto import tqdm

        with (
            one_thread_if_small(stream_size(self.trace)),
            tqdm(desc="page", delay=2, leave=False, disable=not progress) as bar,
        ):
            return to_html(self.page(layers, bar), path)

    def page(self, layers: list[int] | None = None, bar: tqdm[Any] | None = None) -> Page:
        """What `to_html` writes: the traits, and the answers that a page without a kernel is asked for.

        Those are computed when they are read. bar: is told of each layer's pictures and of each answer.
        """
        shown, state = self._shown, {trait.name: getattr(self, trait.name) for trait in TRAITS}
        trace = shown.trace
        most = max(m.n_layers for m in trace.maps.values())
        chosen = list(range(most)) if layers is None else sorted({*check_indices(layers, most, "layers")})
        check_size(shown, chosen)
        pictured = range(most) if within("saved", stream_tokens(trace)) else chosen
        picked = self._picked(chosen)
        steps = list(carried(shown, self.parts, chosen, self.map, picked))
        if bar is not None:
            bar.total = len(shown.pending(pictured)) + len(steps)
        shown = shown.with_pictures(pictured, bar)
        about = provenance(trace)
        texts = " / ".join(visible(text) for text in (trace.text, trace.text_pair) if text)
        model = visible(trace.model_name)
        names = " ".join(f"{name} {number}" for name, number in about["versions"].items())
        others = (name for name in trace.maps if name != shown.map_name and shown.compared is None)
        title = f"{model}: {texts[:80]}" if texts else model
        footer = f"{model} ({trace.dtype}) · {names} · {about['date']}"
        holds = "all layers" if layers is None else f"layers {', '.join(map(str, chosen))}"
        if shown.compared is not None:
            title, holds = shown.compared.title, shown.compared.holds(holds, chosen, picked)
            footer += f" · beside {visible(shown.compared.comparison.b.model_name)}; holds {holds}"
        overviews = {name: shown.overview_of(name, self.layer, self.head, pictured) for name in others}
        return Page(
            title=title,
            footer=footer,
            state=state | {"overview": dict(shown.overview)},
            overviews={name: (made["header"], made["data"]) for name, made in overviews.items()},
            answers=_answered(steps, bar),
            layers=chosen,
            holds=holds,
            about=about,
        )

    def _picked(self, layers: Sequence[int]) -> Picked:
        heads = dict.fromkeys(((self.layer, self.head), *((layer, head) for layer, head in self.heads)))
        return Picked(tuple(name for name in heads if name[0] in layers), self.query, self.key, self.layer_map)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The live widget, and a still picture for pages that cannot run widgets."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            CELLS.shows(self)
            bundle[0]["image/png"] = self._still(self._shown)
        return bundle

    def _still(self, shown: Shown) -> bytes:
        if shown.compared is not None:
            return shown.compared.still(self.layer, self.head, self.query, self.key)
        head = shown.overview["header"]["head"]
        # else the selection belongs to a map that the thumbnails are not of
        layer, number = (self.layer, self.head) if self.map == shown.map_name else (head["layer"], head["head"])
        return to_png(shown.overview, shown.trace, layer, number)


def _sent(overview: dict[str, Any]) -> dict[str, Any]:
    """The overview as it travels: Colab loses the buffers of the message that opens a widget, so there as text."""
    if "google.colab.output" not in sys.modules or not overview:
        return overview
    return {**overview, "data": base64.b64encode(overview["data"]).decode()}


def _checked(trace: Trace, parts: Sequence[str], corpus: Corpus | None, selection: dict[str, Any]) -> None:
    """Complete a selection and raise what is wrong with it, or why the trace cannot be shown so."""
    names = [trait.name for trait in TRAITS if trait.selectable]
    for name in selection:
        if name not in names:
            raise SelectionError(f"no option {name!r}: there are {', '.join(names)}")
    selection.setdefault("map", next(iter(trace.maps)))
    if selection["map"] not in trace.maps:
        raise SelectionError(f"no map {selection['map']!r}: there are {', '.join(trace.maps)}")
    shown = trace.maps[selection["map"]]
    for name, size in (("layer", shown.n_layers), ("head", shown.n_heads)):
        included = selection.get(f"include_{name}s")
        if included:
            selection.setdefault(name, included[0])
        check_index(selection.get(name, 0), size, name)
    if corpus is not None:
        corpus.check(shown)
    if len(parts) == 1 and parts[0] in TABS:  # a view of one tab has to have something to show
        reason = _why_not(parts[0], shown, corpus)
        if reason:
            raise ModelError(reason)


def _why_not(tab: str, shown: Trace, corpus: Corpus | None) -> str:
    if tab == "survey":
        return "" if corpus is None else corpus.why_not(shown)
    needs = TABS[tab].needs
    return offers(shown)[needs] if needs else ""


def _answered(steps: Iterable[Step], bar: tqdm[Any] | None) -> Iterator[tuple[Message, Reply]]:
    for question, answer in steps:
        yield question, answer()
        if bar is not None:
            bar.update()


class _StaleError(SelectionError):
    """What was asked about is shown no more."""


def _asked(shown: Shown, message: Message) -> Trace:
    """The maps that a message is about. Raises _StaleError for maps of another text, or of another run of it."""
    if message.get("trace") != shown.id:
        raise _StaleError("the text has changed since: choose the head again")
    return shown.map(message.get("map"))


def _same_token(before: list[str], after: list[str], position: int | None) -> int | None:
    """Where a pinned token is in the new text: at the same place, or at its only other place, or nowhere."""
    if position is None or position >= len(before):
        return None
    token = before[position]
    if position < len(after) and after[position] == token:
        return position
    return after.index(token) if after.count(token) == 1 else None
