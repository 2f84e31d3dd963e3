"""Stand-alone pages beside BertViz's, in the same browser: first paint, going to another head, memory, DOM nodes.

The same view is set beside each of BertViz's: the head view's twelve heads as lines, the model view's atlas, the neuron
view's one head. Ours is opened before and after BertViz's page, so that both meet the same load.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import peer
from benchmarks.browser import Drawn, draw
from benchmarks.models import base_lens, text
from benchmarks.rows import Row, mb, ms

LENGTHS = (32, 64, 128)
LARGEST = {"head": 128, "model": 64}  # that BertViz draws: the budget is on these
FASTER, LESS = 20, 10
SETTINGS: dict[str, dict[str, Any]] = {
    "head": {"mode": "lines", "heads": [[0, head] for head in range(12)]},
    "model": {},
    "neuron": {},
}
READY = {
    "head": "document.querySelector('[data-testid=lines] canvas')",
    "model": "document.querySelector('[data-testid=matrix] canvas')",
    "neuron": "document.querySelector('[data-testid=neurons] canvas')",
}
TITLE = "document.querySelector('[data-testid=head-title]').textContent"


def ready(view: str) -> str:
    return f"document.querySelectorAll('.bl-thumb canvas').length === 144 && {READY[view]} !== null"


def click(layer: int, head: int) -> tuple[str, str]:
    """JavaScript: choosing a head in the atlas; (act, changed)."""
    act = f"document.querySelector('[data-head=\"{layer}-{head}\"]').click()"
    return act, f"{TITLE}.includes('L{layer}·H{head}')"


def both(ours: list[float], theirs: float | None, least: int, inverse: str) -> tuple[float | None, str]:
    """How many times less ours is, as a number and in words."""
    if theirs is None:
        return None, ""
    factor = theirs / mean(ours)
    return factor, f" = {factor:,.{0 if factor >= 10 else 1}f} × {inverse}"


def compared(view: str, tokens: int, folder: Path, empty: Drawn) -> Iterator[Row]:
    mine, theirs = folder / f"bertlens-{view}-{tokens}.html", folder / f"bertviz-{view}-{tokens}.html"
    base_lens().trace(text(tokens)).explore(**SETTINGS[view]).to_html(mine)
    peer.write(view, tokens, theirs)
    ours = [draw(mine, ready(view), [click(n, n + 3) for n in range(1, 6)])]
    other = draw(theirs, peer.ready(view, tokens), peer.changes(view, 2))
    ours.append(draw(mine, ready(view), [click(n, n + 3) for n in range(1, 6)]))
    theirs.unlink()
    work = f"{view} view, {tokens} tokens"
    budgeted = tokens == LARGEST.get(view)
    for name, get, least, inverse, show in (
        ("first paint", lambda d: d.paint, FASTER, "faster", ms),
        ("another head", lambda d: d.change, FASTER, "faster", ms),
        ("renderer memory", lambda d: d.memory, LESS, "less", mb),
    ):
        mean_ours, value = mean(get(d) for d in ours), get(other)
        factor = None if value is None else value / mean_ours
        measured = show(mean_ours)
        if factor is not None:
            measured += f" = {factor:,.{0 if factor >= 10 else 1}f} × {inverse}"
        said = other.why or "no answer" if value is None else show(value)
        if name == "first paint":
            measured += f"; {mb(ours[0].bytes)}, {ours[0].nodes:,} DOM nodes"
            said += f"; {mb(other.bytes)}" + (f", {other.nodes:,} DOM nodes" if other.nodes else "")
        if name == "renderer memory":
            measured += f" (an empty page: {mb(empty.memory)})"
        budget = f"≥ {least} × {inverse}" if budgeted else "–"
        yield Row(f"{work}: {name}", budget, measured, said, factor >= least if budgeted and factor else None)


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        blank = folder / "empty.html"
        blank.write_text("<!doctype html><title>empty</title>", encoding="utf-8")
        empty = draw(blank, "true", [])
        for view in ("head", "model", "neuron"):
            for tokens in LENGTHS:
                yield from compared(view, tokens, folder, empty)
