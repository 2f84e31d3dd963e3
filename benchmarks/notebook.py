"""The Explorer in JupyterLab: bytes and time to the first paint, and what going on from there costs.

Bytes are the websocket's, as the browser counts them, bundle included. Round trips are given whole and less an empty
one, which a widget that only echoes makes in the same notebook. The next frame comes 17 ms after the last one, however
little there is to do; "own work" is what the page's main thread does from the task that changes something to the frame
that shows it, less a frame in which a single pixel has moved. What stands beside the head follows two frames later; "in
all" is own work with that.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.browser import PROBE, timed
from benchmarks.rows import Row, mb, ms
from tests.browser.harness import CHROMIUM_ARGS, PATIENCE, Jupyter, Notebook, chromium, watched

SETUP = f"""
import os, sys, time
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
import anywidget
from benchmarks.models import base_lens, text
import bertlens

class Echo(anywidget.AnyWidget):
    _esm = '''export default {{ render({{ model }}) {{
        globalThis.echo = () => new Promise((done) => {{
            const answer = () => {{ model.off("msg:custom", answer); done(); }};
            model.on("msg:custom", answer);
            model.send({{}});
        }});
    }} }}'''
    def __init__(self):
        super().__init__()
        self.on_msg(lambda *_: self.send({{}}))

bertlens.Explorer
traces = {{tokens: base_lens().trace(text(tokens)) for tokens in (128, 512)}}
Echo()
"""
SHOW = """
start, cpu = time.perf_counter(), time.process_time()
view = traces[{}].explore(settings=dict(all_heads=True))
spent = time.perf_counter() - start, time.process_time() - cpu
view
"""
READY = (
    "document.querySelectorAll('.bl-thumb').length === 144"
    " && document.querySelector('[data-testid=matrix] canvas') !== null"
)
FILLED = "document.querySelectorAll('.bl-thumb img').length === 144"
TITLE = "document.querySelector('[data-testid=head-title]').textContent"
BYTES = {128: 0.5e6, 512: 1.0e6}
PAUSE = 150  # ms before each change, for what the one before it still has to tell the kernel
DOT = """() => {
    const dot = Object.assign(document.createElement("div"), { id: "dot" });
    dot.style = "position: fixed; z-index: 9999; width: 1px; height: 1px; left: 0; top: 0; background: red";
    document.body.append(dot);
}"""
TAB = "document.querySelector('[role=tab][data-tab={}]')"
# What the legend of the head and the heading of the atlas say of each measure.
SAID = {"weight": ("α,", ""), "norm": ("‖αf(x)‖,", "‖αf(x)‖"), "difference": ("Δ,", "Δ")}
BERTVIZ = 44  # bytes of its page for each attention weight


class Socket:
    """Counts what goes through the page's connection to the kernel."""

    def __init__(self, session: CDPSession) -> None:
        self.received = self.sent = self.bytes = 0
        self.kernels: set[str] = set()
        session.send("Network.enable")
        session.on("Network.webSocketCreated", self._created)
        session.on("Network.webSocketFrameReceived", self._received)
        session.on("Network.webSocketFrameSent", self._sent)

    def settle(self, page: Page) -> None:
        """Wait until nothing has gone through for a second."""
        before = -1
        while before != self.sent + self.received:
            before = self.sent + self.received
            page.wait_for_timeout(1000)

    def _created(self, event: dict[str, Any]) -> None:
        if "/api/kernels/" in event["url"]:  # JupyterLab has another one, for news of files
            self.kernels.add(event["requestId"])

    def _received(self, event: dict[str, Any]) -> None:
        if event["requestId"] in self.kernels:
            payload = event["response"]["payloadData"]
            self.received += 1
            self.bytes += len(b64decode(payload)) if event["response"]["opcode"] == 2 else len(payload.encode())

    def _sent(self, event: dict[str, Any]) -> None:
        self.sent += event["requestId"] in self.kernels


class Own:
    """What the page's main thread does, as the browser traces it, without what any frame takes."""

    def __init__(self, session: CDPSession) -> None:
        self.session = session
        self.frame = 0.0  # s that any frame takes
        self._events: list[dict[str, Any]] = []
        self._ended = 0
        session.on("Tracing.dataCollected", lambda event: self._events.extend(event["value"]))
        session.on("Tracing.tracingComplete", lambda _: setattr(self, "_ended", self._ended + 1))

    def of(self, page: Page, changes: list[tuple[str, str]]) -> tuple[list[float], list[float], list[float]]:
        """Seconds until painted, the page's own until then, and with what follows, of each change."""
        self._events.clear()
        config = {"includedCategories": ["toplevel", "blink.user_timing"], "excludedCategories": ["*"]}
        self.session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": config})
        whole = []
        for one in changes:
            page.wait_for_timeout(PAUSE)
            whole += timed(page, [one])
        page.wait_for_timeout(PAUSE)
        ended = self._ended
        self.session.send("Tracing.end")
        while self._ended == ended:
            page.wait_for_timeout(10)
        return whole, self._spent("bench-drawn"), self._spent(None)

    def _spent(self, until: str | None) -> list[float]:
        """Seconds of the main thread's tasks from each "bench-act" to the mark `until`, or for PAUSE and one frame."""
        marks = [event for event in self._events if event["name"] in ("bench-act", until)]
        thread = {(mark["pid"], mark["tid"]) for mark in marks}
        tasks = [
            event
            for event in self._events
            if event["name"].endswith("RunTask") and event["ph"] == "X" and (event["pid"], event["tid"]) in thread
        ]
        begun = sorted(mark["ts"] for mark in marks if mark["name"] == "bench-act")
        ends = sorted(mark["ts"] for mark in marks if mark["name"] == until) or [at + 1000 * PAUSE for at in begun]
        return [
            sum(task["dur"] for task in tasks if task["ts"] + task["dur"] >= start and task["ts"] <= end) / 1e6
            - self.frame
            for start, end in zip(begun, ends, strict=True)
        ]

    def calibrate(self, page: Page) -> None:
        page.evaluate(DOT)
        moves = [(f"document.getElementById('dot').style.left = '{n}px'", "true") for n in range(15)]
        self.frame = median(self.of(page, moves)[1])


def first_paint(notebook: Notebook, socket: Socket, cell: int, tokens: int) -> Row:
    page = notebook.page
    page.evaluate(
        f"""() => {{
            const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            bench.opened = null;
            kernel.iopubMessage.connect((_, message) => {{
                if (message.header.msg_type === "comm_open") bench.opened ??= performance.now();
            }});
            bench.painted = bench.first(() => {READY});
            bench.filled = bench.first(() => {FILLED});
        }}"""
    )
    before = socket.bytes
    notebook.run_cell(cell)
    painted, filled = (
        page.evaluate(f"async () => (await bench.{name}) - bench.opened") / 1e3 for name in ("painted", "filled")
    )
    notebook.finished(cell)
    spent, cpu = eval(notebook.kernel("print(spent)"))
    count = socket.bytes - before
    return Row(
        f"Explorer to first paint in JupyterLab, 12×12×{tokens}",
        f"≤ {BYTES[tokens] / 1e6:.1f} MB to the page, ≤ 500 ms",
        f"{mb(count)}; {ms(painted)} from comm open after {ms(spent)} of the kernel's preparation ({ms(cpu)} of CPU); "
        f"{ms(filled)} until all thumbnails are there",
        f"BertViz: {BERTVIZ} bytes a weight, {mb(BERTVIZ * 144 * tokens**2)}; model view not drawn",
        count <= BYTES[tokens] and painted <= 0.5,
    )


def click(layer: int, head: int) -> tuple[str, str]:
    return (
        f"document.querySelector('[data-head=\"{layer}-{head}\"]').click()",
        f"{TITLE}.includes('L{layer}·H{head}')",
    )


def heads(page: Page, own: Own) -> Iterator[Row]:
    """Going to heads that the page lacks, each beside an empty round trip, and back to those that it has."""
    names = [(layer, (5 * layer) % 12) for layer in range(1, 12)] + [
        (layer, (5 * layer + 3) % 12) for layer in range(5)
    ]
    asked, work, all_work, empty = [], [], [], []
    for name in names:
        whole, spent, in_all = own.of(page, [click(*name)])
        asked += whole
        work += spent
        all_work += in_all
        empty += timed(page, [("globalThis.heard = false; echo().then(() => { heard = true; })", "heard")])
    less = median(a - e for a, e in zip(asked, empty, strict=True))
    yield Row(
        "head change at 512 tokens in JupyterLab, asked",
        "≤ 60 ms",
        f"{ms(median(asked))} until painted, {ms(less)} less an empty round trip; {ms(median(work))} own work, "
        f"{ms(median(all_work))} in all",
        f"an empty round trip: {ms(median(empty))}; BertViz: cannot open",
        median(asked) <= 0.06,
    )
    cached, work, all_work = own.of(page, [click(*name) for name in names[:-1]])
    yield Row(
        "head change at 512 tokens, cached",
        "≤ 10 ms own work",
        f"{ms(median(work))} own work, {ms(median(all_work))} in all; {ms(median(cached))} until the frame has ended",
        f"any frame: {ms(own.frame)}",
        median(work) <= 0.01,
    )


def why(page: Page, socket: Socket) -> Row:
    """The pinned cell's score by its sources: the tab opened, then other heads of the last layers, each asked."""
    says = "document.querySelector('[data-testid=why-says]')?.textContent.includes('L{}·H{}')"
    socket.settle(page)
    layer, head = page.evaluate(f"() => {TITLE}.match(/\\d+/g)")
    opened = timed(page, [(f"{TAB.format('why')}.click()", says.format(layer, head))])[0]
    others = timed(
        page, [(click(layer, head)[0], says.format(layer, head)) for layer in range(8, 12) for head in (1, 4, 7)]
    )
    return Row(
        "Why tab in JupyterLab, 12×12×128, asked",
        "< 150 ms",
        f"{ms(opened)} when opened, {ms(median(others))} for another head of layers 8-11, until painted",
        ok=max(opened, median(others)) < 0.15,
    )


def switch(measure: str) -> tuple[tuple[str, str], str]:
    """JavaScript: switching the measure, as (act, whether the head shows it); whether the atlas shows it."""
    act = (
        "const shows = document.querySelector('.bl-head header select');"
        f"shows.value = '{measure}'; shows.dispatchEvent(new Event('change', {{bubbles: true}}))"
    )
    head, atlas = SAID[measure]
    legend = f"[...document.querySelectorAll('.bl-head .bl-legend [title]')].some(s => s.title.startsWith('{head}'))"
    return (act, legend), f"(document.querySelector('.bl-atlas header > .bl-muted')?.textContent ?? '') === '{atlas}'"


def measures(notebook: Notebook, own: Own) -> Iterator[Row]:
    """From weights to norms and to differences, each first asked of the kernel; then to and fro."""
    page, clock = notebook.page, "print(time.process_time())"
    before = float(notebook.kernel(clock))
    head, thumbs = [], []
    for name in ("norm", "difference"):
        changed, atlas = switch(name)
        page.wait_for_timeout(PAUSE)
        opened, rest = timed(page, [changed, ("", atlas)])
        head.append(opened)
        thumbs.append(opened + rest)
    yield Row(
        "measure switch at 512 tokens in JupyterLab: the open head",
        "< 100 ms",
        f"to norms {ms(head[0])}, to differences {ms(head[1])}, until painted",
        ok=max(head) < 0.1,
    )
    yield Row(
        "measure switch at 512 tokens in JupyterLab: all thumbnails",
        "< 1 s",
        f"norms {ms(thumbs[0])}, differences {ms(thumbs[1])}, until painted; "
        f"{ms(float(notebook.kernel(clock)) - before)} of the kernel's CPU for both",
        ok=max(thumbs) < 1,
    )
    whole, work, all_work = own.of(page, [switch(name)[0] for name in ("weight", "norm", "difference") * 4])
    yield Row(
        "measure switch at 512 tokens, cached",
        "≤ 16 ms own work",
        f"{ms(median(work))} own work, {ms(median(all_work))} in all; {ms(median(whole))} until the frame has ended",
        ok=median(work) <= 0.016,
    )


def quiet(page: Page, own: Own, socket: Socket, work: str, changes: list[tuple[str, str]]) -> Row:
    """Something that must need no kernel: not one frame in either direction."""
    socket.settle(page)  # until what went before has been answered
    before = socket.sent, socket.received
    whole, spent, _ = own.of(page, changes)
    socket.settle(page)
    sent, received = socket.sent - before[0], socket.received - before[1]
    return Row(
        work,
        "< 16 ms, no kernel",
        f"{ms(median(spent))} own work, {ms(median(whole))} until the frame has ended; {sent + received} messages",
        "–",
        median(spent) < 0.016 and sent == received == 0,
    )


def hovers(times: int) -> list[tuple[str, str]]:
    act = (
        "const m = document.querySelector('[data-testid=matrix]'), b = m.getBoundingClientRect();"
        "m.dispatchEvent(new PointerEvent('pointermove', {{bubbles: true,"
        "clientX: b.left + b.width * {x}, clientY: b.top + b.height * {y}}}))"
    )
    return [
        (act.format(x=(0.1 + 0.037 * n) % 1, y=(0.2 + 0.051 * n) % 1), "document.querySelector('.bl-mark-hover')")
        for n in range(times)
    ]


def sorts(times: int) -> list[tuple[str, str]]:
    act = (
        "const s = [...document.querySelectorAll('.bl-neurons select')].find(s => s.querySelector('[value=index]'));"
        "s.value = '{value}'; s.dispatchEvent(new Event('change', {{bubbles: true}}))"
    )
    return [(act.format(value=value), "true") for value in ["index", "query", "contribution"] * times]


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        jupyter = Jupyter(Path(folder) / "jupyter")
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            path = jupyter.write([SETUP, SHOW.format(128), SHOW.format(512)], "bench.ipynb")
            context, page, log = watched(browser, jupyter.url, viewport={"width": 1400, "height": 1000})
            context.add_init_script(PROBE)
            session = context.new_cdp_session(page)
            socket, own = Socket(session), Own(session)
            notebook = jupyter.open(page, log, path)
            notebook.run_cell(0)
            notebook.finished(0)
            page.wait_for_function("() => globalThis.echo", timeout=PATIENCE)
            yield first_paint(notebook, socket, 1, 128)
            page.wait_for_selector('[data-state="live"]', timeout=PATIENCE)
            yield why(page, socket)
            socket.settle(page)
            page.evaluate("() => jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
            page.wait_for_function("() => !document.querySelector('.bl-thumb')")
            yield first_paint(notebook, socket, 2, 512)
            page.wait_for_selector('[data-state="live"]', timeout=PATIENCE)
            own.calibrate(page)
            yield from heads(page, own)
            yield quiet(page, own, socket, "hover over the matrix, 512 tokens", hovers(15))
            page.evaluate(f"() => {TAB.format('neurons')}.click()")
            page.wait_for_selector(".bl-neurons canvas")
            yield quiet(page, own, socket, "sort the neurons, 512 tokens", sorts(4))
            yield from measures(notebook, own)
        finally:
            browser.close()
            jupyter.stop()
