"""What a page without a kernel holds: what its parts ask, answered; and how many bytes, before any work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from typing_extensions import TypedDict

from ..base.limits import within
from ..base.one_thread import one_thread_if_small
from ..base.progress import Progress, page_bar
from ..base.registered import room
from ..base.wire import pack, unpack
from ..errors import BertLensError, ExportError, InputError, ModelError, check_indices
from ..export import bundle, html
from ..export import live as live_page
from ..export.deflate import deflated
from ..export.still_picture import to_png
from ..model.borrowed import checked_once
from ..trace.provenance import provenance, visible
from ..trace.trace import Trace
from . import rounding
from .answers import first_answer
from .answers.term_arrays import term_arrays
from .messages.records import Message, Nothing, Reply, Selection, refusal
from .overview import overview_of, with_overview, with_pictures
from .panels.panel import RUNS
from .questions import QUESTIONS, Question, register_question
from .request import Request
from .selection import place_in
from .tabs import PARTS, TABS
from .view_record import ViewRecord, stream_size, stream_tokens

Step: TypeAlias = tuple[Message, Callable[[], Reply]]  # a question, and what answers it when the page is written


def page(
    view: ViewRecord,
    traits: Mapping[str, Any],
    layers: list[int] | None = None,
    bar: Progress | None = None,
) -> html.Page:
    """The page of a view: its traits, and what a page without a kernel is asked for, answered when it is read.

    layers: whose heads it holds (default: all). bar: is told of each layer's pictures and of each answer.
    """
    trace = view.trace
    traits = {**traits, "settings": _opened(view, traits)}
    if place := _largest(view, traits):
        traits |= {**place, "opened": place}
        view = with_overview(view, view.map_name, traits["layer"], traits["head"], before=view)
    n_layers = max(maps.n_layers for maps in trace.maps.values())
    page_layers = list(range(n_layers)) if layers is None else sorted({*check_indices(layers, n_layers, "layers")})
    check_size(view, page_layers)
    pictured = range(n_layers) if within("saved", stream_tokens(trace)) else page_layers
    selection = Selection.of(traits, page_layers)
    steps: Iterable[Step] = saved_answers(view, traits, selection)
    if bar is not None:
        steps = list(steps)
        bar.total = (bar.total or 0) + len(view.pending(pictured)) + len(steps)
    view = with_pictures(view, pictured, bar)
    about = provenance(trace)
    texts = " / ".join(visible(text) for text in (trace.text, trace.text_pair) if text)
    model = visible(trace.model_name)
    titles = [panel.title(model, traits["parts"]) for panel in view.panels]
    versions = " ".join(f"{name} {number}" for name, number in about["versions"].items())
    footer = f"{model} ({trace.dtype}) · {versions} · {about['date']}"
    footer += next(filter(None, map(rounding.said, trace.maps.values())), "")
    holds = "all layers" if layers is None else f"layers {', '.join(map(str, page_layers))}"
    for panel in view.panels:
        holds = panel.holds(holds, selection)
        footer += panel.footer(holds)
    names = [name for name in view.overview["header"]["maps"] if name != view.map_name]
    overviews = {name: overview_of(view, name, traits["layer"], traits["head"], pictured) for name in names}
    overviews[view.map_name] = view.overview
    openings = {name: _first(trace.maps[name], overview) for name, overview in overviews.items()}
    return html.Page(
        title=next(filter(None, titles), f"{model}: {texts[:80]}" if texts else model),
        footer=footer,
        state={
            **traits,
            **_for_readers(traits.get("lesson", {})),
            "overview": openings[view.map_name],
        },
        overviews={name: (openings[name]["header"], openings[name]["data"]) for name in names},
        answers=_answered(trace, steps, bar),
        layers=page_layers,
        holds=holds,
        about=about,
        others=_runs(view, traits, page_layers, bar),
        still=partial(still, view, traits),
        corpus=corpus_of(view),
        shown_by=next(filter(None, (panel.shown_by(trace) for panel in view.panels)), None),
    )


def corpus_of(view: ViewRecord) -> str:
    """Whose texts its page shows, see pages.origin."""
    return ", ".join(filter(None, (panel.corpus for panel in view.panels)))


def _runs(view: ViewRecord, traits: Mapping[str, Any], layers: list[int], bar: Progress | None) -> Iterator[html.Page]:
    """The pages of the runs that panels carry: of all these layers, or where that is too much of the selected one."""
    for panel in view.panels:
        names = [name for name in traits["parts"] if name not in panel.parts]
        bare = {**traits, "parts": names, "query": None, "key": None, "heads": []}
        for question, trace in panel.runs(view.trace):
            size = sum(_most_bytes(maps) for maps in trace.maps.values()) * len(layers)
            fitting = layers if size < html.BESIDE / RUNS else [traits["layer"]]
            run = with_overview(ViewRecord(trace), view.map_name, traits["layer"], traits["head"])
            yield replace(page(run, bare, fitting, bar), shown_by=question)


def _first(trace: Trace, overview: Mapping[str, Any]) -> dict[str, Any]:
    """An overview as a page holds it: its head is that of `rounding.saved_head`."""
    header, data = overview["header"], overview["data"]
    if "q" not in (arrays := rounding.saved_head(trace, header["head"]["layer"], header["head"]["head"])[1]):
        return dict(overview)
    index, data = pack(unpack(header["arrays"], data) | {f"head.{name}": array for name, array in arrays.items()})
    return {**overview, "header": {**header, "arrays": index}, "data": data}


def _for_readers(lesson: Mapping[str, Any]) -> dict[str, Any]:
    """A lesson that another reader does anew, without the teacher's notes."""
    steps = [{name: content for name, content in step.items() if name != "notes"} for step in lesson.get("steps", ())]
    return {"lesson": {**lesson, "steps": steps} if steps else lesson, "lesson_done": []}


def page_text(
    view: ViewRecord,
    traits: Mapping[str, Any],
    layers: list[int] | None,
    progress: bool,
    live: bool,
    small: bool,
) -> str:
    """The text of a view's page; progress: a bar once it has taken two seconds."""
    if small and not live:
        raise InputError("small=True is about the weights in a page: give live=True with it")

    with (
        one_thread_if_small(stream_size(view.trace)),
        checked_once(),
        page_bar(progress) as bar,
    ):
        model = _model(view, small) if live else None  # before what takes long
        return html.to_html(replace(page(view, traits, layers, bar), live=model))


def _model(view: ViewRecord, small: bool) -> live_page.Live:
    if reason := view.reason("no_model"):
        raise ExportError(reason)
    return live_page.live(view.trace, small)


def still(view: ViewRecord, traits: Mapping[str, Any]) -> bytes:
    """PNG of what is selected, for notebooks that cannot run a view."""
    layer, head = traits["layer"], traits["head"]
    for panel in view.panels:
        if picture := panel.still(layer, head, traits["query"], traits["key"]):
            return picture
    if traits["map"] != view.map_name:  # the selection belongs to a map that the thumbnails are not of
        layer, head = (view.overview["header"]["head"][name] for name in ("layer", "head"))
    return to_png(view.overview, view.trace, layer, head)


def _html(request: Request, layers: Any = None, live: bool = False, settings: Any = None) -> tuple[Nothing, bytes]:
    traits = request.traits if settings is None else {**request.traits, "settings": settings}
    return {}, page_text(request.view, traits, layers, False, live, False).encode()


class LiveCost(TypedDict):
    size: int  # bytes
    seconds: float  # that writing takes
    why_not: str


def _live_cost(request: Request) -> tuple[LiveCost, Nothing]:
    """Of the page with the model in it; why_not: why there is none."""
    view = request.view
    why_not, cost = view.reason("no_model"), live_page.Cost(0, 0)
    try:
        if not why_not:
            live_page.check(view.trace)
            cost = live_page.cost(view.trace)
    except ExportError as error:
        why_not = str(error)
    return {"size": cost.size, "seconds": cost.seconds, "why_not": why_not}, {}


def _handout(request: Request) -> tuple[Nothing, bytes]:
    """The lesson beside the view for print, its pictures of the view's model."""
    lens = request.view.trace.lens
    if not request.traits["lesson"]:
        raise InputError("there is no lesson beside this view")
    if lens is None:
        raise InputError("this view was made from attention maps: it has no model to draw a lesson's pictures with")
    lesson = room("bertlens.lessons.lesson").of_page(request.traits["lesson"])
    return {}, room("bertlens.lessons.paper").page_of(lesson, lens, solutions=True).encode("utf-8", "replace")


for _question in (
    Question("html", _html, ("layers?", "live?", "settings?"), of_view=True, any_text=True),
    Question("live_cost", _live_cost, of_view=True, any_text=True),
    Question("handout", _handout, of_view=True, any_text=True),
):
    register_question(_question)


def _opened(view: ViewRecord, traits: Mapping[str, Any]) -> dict[str, Any]:
    """How the view is set, with the texts that its open tab shows where a page alone knows them."""
    settings = dict(traits["settings"])
    for message in view.remembered:
        if (
            traits["view"] == "compare"
            and message["op"] == "compared_with"
            and "compare_with" not in traits["settings"]
        ):
            run, *texts = message["other"]
            texts = dict(zip(("text", "text_pair"), texts, strict=False))
            settings["compare_with"] = texts if run == "text" else {"run": run}
        if traits["view"] == "similarity" and "texts" in message and "similar_to" not in traits["settings"]:
            settings["similar_to"] = dict(zip(("a", "b", "task_a", "task_b"), message["texts"], strict=True))
    return settings


def _largest(view: ViewRecord, traits: Mapping[str, Any]) -> dict[str, Any]:
    """Where the page opens instead: on the head that matters most of those that are run for it; empty where it does,
    or its reader has chosen another."""
    maps = view.map(view.map_name)
    is_open = "header" in traits["parts"] and traits["map"] == view.map_name and not maps.changes
    if not is_open or traits["opened"] != place_in(traits) or not any(True for _ in first_answer.carried(maps, ())):
        return {}
    place = first_answer.largest_place(maps, traits["include_layers"], traits["include_heads"])
    return {} if (place.get("layer"), place.get("head")) == (traits["layer"], traits["head"]) else place


def saved_answers(view: ViewRecord, traits: Mapping[str, Any], selection: Selection) -> Iterator[Step]:
    """What a page without a kernel is asked by its parts."""
    carried = set()
    parts = [PARTS.get(name) or TABS[name] for name in traits["parts"]]
    names = [name for part in parts for name in part.questions if name in QUESTIONS]  # a room's may be taken out
    for name, maps in view.trace.maps.items():
        request = Request(view, name, traits, _refuse)
        layers = [layer for layer in selection.layers if layer < maps.n_layers]
        for question_name in dict.fromkeys(("head", "norms", *names)):  # the selected head, by either measure, always
            question = QUESTIONS[question_name]
            with suppress(BertLensError):  # of what it is asked cannot be said: it has no answer
                for arguments in question.saved_answers(request, layers, selection if name == traits["map"] else None):
                    message = {"op": question_name, "map": name, **arguments}
                    carried.add(html.question_name(message))
                    yield message, partial(_whole, question, request, arguments)
    for message in view.remembered:
        if html.question_name(message) not in carried:
            request = Request(view, message["map"], traits, _refuse)
            yield message, partial(_whole, QUESTIONS[message["op"]], request, message)


def _refuse(_trace: Trace) -> None:
    raise InputError("a page without a kernel shows one trace")


def _answered(trace: Trace, steps: Iterable[Step], bar: Progress | None) -> Iterator[tuple[Message, Reply]]:
    """The answers; raises ModelError where the model is another after the last one than before the first."""
    fingerprint = trace.model and trace.model.fingerprint()
    for message, answer in steps:
        yield message, answer()
        if bar is not None:
            bar.update()
    if trace.model is not None and trace.model.fingerprint() != fingerprint:
        raise ModelError("the model was changed while the page was being made: trace again, then save it")


def _whole(question: Question, request: Request, arguments: Message) -> Reply:
    """The answer, or why there is none, as a page gets it that asks again until all of it is done."""
    try:
        while (reply := question.reply(request, arguments, saved=True))[0].get("again"):
            pass
    except BertLensError as error:
        return refusal(error)
    return reply


def check_size(view: ViewRecord, layers: Sequence[int]) -> None:
    """Raises ExportError where the layers alone pass the limit: known from shapes, before any of them is computed.

    Shapes say what a page holds at most. Only where that is past the limit a few heads are deflated to say how much is
    saved: the least of them refuses, the most names the layers that fit.
    """
    layer_bytes = sum(_most_bytes(trace) for trace in view.trace.maps.values())
    base_bytes = _rest(view)
    if layer_bytes * len(layers) + base_bytes <= html.LIMIT:
        return
    shares = [_share(trace, layers) for trace in view.trace.maps.values()]
    least_bytes = int(layer_bytes * min(low for low, _ in shares))
    if least_bytes * len(layers) > html.LIMIT:
        of_layer = int(layer_bytes * max(high for _, high in shares))
        if least_bytes + base_bytes <= html.LIMIT:  # one may fit
            of_layer = min(of_layer, html.LIMIT - base_bytes)
        raise html.too_large(layers, of_layer * len(layers) + base_bytes, of_layer)


def _rest(view: ViewRecord) -> int:
    """What every page of this text takes, about: the bundle and the first picture."""
    files = len(bundle.text("widget.js")) + len(bundle.text("widget.css"))
    return files + len(view.overview["data"]) * 5 // 4


def _most_bytes(trace: Trace) -> int:
    """What a layer takes in a page where nothing deflates, by shapes alone: its heads, norms and stream, as text."""
    tokens, keys = trace.n_tokens, len(trace.key_tokens)
    head = 2 * tokens * (trace.head_dim or 0) * 4 + tokens * 8 if trace.has_neurons else tokens * keys * 4
    head += sum(array.nbytes for array in term_arrays(trace.record.layers[0], 0)[1].values())
    stream = tokens * (2 * 4 + 8 * (4 + 4))
    return (trace.n_heads * (head + 4 * tokens) + stream) * 5 // 4


def _share(trace: Trace, layers: Sequence[int]) -> tuple[float, float]:
    """(least, most) of their bytes that three heads of these layers keep when they are deflated."""
    numbers = [layer for layer in layers if layer < trace.n_layers] or [0]
    shares = []
    for layer, head in zip(
        (numbers[0], numbers[len(numbers) // 2], numbers[-1]), (0, trace.n_heads // 2, trace.n_heads - 1), strict=True
    ):
        index, blob = pack(rounding.saved_head(trace, layer, head)[1])
        shares.append(len(deflated(blob, index)[0]) / len(blob))
    return min(shares), max(shares)
