"""What a browser test needs: pages that log every error and request, and JupyterLab with a notebook in it.

Nothing here knows the Explorer; tests say what to wait for.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Route

CHROMIUM_ARGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()
TOKEN = "e2e"
PATIENCE = 90_000  # ms, for what a slow machine must start: a kernel that imports torch


def chromium() -> str:
    """Path of the browser, or a failure that names the ways out."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    for name in filter(None, names):
        if path := shutil.which(name):
            return path
    raise RuntimeError(
        "no Chromium: install it (apt-get install chromium), set CHROMIUM, or run `make test BROWSER=no`"
    )


@dataclass
class Log:
    """What one page did wrong: the tests' fixtures assert at the end that it stayed empty."""

    errors: list[str] = field(default_factory=list)  # console errors and uncaught exceptions
    failed: list[str] = field(default_factory=list)  # requests to our own server or file that failed
    outside: list[str] = field(default_factory=list)  # requests to anywhere else; they are blocked
    allowed: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """Expect errors and failed requests that match this regular expression. Outside requests are never allowed."""
        self.allowed.append(pattern)

    def problems(self) -> list[str]:
        """Everything that was not expected."""
        seen = self.errors + self.failed
        return self.outside + [line for line in seen if not any(re.search(p, line) for p in self.allowed)]


def watched(browser: Browser, own: str, **options: Any) -> tuple[BrowserContext, Page, Log]:
    """A fresh page that may load only addresses starting with `own` (and data: and blob: ones)."""
    context = browser.new_context(**options)
    log = Log()
    inside = (own, own.replace("http://", "ws://"), "data:", "blob:", "about:")

    def gate(route: Route) -> None:
        if route.request.url.startswith(inside):
            route.continue_()
        else:
            log.outside.append(f"outside request: {route.request.url}")
            route.abort()

    context.route("**/*", gate)
    page = context.new_page()
    page.on("console", lambda m: log.errors.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda e: log.errors.append(f"uncaught: {e}\n{(e.stack or '')[:1000]}"))
    page.on("requestfailed", lambda r: log.failed.append(f"failed: {r.url} {r.failure}"))
    page.on("websocket", lambda w: None if w.url.startswith(inside) else log.outside.append(f"outside socket: {w.url}"))
    return context, page, log


@dataclass
class Notebook:
    """A notebook open in JupyterLab or Notebook 7."""

    page: Page
    log: Log
    path: Path

    def run_all(self) -> None:
        """Start all cells; does not wait for them (`void`: evaluate would await the returned promise)."""
        self.page.evaluate("() => void jupyterapp.commands.execute('notebook:run-all-cells')")

    def run_cell(self, index: int) -> None:
        """Start one cell. A click in an output selects its cell, so the index is always set first."""
        self.page.evaluate(
            """index => {
                jupyterapp.shell.currentWidget.content.activeCellIndex = index;
                void jupyterapp.commands.execute('notebook:run-cell');
            }""",
            index,
        )

    def finished(self, cell: int | None = None) -> None:
        """Wait until a cell (default: the last code cell) has run; fails with the kernel's message if it raised."""
        self.page.wait_for_function(
            """cell => {
                const all = jupyterapp.shell.currentWidget.model.sharedModel.cells;
                const codes = all.filter(c => c.cell_type === 'code');
                const wanted = cell === null ? codes[codes.length - 1] : all[cell];
                return codes.some(c => c.outputs.some(o => o.output_type === 'error')) ||
                    (wanted.execution_count !== null && wanted.executionState !== 'running');
            }""",
            arg=cell,
            timeout=PATIENCE,
        )
        errors = self.page.evaluate(
            """() => jupyterapp.shell.currentWidget.model.sharedModel.cells
                .filter(c => c.cell_type === 'code').flatMap(c => c.outputs)
                .filter(o => o.output_type === 'error').map(o => `${o.ename}: ${o.evalue}`)"""
        )
        assert not errors, errors

    def kernel(self, code: str) -> str:
        """Run code in the notebook's kernel, outside its cells; returns what it printed and its value as text."""
        answer = self.page.evaluate(
            """async code => {
                const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                const future = kernel.requestExecute({ code, store_history: false });
                let text = '', error = null;
                future.onIOPub = ({ header, content }) => {
                    if (header.msg_type === 'stream') text += content.text;
                    if (header.msg_type === 'execute_result') text += content.data['text/plain'];
                    if (header.msg_type === 'error') error = `${content.ename}: ${content.evalue}`;
                };
                await future.done;
                return { text, error };
            }""",
            code,
        )
        assert answer["error"] is None, answer["error"]
        return str(answer["text"]).strip()

    def shut_kernel_down(self) -> None:
        """End the kernel under the open page."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.shutdown()")

    def interrupt_kernel(self) -> None:
        self.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()")

    def save(self) -> dict[str, Any]:
        """Save, and give what is on disk."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.context.save()")
        saved: dict[str, Any] = json.loads(self.path.read_text())
        return saved


class Server:
    """A server process on a free port, in a process group of its own; `stop` ends it with its kernels."""

    def __init__(
        self, command: Callable[[int], list[str]], output: Path, alive: str, environment: dict[str, str]
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        with output.open("w") as out:
            self.process = subprocess.Popen(
                command(port),
                # The environment's own programs first, else a kernel spec may start another Python.
                env={
                    **os.environ,
                    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                    **environment,
                },
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.answer("GET", alive)
                return
            except OSError:
                time.sleep(0.2)
        self.stop()
        raise RuntimeError(f"{command(port)} did not start:\n{output.read_text()[-2000:]}")

    def answer(self, method: str, path: str) -> bytes:
        """One call of the server."""
        request = urllib.request.Request(self.url + path, method=method, headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            body: bytes = answer.read()
        return body

    def ask(self, method: str, path: str) -> Any:
        """One call of the server's REST API."""
        body = self.answer(method, path)
        return json.loads(body) if body else None

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def marimo_app(path: Path, cells: list[str]) -> Path:
    """Written to the path."""
    bodies = [textwrap.indent(cell.strip(), "    ") for cell in cells]
    functions = [f"@app.cell\ndef _():\n{body}\n    return\n" for body in bodies]
    path.write_text("\n\n".join(["import marimo\n\napp = marimo.App()", *functions]), encoding="utf-8")
    return path


class Marimo(Server):
    """One marimo app, without its code."""

    def __init__(self, path: Path, log: Path) -> None:
        run = [sys.executable, "-m", "marimo", "run", str(path), "--headless", "--no-token", "--host", "127.0.0.1"]
        super().__init__(lambda port: [*run, "--port", str(port)], log, "/health", {})


class Jupyter(Server):
    """One JupyterLab server (Notebook 7 answers from it too) with settings of its own.

    `command` starts it, with more arguments; `environment` is added to what such a server needs.
    """

    def __init__(self, folder: Path, command: list[str] | None = None, **environment: str) -> None:
        self.notebooks = folder / "notebooks"
        config = folder / "config"
        for needed in (self.notebooks, config, folder / "home"):
            needed.mkdir(parents=True)
        apps = {"LabApp": {"expose_app_in_browser": True}, "JupyterNotebookApp": {"expose_app_in_browser": True}}
        (config / "jupyter_server_config.json").write_text(json.dumps(apps))
        settings = config / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text(
            json.dumps({"fetchNews": "false", "checkForUpdates": False})
        )

        environment |= {
            "JUPYTER_CONFIG_DIR": str(config),
            "JUPYTERLAB_SETTINGS_DIR": str(config / "lab" / "user-settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(config / "lab" / "workspaces"),
            "IPYTHONDIR": str(folder / "home"),
        }
        run = [*(command or [sys.executable, "-m", "jupyterlab", "--allow-root"]), "--no-browser"]
        run += [
            "--ServerApp.ip=127.0.0.1",
            f"--IdentityProvider.token={TOKEN}",
            f"--ServerApp.root_dir={self.notebooks}",
        ]
        super().__init__(
            lambda port: [*run, f"--ServerApp.port={port}", "--ServerApp.port_retries=0"],
            folder / "server.log",
            "/api/status",
            environment,
        )

    def write(self, cells: list[str], name: str) -> Path:
        """A notebook of these code cells."""
        import nbformat

        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        path = self.notebooks / name
        nbformat.write(notebook, path)
        return path

    def open(self, page: Page, log: Log, path: Path, *, app: str = "lab", theme: str = "light") -> Notebook:
        """Open the notebook in `app` ("lab" or "notebook") and wait for its kernel."""
        where = {
            "lab": f"/lab/tree/{path.name}?reset&token={TOKEN}",
            "notebook": f"/notebooks/{path.name}?token={TOKEN}",
        }
        page.goto(self.url + where[app])
        page.wait_for_function(
            "() => globalThis.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'",
            timeout=PATIENCE,
        )
        if app == "lab":  # the server keeps the theme that a notebook before was given
            page.wait_for_selector("body[data-jp-theme-light]", state="attached")
            page.evaluate(
                "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })",
                f"JupyterLab {theme.title()}",
            )
            light = str(theme == "light").lower()
            page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        return Notebook(page, log, path)

    def end_kernels(self, notebooks: set[str]) -> None:
        """A kernel with torch holds half a gigabyte: none outlives its notebook."""
        for session in self.ask("GET", "/api/sessions"):
            if session["path"] in notebooks:
                self.ask("DELETE", f"/api/sessions/{session['id']}")
