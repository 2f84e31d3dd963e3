"""What the page gets of a trace at first, the overview: one head open, thumbnails and statistics of all heads.

Those of a long text the page asks for, layer by layer, once head and frame are on the screen: a script that builds a
view computes none, a new text or a closed view asks no more. An overview that is to be read without a kernel has them.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from ..base.limits import within
from ..base.one_thread import one_thread_if_small
from ..base.progress import Progress
from ..base.vocabulary import MEASURES
from ..base.vocabulary.constants import COMPARED_RUNS
from ..base.wire import json_safe, pack
from ..errors import ModelError
from ..measures.byhead import even
from ..measures.offers import offers
from ..measures.predictions import kind_of
from ..measures.statistics import ATLAS_NAMES
from ..measures.words import annotation
from ..sentences.text_reading import reads_apart
from ..text.encoding import Encoding
from ..text.patches import Patches
from ..text.tokenizer import blank_stays
from ..trace.provenance import in_python, versions
from ..trace.trace import Trace
from ..whatif.chips import chips
from .answers import head_answers, whatif
from .answers.layer_pictures import all_pictures, layer_pictures
from .badges import badges
from .host import unattended
from .questions import QUESTIONS, Question, register_question
from .request import Request
from .tabs import TABS, Tab
from .view_record import ViewRecord, stream_size


def with_overview(view: ViewRecord, name: str, layer: int, head: int, before: ViewRecord | None = None) -> ViewRecord:
    """The record with its overview, one head of the map `name` open, after another record of the view."""
    trace = view.trace
    with one_thread_if_small(stream_size(trace)):
        overview = _overview(view, name, layer, head, None if _at_once(trace.maps[name]) else ())
    text = (
        trace.model_name,
        trace.text,
        trace.text_pair,
        {name: (maps.tokens, maps.key_tokens) for name, maps in trace.maps.items()},
    )
    subject = _hash(repr(text))
    changes = before.changes if before is not None and before.subject == subject else ()
    changes += tuple(change for change in trace.changes if change not in changes)
    numbers = [changes.index(change) for change in trace.changes]  # two runs may differ in what no overview shows
    identity = _hash(repr((text, numbers)), overview["data"] + _last(trace.maps[name]))
    names = {"trace": identity, "subject": subject, "changes": chips(trace, changes)}
    return replace(view, id=identity, changes=changes, subject=subject, overview=_named(overview, names))


def with_pictures(view: ViewRecord, layers: Iterable[int] | None = None, bar: Progress | None = None) -> ViewRecord:
    """The record with the pictures of these layers (default: all) in its overview; itself where they are there.

    bar: is told of each layer.
    """
    header = view.overview["header"]
    pictured = range(header["n_layers"]) if layers is None else layers
    if not (pending := view.pending(pictured)):
        return view
    name, head = header["map"], header["head"]
    with one_thread_if_small(stream_size(view.trace)):
        for layer in pending:  # kept with the trace
            layer_pictures(view.map(name), layer)
            if bar is not None:
                bar.update()
        overview = _overview(view, name, head["layer"], head["head"], pictured)
    return replace(view, overview=_named(overview, _names(view)))


def overview_of(
    view: ViewRecord, name: str, layer: int, head: int, layers: Iterable[int] | None = None
) -> Mapping[str, Any]:
    """The overview of another map, with a head of it open (its last ones where it has fewer).

    layers: whose pictures are in it, default all of a short text, else none: the page asks for them.
    """
    maps = view.map(name)
    layer, head = min(layer, maps.n_layers - 1), min(head, maps.n_heads - 1)
    if layers is None and not _at_once(maps):
        layers = ()
    return _named(_overview(view, name, layer, head, layers), _names(view))


def _selected(request: Request) -> tuple[dict[str, Any], bytes]:
    """The overview of the map that is asked about, with the selected head open."""
    overview = overview_of(request.view, request.map, request.traits["layer"], request.traits["head"])
    return overview["header"], overview["data"]


def _second_run(request: Request, text: str, text_pair: str | None = None) -> tuple[dict[str, Any], bytes]:
    """The overview of another text, run as the view's was, about which a page may ask too; the latest two are kept."""
    trace = request.traced(text, text_pair, request.traits["truncation"])
    maps = next(iter(trace.maps))
    record = with_overview(ViewRecord(trace), maps, request.traits["layer"], request.traits["head"])
    for oldest in list(request.beside)[: 1 - COMPARED_RUNS]:
        request.beside.pop(oldest, None)
    request.beside[record.id] = record
    return record.overview["header"], record.overview["data"]


register_question(Question("overview", _selected, of_view=True))
register_question(Question("second_run", _second_run, ("text", "text_pair?"), of_view=True, any_text=True))


def _overview(
    view: ViewRecord, name: str, layer: int, head: int, layers: Iterable[int] | None = None
) -> dict[str, Any]:
    """Of one map; layers: whose pictures are in it (default: all), the others are pending."""
    trace, maps = view.trace, view.trace.maps[name]
    pictured = set(range(maps.n_layers)).intersection(range(maps.n_layers) if layers is None else layers)
    fields, head_arrays = head_answers.head(maps, layer, head)
    arrays: dict[str, Any] = {**all_pictures(maps, pictured)}
    if within("even", maps.n_tokens, len(maps.key_tokens)):
        arrays["even"] = even(maps)
    about = _of_changes(maps)
    arrays |= about.pop("arrays", {})
    for panel in view.panels:
        panel_fields, panel_arrays = panel.overview(layer, head)
        about, arrays = about | panel_fields, arrays | panel_arrays
    if maps.patches is not None:
        about["patches"] = _patches(maps.patches)
    index, data = pack(arrays | {f"head.{key}": array for key, array in head_arrays.items()})
    labels, spans = annotation(maps)
    reasons = offers(maps)
    header = {
        "map": name,
        "maps": [name] if view.reason("no_map") else list(trace.maps),
        "model": trace.model_name,
        "n_layers": maps.n_layers,
        "n_heads": maps.n_heads,
        "head_dim": None if reasons["neurons"] else maps.head_dim,
        "dtype": trace.dtype,
        "queries": _side(labels, maps.encoding, maps.word_ids, maps.segments, maps.special_mask),
        "keys": None if maps.key_encoding is None else _key_side(maps),
        "pair": bool((maps.segments == 1).any()),
        "spans": spans,
        "badges": badges(trace.report, getattr(trace.model and trace.model.tokenizer, "mask_token", None)),
        "text": trace.text or "",
        "text_pair": trace.text_pair or "",
        "stats": list(ATLAS_NAMES),
        "pending": [layer for layer in range(maps.n_layers) if layer not in pictured],
        "measures": list(MEASURES) if not reasons["norms"] else ["weight"],
        "layer_maps": [
            {name: getattr(word, name) for name in ("name", "label", "about", "symbol", "said_as")}
            for word in head_answers.layer_maps(maps)
        ],
        "offers": dict(reasons),
        "tabs": [_tab(view, tab, maps) for tab in TABS.values()],
        "versions": versions(),
        "nan_layer": trace.nan_layer,
        "lens": trace.lens is not None,
        "apart": reads_apart(trace),
        "made": in_python(trace),
        **_mask_of(trace),
        "head": fields,
        "arrays": index,
    } | about
    return {"header": json_safe(header), "data": data}


def _mask_of(trace: Trace) -> dict[str, Any]:
    """What stands in a text for a word that the model is to guess, "" where it guesses none; and whether a blank before
    it would be a token of its own, which the word has in its first one."""
    with suppress(ModelError):
        if trace.model is not None and kind_of(trace) == "words":
            tokenizer = trace.borrowed.tokenizer
            if mask := str(getattr(tokenizer, "mask_token", None) or ""):
                joins = trace.kept("blank before the mask", partial(blank_stays, tokenizer, mask))
                return {"mask": mask, "mask_joins": joins}
    return {"mask": "", "mask_joins": False}


def _tab(view: ViewRecord, tab: Tab, trace: Trace) -> dict[str, Any]:
    """A tab's words; `why_not` is "" where it has something to show, None where nobody asked for it."""
    questions = [QUESTIONS[name] for name in tab.questions]
    about = questions[0].about(trace) if questions else trace
    words = {"name": tab.name, "label": tab.label, "about": tab.about, "why_not": view.why_not(about, tab.needs)}
    return words | {
        "questions": {name: [word.removesuffix("?") for word in QUESTIONS[name].arguments] for name in tab.questions}
    }


def _names(view: ViewRecord) -> dict[str, Any]:
    return {name: view.overview["header"][name] for name in ("trace", "subject", "changes")}


def _at_once(shown: Trace) -> bool:
    """Whether a view has the pictures of all layers from the start: of a short text, or where no page will ask."""
    return within("saved" if unattended() else "at_once", shown.n_tokens)


def _last(trace: Trace) -> bytes:
    """Numbers in which runs of the same text differ wherever their weights or changes do: the last layer's."""
    layer = trace.n_layers - 1
    if not trace.has_neurons:
        return bytes(trace.attention_heads(layer, 0, 1).float().cpu().numpy().tobytes())
    return bytes(trace.query(layer).float().cpu().numpy().tobytes() + trace.key(layer).float().cpu().numpy().tobytes())


def _hash(text: str, data: bytes = b"") -> str:
    return hashlib.sha256(text.encode(errors="replace") + data).hexdigest()[:16]


def _named(overview: dict[str, Any], names: dict[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({**overview, "header": overview["header"] | json_safe(names)})


def _of_changes(trace: Trace) -> dict[str, Any]:
    """Of a changed run, what is asked first about it, so that it is on the screen with the first picture."""
    if not trace.changes:
        return {}
    arrays: Mapping[str, Any] = whatif.moved(trace, math.inf)[1] if within("at_once", trace.n_tokens) else {}
    return {"answers": whatif.answers(trace)[0], "arrays": arrays}


def _patches(patches: Patches) -> dict[str, Any]:
    """The picture as an address that loads nothing."""
    picture = patches.picture and f"data:image/png;base64,{base64.b64encode(patches.picture).decode()}"
    return {"rows": patches.rows, "cols": patches.cols, "tokens": patches.tokens, "picture": picture}


def _side(
    tokens: list[str], encoding: Encoding, words: list[int | None], segments: Any, special: Any
) -> dict[str, Any]:
    return {
        "tokens": tokens,
        "pieces": list(encoding.tokens),
        "continuation": encoding.continuation,
        "words": [-1 if word is None else word for word in words],
        "segments": [int(s) for s in segments],
        "special": [int(s) for s in special],
    }


def _key_side(trace: Trace) -> dict[str, Any]:
    assert trace.key_encoding is not None
    labels, words = trace.display_key_tokens, trace.key_word_ids
    return _side(labels, trace.key_encoding, words, trace.key_segments, trace.key_special_mask)
