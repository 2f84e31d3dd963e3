"""A widget as one page that works without a kernel, a network or anything beside it.

The page holds the bundle, the widget's traits, and a model object (page.js) that answers the bundle's questions from
data elements, one for each answer: only what is looked at is read. They come last, after the script, which does not
wait for them: the view is there before the rest of the page has arrived. Text of the user appears in two places only:
escaped in the page's title and footer, and as JSON in a data element, where no "<" is left. A content policy allows our
one script by its hash, what that makes itself (blob:, the extras), and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from ..errors import ExportError
from ..wire import json_safe, pack
from .provenance import provenance, visible

LIMIT = 20_000_000  # bytes of a page
_STATIC = Path(__file__).parent.parent / "static"
_EXPORT = re.compile(r"export\s*\{\s*([\w$]+)\s+as\s+default\s*\};?\s*$")

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '$hash' blob:; \
style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="$generator">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
body { margin: 0 auto; max-width: 1400px; padding: 12px; font-family: system-ui, sans-serif; }
footer { font-size: 12px; opacity: 0.75; padding: 8px 4px; overflow-wrap: anywhere; }
$css
</style>
</head>
<body>
<main id="bertlens"></main>
<noscript><p>This page draws a language model's attention with JavaScript, which is switched off here.</p></noscript>
<footer>$footer</footer>
<script type="application/json" id="bertlens-data">$data</script>
<script type="module" async>$script</script>
$answers
</body>
</html>
""")


def to_html(widget: Any, path: str | Path | None = None, *, layers: Sequence[int] | None = None) -> str:
    """The page of a widget, written to `path` if given. Holds all heads, or those of `layers`.

    Raises ExportError past 20 MB, naming the layers that would fit.
    """
    trace = widget.trace
    chosen = None if layers is None else sorted(set(layers))
    about = provenance(trace)
    data = {
        "state": widget.page_state(),
        "pictures": _pictures(widget),
        "extras": base64.b64encode((_STATIC / "extras.js").read_bytes()).decode(),
        "holds": "all layers" if chosen is None else f"layers {', '.join(map(str, chosen))}",
        "about": about,
    }
    slices = _slices(widget, chosen)
    answers = slices | {
        question_name(question): _message(fields, buffers[0] if buffers else b"")
        for question, (fields, buffers) in widget.page_answers(chosen)
    }
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    names = " ".join(f"{name} {number}" for name, number in about["versions"].items())
    texts = " / ".join(visible(text) for text in (trace.text, trace.text_pair) if text)
    model = visible(trace.model_name)
    page = _PAGE.substitute(
        hash=f"sha256-{digest}",
        generator=f"bertlens {about['versions']['bertlens']}",
        title=html.escape(f"{model}: {texts[:80]}" if texts else model),
        footer=html.escape(f"{model} ({trace.dtype}) · {names} · {about['date']}"),
        css=(_STATIC / "widget.css").read_text(encoding="utf-8").replace("</", "<\\/"),
        data=_json(data),
        answers="\n".join(
            f'<script type="application/json" id="{html.escape(name)}">{_json(message)}</script>'
            for name, message in answers.items()
        ),
        script=script,
    )
    size = len(page.encode())
    if size > LIMIT:
        raise _too_large(size, slices)
    if path is not None:
        Path(path).write_text(page, encoding="utf-8", newline="\n")
    return page


def _pictures(widget: Any) -> dict[str, Any]:
    """The maps of an encoder-decoder beside the one whose picture is a trait."""
    from ..widgets.picture import picture  # not above: the widgets import this package

    answers = {}
    for name, shown in widget.trace.maps.items():
        if name != widget.picture["header"]["map"]:
            layer, head = min(widget.layer, shown.n_layers - 1), min(widget.head, shown.n_heads - 1)
            made = picture(widget.trace, name, layer, head)
            answers[name] = _message(made["header"], made["data"])
    return answers


def _slices(widget: Any, layers: list[int] | None) -> dict[str, Any]:
    return {
        f"{name}/{layer}/{head}": _message({**fields, "arrays": index}, blob)
        for (name, layer, head), fields, arrays in widget.slices(layers)
        for index, blob in [pack(arrays)]
    }


def question_name(question: dict[str, Any]) -> str:
    """A question of the page as the key of its answer, the same text that page.js makes of it."""
    return json.dumps(sorted(question.items()), separators=(",", ":"), ensure_ascii=False)


def _message(fields: dict[str, Any], blob: bytes) -> dict[str, Any]:
    """An answer of the kernel, as page.js gives it."""
    return {"fields": fields, "data": base64.b64encode(blob).decode()}


def _json(value: Any) -> str:
    """JSON that can stand inside a script element: no "<" can open or close one."""
    text = json.dumps(json_safe(_encoded(value)), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _encoded(value: Any) -> Any:
    """Bytes as {"$bytes": base64}, at any depth."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: _encoded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(item) for item in value]
    return value


def _script() -> str:
    """The bundle with page.js called on its default export, safe inside a script element."""
    bundle = (_STATIC / "widget.js").read_text(encoding="utf-8")
    exported = _EXPORT.search(bundle)
    if exported is None:
        raise ExportError("the bundle of this installation has no default export: run `make build` again")
    start = Path(__file__).with_name("page.js").read_text(encoding="utf-8").rstrip()
    script = f"{bundle[: exported.start()]}\n;({start})({exported[1]});\n"
    # in a JavaScript string or expression \/ and \! are / and !
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE).replace("<!--", "<\\!--").replace("\r\n", "\n")


def _too_large(size: int, slices: dict[str, Any]) -> ExportError:
    """The error that names the layers which fit: they are equally large, since all hold the same tokens."""
    of_layer: dict[int, int] = {}
    for name, message in slices.items():
        layer = int(name.split("/")[1])
        of_layer[layer] = of_layer.get(layer, 0) + len(message["data"]) + 200  # its JSON
    fits = int((LIMIT - (size - sum(of_layer.values()))) // max(of_layer.values()))
    if fits < 1:
        way_out = "not even one layer fits: shorten the text"
    else:
        first = ", ".join(str(layer) for layer in sorted(of_layer)[:fits])
        way_out = f"{fits} of its layers fit: choose them, for example layers=[{first}]"
    return ExportError(f"the page would hold {size / 1e6:.0f} MB, the limit is {LIMIT // 1_000_000} MB; {way_out}")
