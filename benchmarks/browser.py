"""Stand-alone pages in Chromium: when they are painted, what they weigh, how much memory their renderer takes.

Each page gets a browser of its own, so that the peak memory of its renderer is the page's.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread

import psutil
from playwright.sync_api import Browser, Error, Page, Route, sync_playwright

from tests.browser.harness import CHROMIUM_ARGS, chromium

CACHE = Path(__file__).parent.parent / ".bench"  # ignored by git
PROBE = Path(__file__).with_name("probe.js").read_text(encoding="utf-8")
MOST_SECONDS, MOST_BYTES = 60, 5e9  # a page that takes more is not waited for
# BertViz's pages load these from a CDN. jQuery 2.0.0, which they ask for, is not on npm.
SCRIPTS = {
    "require": ("requirejs@2.3.6", "requirejs/require.js"),
    "d3": ("d3@5.7.0", "d3/dist/d3.min.js"),
    "jquery": ("jquery@2.1.0", "jquery/dist/jquery.min.js"),
}


@dataclass(frozen=True)
class Drawn:
    """What one page cost: bytes counted by the browser, memory of the renderer; None where nothing was drawn."""

    bytes: int
    memory: float  # after all changes
    peak: float
    paint: float | None  # s, from the start of navigation
    cpu: float | None  # s, of the renderer until then
    change: float | None  # s, median
    nodes: int | None
    why: str = ""  # not drawn


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address under which the files of a folder can be loaded."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@cache
def scripts() -> Path:
    """npm's copies of the scripts that BertViz's pages load from the network."""
    modules = CACHE / "node_modules"
    if not all((modules / file).exists() for _, file in SCRIPTS.values()):
        CACHE.mkdir(exist_ok=True)
        names = [name for name, _ in SCRIPTS.values()]
        subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", CACHE, *names], check=True)
    return modules


def _answer(route: Route) -> None:
    """A request to a CDN, answered from npm's copy."""
    name = Path(route.request.url).name.split(".")[0]
    route.fulfill(path=scripts() / SCRIPTS[name][1], content_type="text/javascript")


def renderers(browser: Browser) -> list[int]:
    """The process ids of the pages' renderers, the largest first; the browser draws its own surface with one more."""
    session = browser.new_browser_cdp_session()
    infos = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    found = [info["id"] for info in infos if info["type"] == "renderer"]
    pages = [pid for pid in found if "--top-chrome-webui" not in psutil.Process(pid).cmdline()]
    return sorted(pages, key=peak, reverse=True)


def held(pid: int) -> float:
    """Bytes that a process holds in memory."""
    return float(psutil.Process(pid).memory_info().rss)


def peak(pid: int) -> float:
    """Most bytes that a process held so far; on other systems than Linux what it holds now."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return float(line.split()[1]) * 1024
    return held(pid)


def draw(path: Path, ready: str, changes: list[tuple[str, str]]) -> Drawn:
    """Open a page, wait until `ready` (JavaScript) holds, then make each change: (act, changed), JavaScript both."""
    with served(path.parent) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            return _draw(browser, f"{address}/{path.name}", ready, changes)
        finally:
            browser.close()


def _draw(browser: Browser, address: str, ready: str, changes: list[tuple[str, str]]) -> Drawn:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.route("https://cdnjs.cloudflare.com/**", _answer)
    page = context.new_page()
    painted: list[float] = []
    page.expose_function("painted", lambda milliseconds: painted.append(milliseconds))
    page.add_init_script(f"{PROBE}\nbench.first(() => {ready}).then(painted)")
    counted: list[int] = []
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: counted.append(int(event["encodedDataLength"])))
    begun = time.monotonic()
    page.goto(address, wait_until="commit")
    while not painted:
        process = renderers(browser)[0]
        memory, most, spent = held(process), peak(process), time.monotonic() - begun
        if most > MOST_BYTES or spent > MOST_SECONDS:
            return Drawn(sum(counted), memory, most, None, None, None, None, f"not drawn after {spent:.0f} s")
        page.wait_for_timeout(100)
    process = renderers(browser)[0]
    cpu = sum(psutil.Process(process).cpu_times()[:2])
    nodes = page.evaluate("() => document.getElementsByTagName('*').length")
    try:
        spent_on, why = timed(page, changes), ""
    except Error as error:
        spent_on, why = [], str(error).splitlines()[0]
    changed = median(spent_on) if spent_on else None
    return Drawn(sum(counted), held(process), peak(process), painted[0] / 1e3, cpu, changed, nodes, why)


def timed(page: Page, changes: list[tuple[str, str]]) -> list[float]:
    """Seconds until painted, of each change in turn; (act, changed) are JavaScript."""
    listed = ", ".join(f"[() => {{ {act} }}, () => {changed}]" for act, changed in changes)
    each = "for (const one of changes) spent.push(await bench.change(...one))"
    spent = page.evaluate(f"async () => {{ const changes = [{listed}], spent = []; {each}; return spent; }}")
    return [milliseconds / 1e3 for milliseconds in spent]
