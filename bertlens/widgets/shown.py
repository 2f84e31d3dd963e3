"""What the page gets of a trace at first, the overview: one head open, thumbnails and statistics of all heads.

Those of a long text the page asks for, layer by layer, once head and frame are on the screen: a script that builds a
view computes none, a new text or a closed view asks no more. An overview that is to be read without a kernel has them.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..base.limits import within
from ..base.one_thread import one_thread_if_small
from ..base.wire import json_safe, pack
from ..errors import SelectionError
from ..measures.byhead import even
from ..measures.offers import offers, why_not
from ..measures.statistics import ATLAS_NAMES
from ..measures.words import annotation
from ..run.changes import Change
from ..text.patches import Patches
from ..trace.provenance import in_python, versions
from ..trace.trace import Trace
from ..vocabulary import MEASURES
from ..whatif.chips import chips
from .answers import heads, similar, whatif
from .answers.compare import Compared
from .answers.survey import Corpus
from .answers.thumbnails import all_pictures, layer_pictures
from .badges import badges
from .host import unattended
from .questions import QUESTIONS
from .tabs import TABS, Tab

if TYPE_CHECKING:
    from tqdm.auto import tqdm

    from ..sentences.ranking import Ranking
    from .answers.similar import AnySimilarity
    from .answers.tasks import Tasked


@dataclass(frozen=True)
class Shown:
    """What a widget shows, as one immutable record: the trace, its corpus, their name, and the first overview.

    A widget publishes it by one assignment and reads it once per message, so that an answer is always of one text.
    """

    trace: Trace
    corpus: Corpus | None = None
    compared: Compared | None = None  # two runs beside each other; `trace` is the first of them
    similar: AnySimilarity | None = None  # of two texts; `trace` is at first the run of the first
    ranking: Ranking | None = None  # of passages; what is shown of one stands below it
    tasked: Tasked | None = None  # labelled examples beside the trace
    others: dict[Any, Compared] = field(default_factory=dict)  # this run beside others that the page asked about
    pairs: dict[Any, AnySimilarity] = field(default_factory=dict)  # of texts that the page asked about
    id: str = ""
    known: tuple[Change, ...] = ()  # that a page may name by number: all that this view showed of the text
    subject: str = ""  # of the text and its model: the same whatever is changed in the run
    overview: Mapping[str, Any] = field(default_factory=dict)  # of the selected map: {"header": JSON, "data": bytes}

    def opened(self, name: str, layer: int, head: int, before: Shown | None = None) -> Shown:
        """The record with its overview, one head of the map `name` open, after another record of the view."""
        trace = self.trace
        with one_thread_if_small(stream_size(trace)):
            overview = self._overview(name, layer, head, None if _at_once(trace.maps[name]) else ())
        known = (
            trace.model_name,
            trace.text,
            trace.text_pair,
            {name: (maps.tokens, maps.key_tokens) for name, maps in trace.maps.items()},
        )
        subject = _hash(repr(known))
        shown_before = before.known if before is not None and before.subject == subject else ()
        changes = (*shown_before, *(change for change in trace.changes if change not in shown_before))
        numbers = [changes.index(change) for change in trace.changes]  # two runs may differ in what no overview shows
        identity = _hash(repr((known, numbers)), overview["data"] + _last(trace.maps[name]))
        named = {"trace": identity, "subject": subject, "changes": chips(trace, changes)}
        overview = _named(overview, named)
        return replace(self, id=identity, known=changes, subject=subject, overview=MappingProxyType(overview))

    def of(self, trace: Trace) -> Shown:
        """The record of another run in the same view, not yet opened."""
        return Shown(trace, self.corpus, similar=self.similar, ranking=self.ranking, tasked=self.tasked)

    def map(self, name: Any) -> Trace:
        """The attention maps of that name. Raises SelectionError where there are none."""
        shown = self.trace.maps.get(name) if isinstance(name, str) else None
        if shown is None:
            raise SelectionError(f"no map {str(name)[:40]!r}: there are {', '.join(self.trace.maps)}")
        return shown

    def pending(self, layers: Iterable[int]) -> list[int]:
        """Those of the layers whose pictures the overview has not."""
        return sorted(set(self.overview["header"]["pending"]) & set(layers))

    def with_pictures(self, layers: Iterable[int] | None = None, bar: tqdm[Any] | None = None) -> Shown:
        """The record with the pictures of these layers (default: all) in its overview; itself where they are there.

        bar: is told of each layer.
        """
        header = self.overview["header"]
        wanted = range(header["n_layers"]) if layers is None else layers
        if not (new := self.pending(wanted)):
            return self
        name, head = header["map"], header["head"]
        with one_thread_if_small(stream_size(self.trace)):
            for layer in new:  # kept with the trace
                layer_pictures(self.map(name), layer)
                if bar is not None:
                    bar.update()
            overview = self._overview(name, head["layer"], head["head"], wanted)
        return replace(self, overview=MappingProxyType(_named(overview, self._names)))

    def overview_of(self, name: str, layer: int, head: int, layers: Iterable[int] | None = None) -> dict[str, Any]:
        """The overview of another map, with a head of it open (its last ones where it has fewer).

        layers: whose pictures are in it, default all of a short text, else none: the page asks for them.
        """
        shown = self.map(name)
        layer, head = min(layer, shown.n_layers - 1), min(head, shown.n_heads - 1)
        if layers is None and not _at_once(shown):
            layers = ()
        return _named(self._overview(name, layer, head, layers), self._names)

    @property
    def map_name(self) -> str:
        """The map that the overview is of."""
        name: str = self.overview["header"]["map"]
        return name

    @property
    def _names(self) -> dict[str, Any]:
        return {part: self.overview["header"][part] for part in ("trace", "subject", "changes")}

    def why_not(self, trace: Trace, needs: str) -> str | None:
        """Why maps have not what a tab or a question needs: "" where they have, None where nobody asked for it."""
        if needs == "corpus":
            return None if self.corpus is None else self.corpus.why_not(trace)
        if needs == "task":
            return None if self.tasked is None else self.tasked.why_not(trace)
        if needs == "comparison":
            return None if self.compared is None else ""
        if needs == "another run":
            return "" if self.compared is not None or self.trace.lens is not None or trace.changes else None
        if needs == "similarity":
            return "" if self.similar is not None or similar.compares(self.trace) else None
        return why_not(trace, needs) if needs else ""

    def _overview(self, name: str, layer: int, head: int, layers: Iterable[int] | None = None) -> dict[str, Any]:
        """Of one map; layers: whose pictures are in it (default: all), the others are pending."""
        trace, shown = self.trace, self.trace.maps[name]
        held = set(range(shown.n_layers)).intersection(range(shown.n_layers) if layers is None else layers)
        fields, head_arrays = heads.head(shown, layer, head)
        arrays: dict[str, Any] = {**all_pictures(shown, held)}
        if within("even", shown.n_tokens, len(shown.key_tokens)):
            arrays["even"] = even(shown)
        given = _of_changes(shown)
        arrays |= given.pop("arrays", {})
        if self.compared is not None:
            fields_compared, more = self.compared.first(layer, head)
            given |= {"compared": fields_compared, "measures": self.compared.measures}
            arrays |= {f"compared.{key}": array for key, array in more.items()}
        elif self.similar is not None:
            given["similar"], more = similar.told(self.similar)
            arrays |= {f"similar.{key}": array for key, array in more.items()}
        if self.ranking is not None:
            given["ranking"] = similar.ranked(self.ranking)
        if shown.patches is not None:
            given["patches"] = _patches(shown.patches)
        index, data = pack(arrays | {f"head.{key}": array for key, array in head_arrays.items()})
        labels, spans = annotation(shown)
        reasons = offers(shown)
        header = {
            "map": name,
            "maps": list(trace.maps) if self.compared is None else [name],
            "model": trace.model_name,
            "n_layers": shown.n_layers,
            "n_heads": shown.n_heads,
            "head_dim": None if reasons["neurons"] else shown.head_dim,
            "dtype": trace.dtype,
            "queries": _side(labels, shown.tokens, shown.word_ids, shown.segments, shown.special_mask),
            "keys": None if shown.key_encoding is None else _key_side(shown),
            "pair": bool((shown.segments == 1).any()),
            "spans": spans,
            "badges": badges(trace.report, getattr(trace.model and trace.model.tokenizer, "mask_token", None)),
            "text": trace.text or "",
            "text_pair": trace.text_pair or "",
            "stats": list(ATLAS_NAMES),
            "pending": [layer for layer in range(shown.n_layers) if layer not in held],
            "measures": list(MEASURES) if not reasons["norms"] else ["weight"],
            "layer_maps": [
                {name: getattr(word, name) for name in ("name", "label", "about", "symbol", "said_as")}
                for word in heads.layer_maps(shown)
            ],
            "offers": dict(reasons),
            "tabs": [self._tab(tab, shown) for tab in TABS.values()],
            "versions": versions(),
            "nan_layer": trace.nan_layer,
            "lens": trace.lens is not None,
            "apart": similar.reads_apart(trace),
            "made": in_python(trace),
            "head": fields,
            "arrays": index,
        } | given
        return {"header": json_safe(header), "data": data}

    def _tab(self, tab: Tab, trace: Trace) -> dict[str, Any]:
        """A tab's words; `why_not` is "" where it has something to show, None where nobody asked for it."""
        questions = [QUESTIONS[name] for name in tab.questions]
        about = questions[0].about(trace) if questions else trace
        words = {"name": tab.name, "label": tab.label, "about": tab.about, "why_not": self.why_not(about, tab.needs)}
        return words | {
            "questions": {name: [one.removesuffix("?") for one in QUESTIONS[name].arguments] for name in tab.questions}
        }


def _at_once(shown: Trace) -> bool:
    """Whether a view has the pictures of all layers from the start: of a short text, or where no page will ask."""
    return within("saved" if unattended() else "at_once", shown.n_tokens)


def stream_tokens(trace: Trace) -> int:
    """Tokens of the longest side of any map."""
    return max(max(m.n_tokens, len(m.key_tokens)) for m in trace.maps.values())


def stream_size(trace: Trace) -> int:
    """Numbers in one layer's stream, tokens × width, of the longest map; heads of unknown width count as 64 wide."""
    return max(m.n_tokens * m.n_heads * (m.head_dim or 64) for m in trace.maps.values())


def _last(trace: Trace) -> bytes:
    """Numbers in which runs of the same text differ wherever their weights or changes do: the last layer's."""
    last = trace.n_layers - 1
    if not trace.has_neurons:
        return bytes(trace.attention_heads(last, 0, 1).float().cpu().numpy().tobytes())
    return bytes(trace.query(last).float().cpu().numpy().tobytes() + trace.key(last).float().cpu().numpy().tobytes())


def _hash(text: str, data: bytes = b"") -> str:
    return hashlib.sha256(text.encode(errors="replace") + data).hexdigest()[:16]


def _named(overview: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    return {**overview, "header": overview["header"] | json_safe(named)}


def _of_changes(trace: Trace) -> dict[str, Any]:
    """Of a changed run, what is asked first about it, so that it is on the screen with the first picture."""
    if not trace.changes:
        return {}
    arrays = whatif.moved(trace, math.inf)[1] if within("at_once", trace.n_tokens) else {}
    return {"answers": whatif.answers(trace)[0], "arrays": arrays}


def _patches(patches: Patches) -> dict[str, Any]:
    """The picture as an address that loads nothing."""
    picture = patches.picture and f"data:image/png;base64,{base64.b64encode(patches.picture).decode()}"
    return {"rows": patches.rows, "cols": patches.cols, "tokens": patches.tokens, "picture": picture}


def _side(tokens: list[str], pieces: list[str], words: list[int | None], segments: Any, special: Any) -> dict[str, Any]:
    return {
        "tokens": tokens,
        "pieces": pieces,
        "words": [-1 if word is None else word for word in words],
        "segments": [int(s) for s in segments],
        "special": [int(s) for s in special],
    }


def _key_side(trace: Trace) -> dict[str, Any]:
    labels, words = trace.display_key_tokens, trace.key_word_ids
    return _side(labels, trace.key_tokens, words, trace.key_segments, trace.key_special_mask)
