"""The Explorer of a text of 4,096 tokens in JupyterLab: first paint, other heads, zoom and pan, the page's memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from benchmarks.browser import PROBE, held, renderers
from benchmarks.notebook import SHOW, TITLE, Own, Socket, click
from benchmarks.rows import Row, mb, ms
from tests.browser.harness import CHROMIUM_ARGS, PATIENCE, Jupyter, chromium, watched

TOKENS, HEADS = 4096, 20
SETUP = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
import bertlens
from benchmarks.length import modern
from benchmarks.models import text
bertlens.Explorer
traces = {{{TOKENS}: modern().trace(text({TOKENS}))}}
"""
READY = "document.querySelector('.bl-zoom canvas') !== null"
PART = "document.querySelector('[data-testid=zoom-part]').textContent"
SHAPE = f"ModernBERT-base shape, {TOKENS:,} tokens"


def asked(page: Page, own: Own, names: list[tuple[int, int]], work: str, budget: str, most: float | None) -> Row:
    whole, spent, _ = own.of(page, [click(*name) for name in names])
    return Row(
        f"{work}, {SHAPE}",
        budget,
        f"{ms(median(whole))} until painted ({ms(max(whole))} at most), {ms(median(spent))} own work",
        ok=None if most is None else median(whole) <= most,
    )


def moved(page: Page, own: Own, work: str, keys: list[str]) -> Row:
    """What keys cost that move what is looked at."""
    grid = "document.querySelector('.bl-zoom [role=grid]')"
    event = "new KeyboardEvent('keydown', {{key: '{}', bubbles: true}})"
    act = f"globalThis.was = {PART}; {grid}.dispatchEvent({event})"
    _, spent, _ = own.of(page, [(act.format(key), f"{PART} !== was") for key in keys])
    return Row(
        f"{work}, {SHAPE}",
        "≤ 16 ms own work a frame",
        f"{ms(median(spent))} own work, {ms(max(spent))} at most",
        ok=max(spent) <= 0.016,
    )


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        jupyter = Jupyter(Path(folder) / "jupyter")
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            path = jupyter.write([SETUP, SHOW.format(TOKENS)], "bench.ipynb")
            context, page, log = watched(browser, jupyter.url, viewport={"width": 1400, "height": 1000})
            context.add_init_script(PROBE)
            session = context.new_cdp_session(page)
            socket, own = Socket(session), Own(session)
            notebook = jupyter.open(page, log, path)
            notebook.run_cell(0)
            notebook.finished(0)
            session.send("HeapProfiler.collectGarbage")
            empty = held(renderers(browser)[0])
            before = socket.bytes
            page.evaluate(
                f"""() => {{
                    const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                    bench.opened = null;
                    kernel.iopubMessage.connect((_, message) => {{
                        if (message.header.msg_type === "comm_open") bench.opened ??= performance.now();
                    }});
                    bench.painted = bench.first(() => {READY}).then((at) => at - bench.opened);
                }}"""
            )
            notebook.run_cell(1)
            notebook.finished(1)
            painted = page.evaluate("() => bench.painted") / 1e3
            count = socket.bytes - before
            yield Row(
                f"Explorer to first paint in JupyterLab, {SHAPE}",
                "≤ 3 MB to the page",
                f"{mb(count)}; {ms(painted)} from comm open",
                ok=count <= 3e6,
            )
            page.wait_for_selector('[data-state="live"]', timeout=PATIENCE)
            page.wait_for_function(f"() => {TITLE}.includes('L0·H0')")
            own.calibrate(page)
            names = [(layer, (5 * layer) % 12) for layer in range(1, HEADS + 1)]
            yield asked(page, own, names[:4], "another head while thumbnails are made, asked", "–", None)
            page.wait_for_function(
                "() => document.querySelectorAll('.bl-thumb img').length === 264", timeout=10 * PATIENCE
            )
            socket.settle(page)
            yield asked(page, own, names[4:], "another head, asked", "≤ 300 ms until painted", 0.3)
            session.send("HeapProfiler.collectGarbage")
            more = held(renderers(browser)[0]) - empty
            yield Row(
                f"memory of the page after {HEADS} heads, {SHAPE}",
                "≤ 150 MB above the page without the view",
                f"{mb(more)} above {mb(empty)}",
                ok=more <= 150e6,
            )
            page.wait_for_function(f"() => !{PART}.includes('%')", timeout=PATIENCE)
            page.wait_for_timeout(1000)
            yield moved(page, own, "zoom in and out", ["+", "+", "+", "-", "-", "-"] * 2 + ["+"] * 3)
            yield moved(page, own, "pan, zoomed in", ["End", "Home"] * 6)
        finally:
            browser.close()
            jupyter.stop()
