"""VS Code's renderer outside of VS Code: its bundle in a page, with a kernel of a Jupyter server."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from browser.harness import PATIENCE, TOKEN, watched
from browser.hosts import ANYWIDGET, SETUP, bundled, packed
from browser.views import Seen

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
RENDERER, REQUIRE = "@vscode/jupyter-ipywidgets8@1.0.9", "requirejs@2.3.6"
SERVICES = "@jupyterlab/services@7.6.6"  # the connection that the extension makes, too
# colours of the editor; the body of a webview is transparent and has the theme as a class; the system is the other one
THEMES = {"dark": ("#1f1f1f", "#cccccc"), "light": ("#ffffff", "#3b3b3b")}
PAGE = """<!doctype html><meta charset="utf-8"><title>webview</title>
<style>html {{ --vscode-editor-background: {ground}; --vscode-editor-foreground: {ink} }}
body {{ background: transparent; color: var(--vscode-editor-foreground) }}</style>
<body class="vscode-{theme}" data-vscode-theme-kind="vscode-{theme}"><div class="output"></div>
<script src="/webview/require.js"></script><script src="/webview/run.js"></script>"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """What the page loads, by its address under /webview/."""
    folder = tmp_path_factory.mktemp("vscode")
    packed(folder, RENDERER, REQUIRE)
    return {
        "renderer.js": folder / RENDERER / "dist" / "ipywidgets.js",
        "require.js": folder / REQUIRE / "require.js",
        "run.js": bundled(folder, Path(__file__).with_name("vscode.js"), SERVICES),
        "anywidget.js": ANYWIDGET,
    }


@pytest.mark.parametrize("theme", THEMES)
def test_click_in_vs_codes_renderer(theme, scripts, jupyter, browser):
    kernel = jupyter.ask("POST", "/api/kernels")["id"]
    other = next(name for name in THEMES if name != theme)
    viewport = {"width": 1200, "height": 1000}
    context, page, log = watched(browser, jupyter.url, viewport=viewport, color_scheme=other)

    def give(route: Route) -> None:
        route.fulfill(path=scripts[route.request.url.rsplit("/", 1)[1]], content_type="text/javascript")

    try:
        page.route(f"{jupyter.url}/webview/*", give)
        page.goto(f"{jupyter.url}/static/style/index.css")  # a document of the server's own may open its sockets
        ground, ink = THEMES[theme]
        page.set_content(PAGE.format(theme=theme, ground=ground, ink=ink))
        asked = {
            "id": kernel,
            "token": TOKEN,
            "renderer": "/webview/renderer.js",
            "anywidget": "/webview/anywidget",
            "code": f"{SETUP}\ntrace.explore(layer=1, head=8)",
        }
        page.evaluate("asked => void run(asked)", asked)
        page.locator(".bertlens").wait_for(timeout=PATIENCE)
        seen = Seen(page)
        expect(seen.root).to_have_attribute("data-state", "live")
        expect(seen.root).to_have_attribute("data-theme", theme)
        before = seen.matrix()
        seen.thumb(0, 2).click()
        seen.title("L0·H2")
        after = seen.matrix()
        assert before.shape == after.shape and (before != after).any()
        assert log.problems() == []
    finally:
        context.close()
        jupyter.ask("DELETE", f"/api/kernels/{kernel}")
