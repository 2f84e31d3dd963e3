"""The hosts beside Jupyter and marimo: how each is started, and what it asks other addresses for.

A host comes with the extra `hosts`; what it takes from npm is packed once per run. What is missing skips its tests, by
name.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import anywidget
import pytest
from playwright.sync_api import Browser, Page, Route

from browser.harness import Log, Server, watched
from browser.views import TEXTS

SETUP = f"import bertlens as bl\ntrace = bl.Lens.embedded().trace(*{TEXTS!r})"
VIEW = "trace.explore(layer=1, head=8)"
ESBUILD = Path(__file__).resolve().parents[2] / "js" / "node_modules" / ".bin" / "esbuild"
ANYWIDGET = Path(anywidget.__file__).parent / "nbextension" / "index.js"
# of the hosts themselves: icons for their own buttons, formulas
FONTS = re.compile(r"font-?awesome|mathjax|mermaid|fonts\.googleapis", re.IGNORECASE)


@dataclass(frozen=True)
class Host:
    """One host: its packages, the file of an app, and how it is run. {port} and {app} are filled in."""

    name: str
    packages: tuple[str, ...]  # as they are imported
    app: str
    run: str
    alive: str = "/"
    files: tuple[str, ...] = ()  # npm packages, name@version, that it serves
    environment: dict[str, str] = field(default_factory=dict)  # {npm}: the folder of those
    noise: tuple[str, ...] = ()  # errors of the host's own, seen with a widget that does nothing


HOSTS = {
    host.name: host
    for host in (
        Host(
            "voila",
            ("voila",),
            f"{SETUP}\n{VIEW}",
            "-m voila {app} --no-browser --port {port} --Voila.ip=127.0.0.1",
            "/voila/static/voila.js",
            noise=(r"jupyterlab_pyviz", r"shared module|Shared module", r"ERR_FAILED"),
        ),
        Host(
            "solara",
            ("solara", "solara_ui"),
            f"import solara\n{SETUP}\n@solara.component\ndef Page():\n"
            f"    solara.display(solara.use_memo(lambda: {VIEW}, []))\n",
            "-m solara run {app} --host 127.0.0.1 --port {port} --no-open --production",
            "/readyz",
            files=("@widgetti/solara-vuetify3-app@5.2.0", "requirejs@2.3.6", "font-awesome@4.5.0"),
            environment={"SOLARA_ASSETS_PROXY_CACHE_DIR": "{npm}"},
        ),
        Host(
            "panel",
            ("panel", "ipywidgets_bokeh"),
            f"import panel as pn\n{SETUP}\npn.extension('ipywidgets')\npn.panel({VIEW}).servable()\n",
            "-m panel serve {app} --port {port} --address 127.0.0.1",
            "/favicon.ico",
        ),
        Host(
            "shiny",
            ("shiny", "shinywidgets"),
            f"from shiny.express import ui\nfrom shinywidgets import render_widget\n{SETUP}\n"
            f"@render_widget\ndef view():\n    return {VIEW}\n",
            "-m shiny run {app} --port {port} --host 127.0.0.1",
        ),
    )
}


def needed(*packages: str) -> None:
    """Skip the test, and say what is missing, where a package is not installed."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: `make hosts`, or pip install '.[hosts]'")


def packed(folder: Path, *names: str) -> Path:
    """npm packages, as name@version, unpacked as folder/name@version; the test is skipped where npm cannot get one."""
    npm = shutil.which("npm")
    for name in names:
        if (folder / name).exists():
            continue
        if npm is None:
            pytest.skip(f"npm is missing, and {name} comes from it")
        run = [npm, "pack", "--silent", "--pack-destination", str(folder), name]
        done = subprocess.run(run, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"npm pack {name}: {done.stderr.strip()[-300:]}")
        archive = folder / done.stdout.split()[-1]
        with tarfile.open(archive) as opened:
            opened.extractall(folder / "unpacked", filter="data")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "unpacked" / "package").rename(folder / name)
    return folder


def bundled(folder: Path, entry: Path, *names: str) -> Path:
    """A script with the npm packages that it imports, name@version, as one classic script in `folder`."""
    npm = shutil.which("npm")
    if npm is None or not ESBUILD.exists():
        pytest.skip(f"npm or esbuild is missing, and {', '.join(names)} come from there")
    modules = folder / "installed"
    install = [npm, "install", "--silent", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]
    done = subprocess.run([*install, str(modules), *names], capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"npm install {' '.join(names)}: {(done.stderr or done.stdout).strip()[-300:]}")
    out = folder / entry.name
    subprocess.run(
        [str(ESBUILD), str(entry), "--bundle", "--log-level=error", f"--outfile={out}"],
        env={**os.environ, "NODE_PATH": str(modules / "node_modules")},
        check=True,
        timeout=120,
    )
    return out


def answer_for_others(page: Page, files: dict[str, Path] | None = None) -> None:
    """What a host asks other addresses for comes from this machine: anywidget, `files` by a part of their address."""

    def give(route: Route) -> None:
        url = route.request.url
        path = next((path for part, path in {"anywidget": ANYWIDGET, **(files or {})}.items() if part in url), None)
        # Allow-Origin: as those servers have it
        headers = {"Access-Control-Allow-Origin": "*"}
        if path is not None:
            route.fulfill(path=path, content_type="text/javascript", headers=headers)
        elif FONTS.search(url):
            route.fulfill(body="", content_type="text/css", headers=headers)
        else:
            route.fallback()

    page.route(re.compile(r"^https://"), give)


@contextmanager
def opened(host: Host, browser: Browser, folder: Path, npm: Path, width: int = 1400) -> Iterator[tuple[Page, Log]]:
    """The host's app, open in the browser. Its errors, and requests that are not its own, fail at the end."""
    needed(*(name for name in host.packages if name != "solara_ui"))
    environment = {name: text.format(npm=npm) for name, text in host.environment.items()}
    packed(npm, *host.files)
    app = folder / ("app.ipynb" if host.name == "voila" else "app.py")
    if host.name == "voila":
        import nbformat

        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        cells = [nbformat.v4.new_code_cell(host.app)]
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), app)
    else:
        app.write_text(host.app, encoding="utf-8")
    server = Server(
        lambda port: [sys.executable, *host.run.format(app=app, port=port).split()],
        folder / "host.log",
        host.alive,
        environment,
    )
    context, page, log = watched(browser, server.url, viewport={"width": width, "height": 1000})
    try:
        for pattern in host.noise:
            log.allow(pattern)
        answer_for_others(page)
        page.goto(server.url, timeout=90_000)
        yield page, log
        assert log.problems() == []
    finally:
        context.close()
        server.stop()


def versions(*packages: str) -> str:
    """Names and versions, for what a test prints."""
    return ", ".join(f"{name} {version(name)}" for name in packages)


def saved_notebook(cells: list[str], folder: Path, *, state: bool = True) -> Path:
    """A notebook of these cells, run, with its outputs and, if wanted, the state of its widgets."""
    import nbclient
    import nbformat

    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata=kernel)
    client = nbclient.NotebookClient(notebook, timeout=300, store_widget_state=state)
    client.execute(cwd=str(folder))
    path = folder / "saved.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path
