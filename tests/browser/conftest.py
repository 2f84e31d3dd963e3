"""Browser fixtures. Each page's errors, failed requests and requests to other hosts fail its test at the end.

page_of(html, theme="dark", width=480)   a stand-alone page, from text or a file; page_of.log(page).allow("boom")
page_of.framed([html, html])             each in a sandboxed frame: page.frame_locator("iframe").nth(0)
open_notebook(cells, app="notebook")     JupyterLab or Notebook 7; returns a Notebook: .page .log .kernel(code) ...
open_shared(cells)                       the same, open until the file's last test
open_marimo(cells)                       a marimo app of these cells, or a file of one; returns its page
tab_of(html)                             as page_of, in the tab of an earlier test, empty again
show(view)                               a view whose kernel is this process, in such a tab; returns views.Seen
show_saved(view)                         a view as the page that `to_html` writes, in such a tab; returns views.Seen
                                         matters=True: what "Does it matter?" says is in it
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, sync_playwright

import bertlens as bl
from browser.documentation import DOCS, built
from browser.harness import CHROMIUM_ARGS, Jupyter, Log, Marimo, Notebook, chromium, marimo_app, watched
from browser.stage import Stage
from browser.views import TEXTS, Seen, exported, hosted

# The hosts' own errors, seen with a widget that does nothing: Notebook 7 at start, JupyterLab when a kernel ends.
HOST_NOISE = [
    r"^uncaught: Cannot read properties of undefined \(reading 'schema'\)",
    r"^uncaught: Command 'filebrowser:open-path' not registered",
    r"^console: Could not restore the debugger state: Canceled future",
    # JupyterLab takes an output away twice now and then; the first frame of the stack is its own
    r"^uncaught: Failed to execute 'removeChild' on 'Node'.*\n.*\n\s*at [^\n]*/static/lab/",
]


def pytest_itemcollected(item: pytest.Item) -> None:
    """A page takes seconds: of the cases of a test that says nothing else one runs. `make test-long` runs all."""
    if hasattr(item, "callspec") and not item.get_closest_marker("sampled"):
        item.add_marker(pytest.mark.sampled(1))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, headless, for the whole run."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built anew: nothing is said on the way, in eight minutes of a processor at most. BERTLENS_SITE
    names a folder where it was built just now."""
    if ready := os.environ.get("BERTLENS_SITE"):
        return Path(ready)
    folder, begun = tmp_path_factory.mktemp("site"), os.times()
    assert built(DOCS, folder, "-E") == ""
    ended = os.times()
    assert ended.children_user + ended.children_system - begun.children_user - begun.children_system <= 8 * 60
    return folder


class Tabs:
    """Tabs for one document after another: a new tab costs three times as much as a new document."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.free: list[tuple[Page, Log]] = []
        self.documents = 0

    def take(self, html: str, *, theme: str = "light", width: int = 1000, height: int = 800) -> tuple[Page, Log]:
        """A tab that shows this text. Who takes it adds nothing to it that outlives a document, a route for example."""
        if not self.free:
            self.free.append(watched(self.browser, self.folder.as_uri(), accept_downloads=True)[1:])
        page, log = self.free.pop()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)
        self.load(page, html)
        return page, log

    def load(self, page: Page, html: str) -> None:
        path = self.folder / f"{self.documents}.html"
        self.documents += 1
        path.write_text(html, encoding="utf-8")
        page.goto(path.as_uri())

    def give_back(self, page: Page, log: Log) -> list[str]:
        """Empty the tab; what went wrong in it."""
        try:
            page.mouse.move(0, 0)
            self.clear(page)
        except Error:  # it has crashed
            page.context.close()
            return log.problems()
        problems = log.problems()
        for lines in (log.errors, log.failed, log.outside, log.allowed):
            lines.clear()
        self.free.append((page, log))
        return problems

    def clear(self, page: Page) -> None:
        page.goto("about:blank")


class StageTabs(Tabs):
    """Tabs whose document serves one view after another: to read its code is most of the work of opening a view.

    A test that leaves it otherwise than it was, a view's own part apart, gets the next one a new document.
    """

    def __init__(self, browser: Browser, folder: Path) -> None:
        super().__init__(browser, folder)
        self.stages: dict[Page, Stage] = {}  # of the tabs that had one
        self.texts: dict[Page, str] = {}  # of the documents that are as they were

    def load(self, page: Page, html: str) -> None:
        if self.texts.get(page) != html:
            super().load(page, html)
        self.texts[page] = html

    def stage(self, page: Page) -> Stage:
        if page not in self.stages:
            self.stages[page] = Stage(page)
        return self.stages[page]

    def clear(self, page: Page) -> None:
        if page not in self.stages or not self.stages[page].leave():
            del self.texts[page]
            super().clear(page)


@pytest.fixture(scope="session")
def tabs(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Tabs:
    """The tabs of the whole run."""
    return Tabs(browser, tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="session")
def stage_tabs(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> StageTabs:
    """The tabs of pages that ask this process."""
    return StageTabs(browser, tmp_path_factory.mktemp("live"))


class PageOf:
    """Opens pages from a file; knows the log of each."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.logs: dict[Page, Log] = {}

    def __call__(
        self,
        html: str | Path,
        *,
        theme: str = "light",
        width: int = 1000,
        height: int = 800,
        scripts: bool = True,
        touch: bool = False,
    ) -> Page:
        """Open HTML text or an HTML file; `theme` is what the system asks for ("light" or "dark"); touch: it has a
        screen for fingers."""
        path = self.folder / f"page{len(self.logs)}.html" if isinstance(html, str) else html.resolve()
        if isinstance(html, str):
            path.write_text(html, encoding="utf-8")
        viewport = {"width": width, "height": height}
        options = {"color_scheme": theme, "accept_downloads": True, "java_script_enabled": scripts, "has_touch": touch}
        _, page, log = watched(self.browser, path.as_uri(), viewport=viewport, **options)
        self.logs[page] = log
        page.goto(path.as_uri())
        return page

    def framed(self, htmls: list[str], charset: str = "utf-8", **options: Any) -> Page:
        """One page with each HTML text in a sandboxed frame of its own, an opaque origin as in Colab's outputs.

        charset: what the page says that it is written in; it is UTF-8.
        """
        frames = [
            f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{escape(html)}" style="width:100%;height:700px">'
            "</iframe>"
            for html in htmls
        ]
        return self(f'<!doctype html><meta charset="{charset}"><title>frames</title>' + "".join(frames), **options)

    def log(self, page: Page) -> Log:
        return self.logs[page]


def _pages(browser: Browser, folder: Path) -> Iterator[PageOf]:
    opener = PageOf(browser, folder)
    yield opener
    for page in opener.logs:
        page.context.close()
    problems = [problem for log in opener.logs.values() for problem in log.problems()]
    assert not problems, problems


@pytest.fixture
def page_of(browser: Browser, tmp_path: Path) -> Iterator[PageOf]:
    """A function that opens a stand-alone page without network."""
    yield from _pages(browser, tmp_path)


@pytest.fixture(scope="module")
def shared_page_of(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageOf]:
    """Like page_of; what it opens stays open for all tests of a file."""
    yield from _pages(browser, tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """One JupyterLab server for the whole run."""
    server = Jupyter(tmp_path_factory.mktemp("jupyter"))
    yield server
    server.stop()


class OpenNotebook:
    """Writes notebooks, opens them and runs them."""

    def __init__(self, browser: Browser, jupyter: Jupyter, name: str) -> None:
        self.browser = browser
        self.jupyter = jupyter
        self.name = name
        self.opened: list[Notebook] = []

    def __call__(
        self,
        cells: list[str],
        *,
        app: str = "lab",
        theme: str = "light",
        width: int = 1400,
        height: int = 1000,
        run: bool = True,
    ) -> Notebook:
        """A notebook of these cells, open, its kernel ready, and (unless run=False) every cell run."""
        path = self.jupyter.write(cells, f"{self.name}-{len(self.opened)}.ipynb")
        viewport = {"width": width, "height": height}
        _, page, log = watched(self.browser, self.jupyter.url, viewport=viewport, accept_downloads=True)
        for pattern in HOST_NOISE:
            log.allow(pattern)
        notebook = self.jupyter.open(page, log, path, app=app, theme=theme)
        self.opened.append(notebook)
        if run:
            notebook.run_all()
            notebook.finished()
        return notebook


def _notebooks(browser: Browser, jupyter: Jupyter, request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    safe = "".join(c if c.isalnum() else "-" for c in request.node.name)
    opener = OpenNotebook(browser, jupyter, safe)
    yield opener
    for notebook in opener.opened:
        notebook.page.context.close()
    jupyter.end_kernels({notebook.path.name for notebook in opener.opened})
    problems = [problem for notebook in opener.opened for problem in notebook.log.problems()]
    assert not problems, problems


@pytest.fixture
def open_notebook(browser: Browser, jupyter: Jupyter, request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    """A function that opens a notebook of the given cells in JupyterLab or Notebook 7."""
    yield from _notebooks(browser, jupyter, request)


@pytest.fixture(scope="module")
def open_shared(browser: Browser, jupyter: Jupyter, request: pytest.FixtureRequest) -> Iterator[OpenNotebook]:
    """Like open_notebook; what it opens stays open for all tests of a file."""
    yield from _notebooks(browser, jupyter, request)


@pytest.fixture
def open_marimo(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """A function that runs cells, or a file, as a marimo app and opens it."""
    opened: list[tuple[Marimo, Page, Log]] = []

    def open_app(cells: list[str] | Path, *, theme: str = "light", width: int = 1400, height: int = 1000) -> Page:
        name = f"app{len(opened)}"
        path = cells if isinstance(cells, Path) else marimo_app(tmp_path / f"{name}.py", cells)
        app = Marimo(path, tmp_path / f"{name}.log")
        viewport = {"width": width, "height": height}
        _, page, log = watched(browser, app.url, viewport=viewport, color_scheme=theme)
        opened.append((app, page, log))
        page.goto(app.url)
        return page

    yield open_app
    for app, page, _ in opened:
        page.context.close()
        app.stop()
    problems = [problem for _, _, log in opened for problem in log.problems()]
    assert not problems, problems


@pytest.fixture(scope="session")
def pair(embedded_lens: Any) -> Any:
    """A trace of two sentences on the embedded model."""
    return embedded_lens.trace(*TEXTS)


def _taken(tabs: Tabs) -> Iterator[Callable[..., Page]]:
    taken: list[tuple[Page, Log]] = []

    def open_tab(html: str, **options: Any) -> Page:
        taken.append(tabs.take(html, **options))
        return taken[-1][0]

    yield open_tab
    problems = [problem for page, log in taken for problem in tabs.give_back(page, log)]
    assert not problems, problems


@pytest.fixture
def tab_of(tabs: Tabs) -> Iterator[Callable[..., Page]]:
    """A function that opens HTML text in a tab of an earlier test."""
    yield from _taken(tabs)


@pytest.fixture
def show_saved(tab_of: Callable[..., Page]) -> Callable[..., Seen]:
    """A function that opens a view as the page that `to_html` writes."""
    return exported(tab_of)


@pytest.fixture
def stage_tab_of(stage_tabs: StageTabs) -> Iterator[Callable[..., Page]]:
    yield from _taken(stage_tabs)


@pytest.fixture
def show(stage_tabs: StageTabs, stage_tab_of: Callable[..., Page]) -> Callable[..., Seen]:
    """A function that opens a view whose kernel is this process: what the page asks and sets goes to the view."""

    def open_view(view: Any, folded: bool = False, **options: Any) -> Seen:
        page = hosted(stage_tab_of, **options)
        stage_tabs.stage(page).show(view)
        return Seen(page, folded=folded)

    return open_view


@pytest.fixture(scope="module")
def neurons_open() -> Iterator[None]:
    """A view opens with its first question open, unless another tab is named."""
    explore = bl.Trace.explore
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bl.Trace, "explore", lambda trace, **given: explore(trace, **{"view": "neurons", **given}))
        yield
