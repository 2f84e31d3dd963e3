"""A view as one page that works without a kernel, a network or anything beside it.

The page holds the bundle, the view's traits, and a model object (js/src/host/savedpage.ts) that answers the bundle's
questions from data elements, one for each answer: only what is looked at is read, and what was deflated (deflate.py) is
unpacked only then. They come last, after the script, which does not wait for them: the view is there before the rest of
the page has arrived. Text of the user appears in two places only: escaped in the page's title and footer, and as JSON
in a data element, where no "<" is left. A content policy allows our one script by its hash, and no request at all. All
of it is ASCII: a host that takes the page for another encoding than its own changes no letter, and not the script's
hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from ..base.atomic import replacing
from ..base.wire import json_safe
from ..errors import ExportError
from . import bundle, pages
from .deflate import as_text, carried, from_text
from .live import SAID, Live

LIMIT = 20_000_000  # bytes of a page
SCRIPTS = 1_000_000  # bytes of scripts and of the first picture, about
PLAIN = 4_000_000  # bytes of answers that a page with its model holds as they are
OTHERS = 4_000_000  # bytes of a live page's other texts; what is past it is run there
BESIDE = 14_000_000  # bytes of the other texts of a page without the model
_EXPORT = "export{widget as default};\n"  # how js/build.mjs ends the bundle
# A page that runs its model: WebAssembly, and a Worker made of the page's own script.
_WASM = " 'wasm-unsafe-eval'; worker-src blob:"
_SERVED = "; connect-src 'self'"  # which asks for its weights
INDEX = "index.html"
WEIGHTS = "weights.bin"  # beside a page that does not hold them itself
_PLACE = "<!-- the model -->"
_ELEMENT = re.compile(
    r'<script type="application/json" id="bertlens-(?:live|weights-\d+)">(.*?)</script>\n?', re.DOTALL
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@dataclass(frozen=True)
class Page:
    """A page to be written: what it starts from, and what it answers. Plain data, so that anything can make one.

    title, footer: text. state: the view's traits. overviews: of maps that the state's own overview is not of. answers:
    (question, its fields and buffers) pairs, made when the page is written. holds: which layers, for errors on the
    page. layers: which are held. live: the model, where the page carries it. about: what the page says of itself.
    texts: that a live page offers, "" where there is no second. others: pages of those that it carries too, as many
    as fit: their overviews and answers. shown_by: the question that shows this text in a page that carries several.
    above: markup of ours that stands above the view, whose links to a state (#bertlens=…) bring the view up; all text
    of others in it is escaped. below: the same, below the view. still: PNG of the view, for who reads the page without
    scripts. corpus: see pages.origin.
    """

    title: str
    footer: str
    state: Mapping[str, Any]
    overviews: Mapping[str, tuple[dict[str, Any], bytes]]
    answers: Iterable[tuple[dict[str, Any], tuple[dict[str, Any], list[bytes]]]]
    layers: Sequence[int]
    holds: str
    about: Mapping[str, Any]
    live: Live | None = None
    texts: Sequence[tuple[str, str]] = ()
    others: Iterable[Page] = ()
    above: str = ""
    below: str = ""
    still: Callable[[], bytes] | None = None
    shown_by: Mapping[str, Any] | None = None
    corpus: str = ""


def to_html(page: Page) -> str:
    """The text of a page. Raises ExportError like `_whole`."""
    return with_model(_whole(page), page.live)


def with_model(text: str, live: Live | None) -> str:
    """The text of a page with the model in it, where it has one."""
    if live is None:
        return text
    elements = (_element(f"bertlens-weights-{n}", weights) for n, weights in enumerate(live.parts))
    return text.replace(_PLACE, "\n".join([_element("bertlens-live", live.about), *elements, ""]))


def check_folder(folder: Path, force: bool = False) -> None:
    """Raises ExportError, unless `force`, where `to_folder` would write over what it has not written."""
    index, weights = folder / INDEX, folder / WEIGHTS
    earlier = index.is_file() and all(
        mark in index.read_bytes() for mark in (b'content="bertlens ', f"{WEIGHTS}?".encode())
    )
    for path in [] if force or earlier else [index, weights]:
        if path.exists():
            raise ExportError(f"{path} is there already, and is of no earlier page: name another folder, or force it")


def to_folder(page: Page, folder: str | Path) -> Path:
    """A page that carries its model as two files for a web server, index.html and the weights; where the page is.

    Raises ExportError like `to_html`.
    """
    assert page.live is not None
    return with_model_beside(_whole(page, hosted=True), page.live, folder)


def with_model_beside(text: str, live: Live, folder: str | Path) -> Path:
    """The text of a page and its model as two files of a folder; where the page is."""
    path = Path(folder) / INDEX
    with replacing(path) as page, replacing(Path(folder) / WEIGHTS) as weights:  # both, or what was there before
        page.write(text.replace(_PLACE, _weights_file(live.about, live.parts, weights)).encode())
    return path


def _weights_file(about: Mapping[str, Any], parts: Iterable[Mapping[str, Any]], out: BinaryIO) -> str:
    """Weights written to a file of their own; the element by which the page knows them."""
    pieces, digest = [], hashlib.sha256()
    for piece in parts:
        data = dict(piece["data"])
        blob = from_text(data.pop("$bytes"))
        digest.update(blob)
        out.write(blob)
        pieces.append({"index": piece["index"], "size": len(blob), "data": data})
    # another name for other weights: what a browser keeps of these is not taken for those
    return _element("bertlens-live", {**about, "file": f"{WEIGHTS}?{digest.hexdigest()[:12]}", "parts": pieces})


def carries_weights(text: str) -> bool:
    """Whether the text of a page holds its model's weights itself."""
    return _opening("bertlens-weights-0") in text


def weights_apart(text: str, out: BinaryIO) -> str:
    """The text of a page that `carries_weights` as `to_folder` writes it; its weights go to `out`."""
    start = text.index(_opening("bertlens-live"))
    elements = list(_ELEMENT.finditer(text, start))
    about, *parts = (json.loads(element[1]) for element in elements)
    text = text[:start] + _weights_file(about, parts, out) + text[elements[-1].end() :]
    return text.replace(_WASM, _WASM + _SERVED, 1).replace(SAID.format("in"), SAID.format("beside"), 1)


def _whole(page: Page, hosted: bool = False) -> str:
    """The text of a page, but for the model.

    Raises ExportError past 20 MB, naming the layers that would fit.
    """
    replies = {question_name(question): (fields, b"".join(buffers)) for question, (fields, buffers) in page.answers}
    # a browser that cannot unpack shows no model, but the text that a page carries where that is little
    is_plain = page.live is not None and sum(len(blob) for _, blob in replies.values()) < PLAIN
    message = partial(_message, is_plain=is_plain)
    answers = {name: message(fields, blob) for name, (fields, blob) in replies.items()}
    answer_bytes = sum(len(answer["data"]["$bytes"]) for answer in answers.values())
    room = LIMIT - answer_bytes - len(page.above) - len(page.below) - len(_css()) - SCRIPTS
    texts = _others(page.others, OTHERS if page.live is not None else min(BESIDE, room))
    data = {
        "others": [about for about, _ in texts],
        "state": {**page.state, "overview": message(**page.state["overview"])},
        "overviews": {name: message(header, data) for name, (header, data) in page.overviews.items()},
        "holds": page.holds,
        "shown_by": page.shown_by and question_name(page.shown_by),
        "about": page.about,
        "texts": page.texts,
        "above": bool(page.above),
    }
    text = pages.render(
        "saved.jinja",
        drawn="a language model's attention",
        title=page.title,
        footer=page.footer,
        css=_ascii_css(_css()),
        data=_json(data),
        answers="\n".join([*map(_element, answers, answers.values()), *(elements for _, elements in texts)]),
        script=_script(page.live is not None),
        origin=pages.origin(page.about["model"], page.corpus, page.live.licence if page.live else ""),
        **_of_model(page.live, hosted),
        place=_PLACE,
        above=page.above,
        below=page.below,
        still=base64.b64encode(page.still()).decode() if page.still else "",
    )
    text = _ascii(text)
    size = len(text)
    if size > LIMIT:
        raise too_large(page.layers, size, _layer_bytes(answers, page.layers))
    return text


def _of_model(live: Live | None, hosted: bool) -> dict[str, Any]:
    """What the template of a page is told of its model."""
    rights = _WASM + (_SERVED if hosted else "") if live else ""
    return {"rights": rights, "live": live and {name: getattr(live, name) for name in ("said", "digits", "credits")}}


def _others(pages: Iterable[Page], room: int) -> list[tuple[dict[str, Any], str]]:
    """Of each text that a page carries beside its own, as far as the bytes reach: what it is known by, and its
    elements."""
    texts: list[tuple[dict[str, Any], str]] = []
    for page in pages:
        overview = page.state["overview"]
        about = {name: overview["header"][name] for name in ("trace", "subject", "text", "text_pair")}
        about |= {"holds": page.holds, "shown_by": page.shown_by and question_name(page.shown_by)}
        elements = [_element(f"{about['trace']} overview", _message(**overview))]
        for name, (header, data) in page.overviews.items():
            key = question_name({"op": "overview", "map": name})
            elements.append(_element(f"{about['trace']} {key}", _message(header, data)))
        for question, (fields, buffers) in page.answers:
            elements.append(
                _element(f"{about['trace']} {question_name(question)}", _message(fields, b"".join(buffers)))
            )
        texts.append((about, "\n".join(elements)))
        if sum(len(markup) for _, markup in texts) > room:
            return texts[:-1]
    return texts


def _layer_bytes(answers: Mapping[str, dict[str, Any]], layers: Sequence[int]) -> int:
    """What one layer takes: answers about layers are alike for all of them."""
    about_layers = [message for name, message in answers.items() if '["layer",' in name]
    return sum(len(message["data"]["$bytes"]) + 200 for message in about_layers) // max(1, len(layers))  # 200: its JSON


def question_name(question: Mapping[str, Any]) -> str:
    """A question of the page as the key of its answer, the same text that the page makes of it."""
    return json.dumps(sorted(question.items()), separators=(",", ":"), ensure_ascii=False)


def _message(header: Mapping[str, Any], data: bytes, is_plain: bool = False) -> dict[str, Any]:
    """An overview, or an answer of the kernel, as the page reads it; `is_plain`: not deflated."""
    plain = {"$bytes": as_text(data)}
    return {"header": header, "data": plain if is_plain else carried(data, header.get("arrays", ()))}


def _json(value: Any) -> str:
    """JSON that can stand inside a script element: no "<" can open or close one."""
    text = json.dumps(json_safe(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _ascii(markup: str) -> str:
    return markup.encode("ascii", "xmlcharrefreplace").decode()


def _element(name: str, value: Any) -> str:
    return _ascii(pages.render("element.jinja", name=name, json=_json(value)))


def _opening(name: str) -> str:
    return f'<script type="application/json" id="{name}">'


def _css(name: str = "widget.css") -> str:
    return bundle.text(name).replace("</", "<\\/")


def _ascii_css(css: str) -> str:
    return _NOT_ASCII.sub(lambda letter: f"\\{ord(letter[0]):x} ", css)


def _script(live: bool) -> str:
    """The bundle with the saved page started on the widget; live: the engine with it."""
    engine = f", {bundle.function('engine.js')}" if live else ""
    return _started("widget.js", f"({bundle.function('savedpage.js')})().start(widget{engine})")


def _started(name: str, start: str) -> str:
    """A bundle that ends in its `widget`, and what starts it, safe inside a script element."""
    widget = bundle.text(name)
    if not widget.endswith(_EXPORT):
        raise ExportError("the bundle of this installation has no default export: run `make build` again")
    height = f"({bundle.function('frameheight.js')})().tellHeight()"
    script = f"{widget.removesuffix(_EXPORT)};{start};{height};\n"
    # in a JavaScript string or expression \/ and \! are / and !; nothing but strings holds letters beyond ASCII
    script = _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], script)
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE).replace("<!--", "<\\!--").replace("\r\n", "\n")


def search_page(
    title: str,
    footer: str,
    state: Mapping[str, Any],
    answers: Mapping[str, Any],
    origin: str,
    live: Live | None = None,
    hosted: bool = False,
    above: str = "",
    below: str = "",
) -> str:
    """The text of the page of a retrieval's view, but for the model: what it is set to, and its answers by
    `question_name`.
    origin: see pages.origin. above, below: HTML that stands there.

    Raises ExportError past 20 MB.
    """
    engine = bundle.function("searchengine.js") if live else ""
    text = _ascii(
        pages.render(
            "saved.jinja",
            drawn="how a language model ranks passages",
            title=title,
            footer=footer,
            origin=origin,
            css=_ascii_css(_css("search.css")),
            data=_json(state),
            answers="\n".join(map(_element, answers, answers.values())),
            script=_started("search.js", f"widget.start({engine})"),
            **_of_model(live, hosted),
            place=_PLACE,
            above=above,
            below=below,
            still="",
        )
    )
    if len(text) > LIMIT:
        raise ExportError(f"the page would hold {len(text) / 1e6:.0f} MB, the limit is {LIMIT // 1_000_000} MB")
    return text


def too_large(layers: Sequence[int], size: int, of_layer: int) -> ExportError:
    """The error that names the layers which fit: they are equally large, since all hold the same tokens."""
    base = max(0, size - of_layer * len(layers))
    fits = int((LIMIT - base) // max(1, of_layer))
    if fits < 1:
        way_out = "not even one layer fits: shorten the text"
    else:
        numbers = ", ".join(str(layer) for layer in layers[:fits])
        way_out = f"{fits} of its layers fit: choose them, for example layers=[{numbers}]"
    return ExportError(f"the page would hold {size / 1e6:.0f} MB, the limit is {LIMIT // 1_000_000} MB; {way_out}")
