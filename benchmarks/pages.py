"""Stand-alone pages beside BertViz's, in the same browser: first paint, going to another head, memory, DOM nodes.

The same view is set beside each of BertViz's: the head view's twelve heads as lines, the model view's atlas, the neuron
view's one head. Ours is opened before and after BertViz's page, so that both meet the same load. Memory is what the
page's renderer holds after the same number of head changes, beyond what it holds for an empty page, which is mostly the
browser's own program; its peak is printed too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import peer
from benchmarks.browser import Drawn, draw
from benchmarks.models import base_lens, text
from benchmarks.rows import Row, mb, ms

LENGTHS = (32, 64, 128)
VIEWS = ("head", "model", "neuron")
LARGEST = {"head": 128, "model": 64}  # that BertViz draws: the budget is on these
FASTER, LESS = 20, 10
NEURONS = 32, 2  # tokens, and how many times as fast as BertViz' neuron view the first picture is
ABOVE = 2  # of an empty page that carries the same bytes
CHANGES = 3
SETTINGS: dict[str, dict[str, Any]] = {
    "head": {"mode": "lines", "heads": [[0, head] for head in range(12)], "settings": {"all_heads": True}},
    "model": {"settings": {"all_heads": True}},
    "neuron": {"view": "neurons", "settings": {"all_heads": True}},
}
READY = {
    "head": "document.querySelector('[data-testid=lines] canvas')",
    "model": "document.querySelector('[data-testid=matrix] canvas')",
    "neuron": "document.querySelector('[data-testid=neurons] canvas')",
}
TITLE = "document.querySelector('[data-testid=head-title]').textContent"


def ready(view: str) -> str:
    return f"document.querySelectorAll('.bl-thumb img').length === 144 && {READY[view]} !== null"


def click(layer: int, head: int) -> tuple[str, str]:
    """JavaScript: choosing a head in the atlas; (act, changed)."""
    act = f"document.querySelector('[data-head=\"{layer}-{head}\"]').click()"
    return act, f"{TITLE}.includes('L{layer}·H{head}')"


def emptied(page: Path) -> Path:
    """A page beside this one that carries the same bytes and draws nothing."""
    path = page.with_name(f"empty-{page.name}")
    text, found = re.subn(
        '<script type="module" async>(.*?)</script>',
        lambda script: f'<script type="application/json">{"0" * len(script[1])}</script>',
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert found == 1
    path.write_text(text, encoding="utf-8")
    return path


def compared(view: str, tokens: int, folder: Path, empty: float) -> Iterator[Row]:
    """A view at one length: three rows, four where BertViz draws no larger one."""
    mine, theirs = folder / f"bertlens-{view}-{tokens}.html", folder / f"bertviz-{view}-{tokens}.html"
    base_lens().trace(text(tokens)).explore(**SETTINGS[view]).to_html(mine)
    peer.write(view, tokens, theirs)
    clicks = [click(n, n + 3) for n in range(1, CHANGES + 1)]
    budgeted = tokens == LARGEST.get(view)
    times = 2 if budgeted else 1
    ours = [draw(mine, ready(view), clicks) for _ in range(times)]
    other = draw(theirs, peer.ready(view, tokens), peer.changes(view, CHANGES))
    ours += [draw(mine, ready(view), clicks) for _ in range(times)]
    theirs.unlink()
    nothing = emptied(mine)
    blank = [draw(nothing, "document.readyState === 'complete'", []).paint for _ in range(2 * times if budgeted else 0)]

    def row(name: str, least: int, than: str, mine: float, other: float | None, measured: str, said: str) -> Row:
        asked = budgeted or (view, tokens, name) == ("neuron", NEURONS[0], "first paint")
        factor = None if other is None else other / mine
        times = "" if factor is None else f" = {factor:,.{0 if factor >= 10 else 1}f} × {than}"
        return Row(
            f"{view} view, {tokens} tokens: {name}",
            f"≥ {least} × {than}" if asked else "–",
            measured.format(times),
            said,
            factor >= least if asked and factor is not None else None,
        )

    paint, cpu = median(d.paint for d in ours if d.paint), median(d.cpu for d in ours if d.cpu)
    drawn = f"{ms(other.paint)}; {ms(other.cpu)} of CPU" if other.paint and other.cpu else other.why
    nodes = "" if other.nodes is None else f", {other.nodes:,} DOM nodes"
    yield row(
        "first paint",
        NEURONS[1] if view == "neuron" else FASTER,
        "faster",
        paint,
        other.paint,
        f"{ms(paint)}{{}}; {ms(cpu)} of CPU, {mb(ours[0].bytes)}, {ours[0].nodes:,} DOM nodes",
        f"{drawn}, {mb(other.bytes)}{nodes}",
    )
    if budgeted:
        least = median(spent for spent in blank if spent)
        yield Row(
            f"{view} view, {tokens} tokens: first paint, beside an empty page with the same bytes",
            f"≤ {ABOVE} ×",
            f"{paint / least:.1f} × ({ms(paint)} over {ms(least)})",
            ok=paint <= ABOVE * least,
        )
    change = median(d.change for d in ours if d.change)
    said = "–" if other.change is None else ms(other.change)
    yield row("another head", FASTER, "faster", change, other.change, f"{ms(change)}{{}}", said)
    held = median(d.memory for d in ours) - empty
    yield row(
        "memory of the page",
        LESS,
        "less",
        held,
        other.memory - empty,
        f"{mb(held)}{{}}; at most {mb(median(d.peak for d in ours))}, {mb(empty)} of it an empty page's",
        f"{mb(other.memory - empty)}; at most {mb(other.peak)}, {mb(empty)} of it an empty page's",
    )


def rows(views: tuple[str, ...] = VIEWS, lengths: tuple[int, ...] = LENGTHS) -> Iterator[Row]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        blank = folder / "empty.html"
        blank.write_text("<!doctype html><title>empty</title>", encoding="utf-8")
        empty: Drawn = draw(blank, "true", [])
        for view in views:
            for tokens in lengths:
                yield from compared(view, tokens, folder, empty.memory)
