"""LensWidget: what all widgets of bertlens share.

Three kinds of state, kept apart: the selection is traits, synced both ways; the overview is a trait that only the
kernel sets; everything else is an answer to a question of the page (messages/dispatch.py). Questions may arrive on a
second thread while a cell runs: what is shown is one immutable record (ViewRecord), and a forward pass takes the lock
of the model.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import ipywidgets
import traitlets
from traitlets import TraitError

from ..base.atomic import text_or_path
from ..base.limits import within
from ..base.progress import Progress
from ..base.vocabulary import TRAITS
from ..errors import InputError, SelectionError, check_index, check_indices, excerpt
from ..export import bundle
from ..export.html import Page
from ..export.space import SpaceSource
from ..trace.trace import Trace
from .closed import while_open
from .host import CELLS, Bundle, sent, shared_bundle
from .messages.dispatch import answered
from .overview import with_overview, with_pictures
from .page_messages import reply_of
from .panels.panel import Panel
from .request import Request
from .saving import corpus_of, page, page_text, still
from .selection import (
    SELECTABLE,
    check_included,
    check_selection,
    choices_of,
    fitted,
    heads_in,
    heads_run,
    place_in,
    same_token,
)
from .tabs import TABS
from .traits import KINDS
from .view_record import ViewRecord

if not (bundle.STATIC / "widget.js").exists():
    raise ImportError("bertlens was not built: run `make build` in the checkout, or `pip install .`")


class LensWidget(SpaceSource, anywidget.AnyWidget):
    """A view of one trace. Every selection can be given as an argument, read, set and observed from Python.

    layer, head: the selected head, 0-based. heads: further heads drawn over it as lines, [[layer, head], ...]; or how
    many are run for the head that matters most: "all" where a view can afford it, a number of those with the largest
    estimate, or "estimate" for eight of these (the setting heads_run).
    measure: "weight" α, "norm" ‖αf(x)‖, "difference" of their shares. layer_map: "" for a head, or a map of the whole
    layer ("attn-w", "attn-n", "attnres-n", "attnresln-n", ...).
    query, key: the pinned tokens (pieces) or None. mode: "matrix", "lines" or "text". view: the open tab, or "".
    pair_filter: "all", "AA", "AB", "BA", "BB" (query's sentence, key's sentence). units: "pieces", "words",
    or "spans" where the tokenizer names some (protein domains).
    hide_special, renormalize: leave special tokens out, and scale the rows that are left to 1. theme: "auto", "light",
    "dark". map: "self", or "encoder", "decoder", "cross" of an encoder-decoder. include_layers, include_heads: show
    only these. truncation: cut a text typed into the view to what the model takes, and say so.
    settings: how the page is set, names and defaults in vocabulary.SETTINGS (order of the atlas, thresholds, ...); a
    page takes them over when they are set, and keeps what its reader changes afterwards to itself.

    Raises SelectionError for a layer, head, token or argument that does not exist, ModelError where the trace does not
    offer what the view is for, InputError for what is no trace.
    """

    # Texts, not paths: anywidget watches files for as long as the program runs, and with them every widget (its #929).
    _esm = bundle.text("widget.js")
    _css = bundle.text("widget.css")
    PARTS: ClassVar[tuple[str, ...]] = ()

    vars().update({trait.name: KINDS[trait.kind](trait).tag(sync=True) for trait in TRAITS})
    vars()["overview"].tag(echo_update=False, to_json=lambda overview, _view: sent(overview))

    def __init__(
        self,
        trace: Trace,
        *,
        panels: Iterable[Panel] = (),
        **selection: Any,
    ) -> None:
        self._setting = threading.RLock()  # one text, or one update of a page, at a time: they come from two threads
        names, record = self._parts(), ViewRecord(trace, tuple(panels))
        if isinstance(selection.get("heads"), str | int):
            run = heads_run(selection.pop("heads"))
            selection["settings"] = {**(selection.get("settings") or {}), "heads_run": run}
        check_selection(record, names, selection)
        self._open: ViewRecord | None = with_overview(
            record, selection["map"], selection.get("layer", 0), selection.get("head", 0)
        )
        self._met = False  # a page has asked something
        self._beside: dict[str, ViewRecord] = {}
        self._pinned: dict[str, tuple[str, int | None]] = {}  # each pin with the map that it was checked in
        selection.setdefault("view", next((name for name in names if name in TABS and "head" not in names), ""))
        bundle_model = shared_bundle()
        if bundle_model is not None:
            named = traitlets.Instance(Bundle, allow_none=True).tag(sync=True, **ipywidgets.widget_serialization)
            self.add_traits(bundle=named)
            self._esm, self._css, selection["bundle"] = bundle.text("loader.js"), "", bundle_model
        super().__init__(
            layout={"height": "max-content"},  # some hosts give what names no height one of their own
            parts=list(names),
            text=trace.text or "",
            text_pair=trace.text_pair or "",
            overview=dict(self._record.overview),
            **selection,
        )
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
        return self._record.trace

    @trace.setter
    def trace(self, trace: Trace) -> None:
        if reason := self._record.reason("no_text"):
            raise InputError(reason)
        with self._setting:
            old_maps = self._record.trace.maps.get(self.map)
            name = self.map if self.map in trace.maps else next(iter(trace.maps))
            maps = trace.maps[name]
            opened = fitted(self, maps)
            # One assignment: from here on, a question about the text before is refused.
            record = ViewRecord(trace, self._record.panels)
            self._open = with_overview(record, name, opened["layer"], opened["head"], before=self._record)
            selection = fitted(self, maps) | {  # once more: a cell may have chosen another head meanwhile
                "map": name,
                "query": same_token(old_maps.tokens if old_maps else [], maps.tokens, self.query),
                "key": same_token(old_maps.key_tokens if old_maps else [], maps.key_tokens, self.key),
                "text": trace.text or "",
                "text_pair": trace.text_pair or "",
                "overview": dict(self._record.overview),
            }
            if self.opened == place_in(self._traits_now()):  # nobody has chosen: the next text's is the program's too
                selection["opened"] = place_in(self._traits_now() | selection)
            with self.hold_sync(), self.hold_trait_notifications():
                for trait, value in selection.items():
                    setattr(self, trait, value)

    @property
    def _record(self) -> ViewRecord:
        """What is shown; a message reads it once."""
        if self._open is None:
            raise InputError("this view is closed: trace.explore() makes another one")
        return self._open

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called: such a view still takes values of its traits, from a link, and does nothing."""
        return self._open is None

    def close(self) -> None:
        """Take the view out of its pages, and let go of its trace. A cell that runs again closes its old views."""
        super().close()
        with getattr(self, "_setting", nullcontext()):  # none where its arguments were refused
            record = getattr(self, "_open", None)
            for panel in record.panels if record is not None else ():
                panel.close()
            self._open = None
            getattr(self, "_beside", {}).clear()
            self._trait_values.pop("overview", None)

    @property
    def _map(self) -> Trace:
        return self._record.trace.maps.get(self.map) or self._record.map(self._record.map_name)

    def get_state(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What is saved or sent. A state that is read whole while no page has asked has all thumbnails of a short text.

        The page's own first state is sent before there is a comm. args, kwargs: as ipywidgets has them.
        """
        names, record = args[0] if args else kwargs.get("key"), self._open
        is_saved = names is None and self.comm is not None and not self._met
        if is_saved and record is not None and within("saved", record.map(record.map_name).n_tokens):
            pictured = with_pictures(record)  # takes seconds: another text may come, or the view be closed
            with self._setting:
                if self._open is record:
                    self._open, self._trait_values["overview"] = pictured, dict(pictured.overview)
        return dict(super().get_state(*args, **kwargs))

    # The selection. Values that are set together (an update of the page, hold_trait_notifications) are checked
    # together, after all of them are set: a check reads the others as they will be, and one refusal takes all back.

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """What a page sets (sync_data): all values of the selection, or none: then the page gets the kernel's."""
        selection = {name: value for name, value in sync_data.items() if name in SELECTABLE}
        if not selection:
            return
        with self._setting:
            try:
                super().set_state(selection)
                if "map" in selection:  # a pin that had this value before belongs to the new map all the same
                    pins = {name: selection[name] for name in ("query", "key") if name in selection}
                    super().set_state({name: pin for name, pin in pins.items() if getattr(self, name) != pin})
            except TraitError:
                self.send_state(list(selection))

    @traitlets.validate("layer", "head", "query", "key")
    @while_open
    def _valid_index(self, proposal: Any) -> Any:
        name, value, maps = proposal["trait"].name, proposal["value"], self._map
        sizes = {"layer": maps.n_layers, "head": maps.n_heads}
        sizes |= {"query": len(maps.tokens), "key": len(maps.key_tokens)}
        for panel in self._record.panels:
            sizes |= panel.sizes
        if value is not None:
            check_index(value, sizes[name], name)
        if name in ("query", "key"):
            self._pinned[name] = (self.map, value)
        else:
            check_included(name, value, getattr(self, f"include_{name}s"))
        return value

    @traitlets.validate("include_layers", "include_heads")
    @while_open
    def _valid_include(self, proposal: Any) -> list[int] | None:
        name, value = proposal["trait"].name, proposal["value"]
        if value is None:
            return None
        included = check_indices(value, self._map.n_layers if name == "include_layers" else self._map.n_heads, name)
        trait = name.removeprefix("include_").removesuffix("s")
        check_included(trait, getattr(self, trait), included)
        return included

    @traitlets.validate("heads")
    @while_open
    def _valid_heads(self, proposal: Any) -> list[list[int]]:
        return heads_in(self._map, self.layer, proposal["value"])

    @traitlets.validate("map")
    @while_open
    def _valid_map(self, proposal: Any) -> str:
        self._record.map(proposal["value"])
        if proposal["value"] != self._record.map_name and (reason := self._record.reason("no_map")):
            raise SelectionError(reason)
        return str(proposal["value"])

    @traitlets.validate(*(trait.name for trait in TRAITS if trait.kind == "choice"))
    @while_open
    def _valid_choice(self, proposal: Any) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        if value not in choices_of(name):
            raise SelectionError(f"no {name} {excerpt(value)}: there are {', '.join(map(repr, choices_of(name)))}")
        return str(value)

    def _new_map(self, _change: Any) -> None:
        """Tokens of one map are not those of another: pins go, unless they were set together with the map."""
        if self.is_closed:
            return
        changes = fitted(self, self._map)
        pins = {name: (self.map, getattr(self, name)) for name in ("query", "key")}
        changes |= {name: None for name, pin in pins.items() if self._pinned.get(name) != pin}
        with self.hold_trait_notifications():
            for name, value in changes.items():
                setattr(self, name, value)

    # Questions of the page

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """Answer one question, or say why not."""
        if not isinstance(message, dict) or "id" not in message:
            return
        self._met = True
        for content, data in answered(message, lambda asked: reply_of(asked, self._look())):
            self.send(content, data)

    def _look(self) -> Request:
        record = self._record
        return Request(record, record.map_name, self._traits_now(), self._show, self._beside)

    def _traits_now(self) -> dict[str, Any]:
        return {trait.name: getattr(self, trait.name) for trait in TRAITS}

    def _show(self, trace: Trace) -> None:
        self.trace = trace

    # Export

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        layers: list[int] | None = None,
        progress: bool = True,
        live: bool = False,
        small: bool = False,
    ) -> str | Path:
        """The view as one page that needs no kernel and no network: its text, or `path`, where it was written.

        Holds all heads, or those of `layers`; of more than 512 tokens the atlas of these layers alone, without gates,
        geometry and the atlas by norm. live: with the model in it, its weights rounded, which runs what is typed in the
        page (encoders of BERT's class); small: rounded further, a quarter less to send. progress: a bar once it has
        taken two seconds.

        Raises ExportError past 20 MB (live: 150 MB of weights), naming the way out, and where the file cannot be made;
        InputError for small without live.
        """
        text = page_text(self._record, self._traits_now(), layers, progress, live, small)
        return text_or_path(text, path)

    def _rights(self, page: Mapping[str, Any]) -> tuple[Any, str, bool]:
        return self._record.trace.lens, corpus_of(self._record), bool(page.get("live"))

    def page(self, layers: list[int] | None = None, bar: Progress | None = None) -> Page:
        """What `to_html` writes of layers (None: all): the traits, and the answers that a page without a kernel needs.

        Those are computed when they are read. bar: is told of each layer's pictures and of each answer.
        """
        return page(self._record, self._traits_now(), layers, bar)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The live widget, and a still picture for pages that cannot run widgets."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            CELLS.shows(self)
            bundle[0]["image/png"] = still(self._record, self._traits_now())
        return bundle
