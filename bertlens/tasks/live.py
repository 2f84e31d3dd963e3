"""The heads of some texts, live, in the page of a task: one copy of the bundle, and a frame for each text once opened.

A frame is a page of its own (`export.html`), put together by the one script here from three parts: what stands before
the bundle, the bundle, and what stands behind it. The page's policy allows these two scripts by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..errors import BertLensError
from ..export import html
from ..trace.provenance import visible
from .answers import Answered
from .importance import Heads

TEXTS = 10
LIMIT = 12_000_000  # bytes of all frames; the next text is left out
TITLE = 90  # characters of a text
_OPEN, _CLOSE = '<script type="module" async>', "</script>"
_FRAMES = """
const bundle = JSON.parse(document.getElementById("bundle").textContent);
for (const details of document.querySelectorAll("details.live")) {
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("iframe")) return;
    const [before, after] = JSON.parse(details.querySelector("script").textContent);
    const frame = document.createElement("iframe");
    frame.title = details.querySelector("summary").textContent;
    frame.srcdoc = before + bundle + after;
    details.append(frame);
  });
}
"""


@dataclass(frozen=True)
class Frames:
    """Markup of the views, the scripts that come last, and what a content policy has to allow."""

    markup: str = ""
    scripts: str = ""
    policy: str = ""


def frames(task: Answered, rows: Sequence[int], heads: Heads | None) -> Frames:
    """The views of these rows, as many as fit; none where the model shows no attention."""
    layer, head = _first(heads)
    found: list[tuple[int, str, list[str]]] = []
    script, size = "", 0
    for row in rows:
        page = _page(task, row, layer, head)
        if page is None:
            continue
        before, _, rest = page.partition(_OPEN)
        script, _, after = rest.partition(_CLOSE)
        size += len(before) + len(after)
        if size > LIMIT:
            break
        found.append((row, " / ".join(task.examples.shown()[row]), [before + _OPEN, _CLOSE + after]))
    if not found:
        return Frames()
    markup = "".join(
        f'<details class="live" id="live-{row}"><summary>{row}: {escape(_short(text))}</summary>'
        f"{_data(parts)}</details>"
        for row, text, parts in found
    )
    where = "" if heads is None else f", opened at L{layer}·H{head}, the head with the largest effect"
    said = f'<h2>Heads, live</h2><p class="soft">The texts with the largest loss{where}. A click opens a text.</p>'
    scripts = f"{_data(script, 'bundle')}<script>{_FRAMES}</script>"
    hashes = " ".join(f"'sha256-{_hash(one)}'" for one in (script, _FRAMES))
    return Frames(said + markup, scripts, f"; script-src {hashes}; img-src data: blob:; frame-src 'self'")


def _first(heads: Heads | None) -> tuple[int, int]:
    """The head with the largest effect."""
    if heads is None:
        return 0, 0
    best = heads.table[(heads.table["head"] >= 0)].iloc[0]
    return int(best["layer"]), int(best["head"])


def _page(task: Answered, row: int, layer: int, head: int) -> str | None:
    """The page of one text's view; of all layers, or where that is too large of the opened one. None without a view."""
    try:
        trace = task.lens.run([task.examples.encoding(task.lens, row, task.truncation)])[0]
        view: Any = trace.explore(layer=layer, head=head)
    except BertLensError:
        return None
    for layers in (None, [layer]):
        try:
            text = html.to_html(view.page(layers))
        except BertLensError:
            continue
        if layers is not None or len(text) < LIMIT / TEXTS:
            return text
    return None


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= TITLE else f"{shown[: TITLE - 1]}…"


def _data(value: Any, name: str = "") -> str:
    text = json.dumps(value).replace("<", "\\u003c")
    return f'<script type="application/json"{f" id={name!r}" if name else ""}>{text}</script>'


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
