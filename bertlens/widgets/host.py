"""What differs by host: the cells of a notebook, the bundle that a kernel's views share, and what Colab loses.

When a notebook's cell has run again, the views that nobody can reach any more are closed: IPython keeps every displayed
object (Out[n]), so that without this each run of a cell would keep its trace.
"""

from __future__ import annotations

import base64
import ctypes
import gc
import sys
from contextlib import suppress
from typing import Any, Protocol

import anywidget
import traitlets

from ..export import bundle


class Closes(Protocol):
    def close(self) -> None: ...


class Cells:
    """The views in the outputs of a notebook's cells. Where there is no notebook, it does nothing."""

    def __init__(self) -> None:
        self._outputs: dict[str, list[Closes]] = {}  # cell -> what its last run has shown
        self._running: list[Closes] = []  # what the cell that runs has shown so far
        self._shell: Any = None

    def shows(self, view: Closes) -> None:
        """Note that the running cell shows a view."""
        shell = _shell()
        if shell is None or _cell(shell) is None:
            return
        if shell is not self._shell:
            shell.events.register("post_run_cell", self._end)
            self._shell = shell
        self._running.append(view)

    def _end(self, _result: Any = None) -> None:
        """A cell has run: close what it showed before, unless a cell still shows it or a variable still names it."""
        cell = _cell(self._shell)
        if cell is None:
            return
        old_views = self._outputs.pop(cell, [])
        if self._running:
            self._outputs[cell] = self._running
        self._running = []
        named = [
            value for name, value in self._shell.user_ns.items() if not name.startswith("_")
        ]  # _, Out and the like
        reachable = {id(view) for views in (named, *self._outputs.values()) for view in views}
        orphans = [view for view in old_views if id(view) not in reachable]
        for view in orphans:
            view.close()
        if orphans:
            _hand_back()


def _hand_back() -> None:
    """Freed memory goes back to the system: glibc keeps it, in holes that the next trace does not fit."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _ipython() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def _shell() -> Any:
    """The notebook's shell, if this is one."""
    shell = _ipython()
    return shell if hasattr(shell, "get_parent") else None


def _cell(shell: Any) -> str | None:
    """The name of the cell that runs, as JupyterLab, Notebook 7 and VS Code send it."""
    cell = (shell.get_parent() or {}).get("metadata", {}).get("cellId")
    return cell if isinstance(cell, str) else None


def unattended() -> bool:
    """Whether a notebook runs that nobody looks at (nbconvert, papermill): such a run allows no input."""
    shell = _shell()
    content = (shell.get_parent() or {}).get("content", {}) if shell is not None else {}
    return content.get("allow_stdin") is False


CELLS = Cells()


class Bundle(anywidget.AnyWidget):
    """The front end, packed, as one model that all views of a kernel name: a saved notebook holds it once.

    js/src/host/loader.ts looks for it.
    """

    _esm = "export default {}"
    packed = traitlets.Union([traitlets.Bytes(), traitlets.Unicode()]).tag(sync=True)


_bundles: list[Bundle] = []  # the one of this kernel


def shared_bundle() -> Bundle | None:
    """The kernel's bundle, made when it is first wanted or was closed.

    None where there is no Jupyter kernel: only that has one set of models for all of its views; elsewhere (marimo,
    Shiny, Solara) every view carries the bundle itself.
    """
    if not hasattr(_ipython(), "kernel"):
        return None
    if not _bundles or _bundles[0].comm is None:
        _bundles[:] = [Bundle(packed=_opening(bundle.packed()))]
    return _bundles[0]


def sent(overview: dict[str, Any]) -> dict[str, Any]:
    """The overview as it travels."""
    return {**overview, "data": _opening(overview["data"])} if overview else overview


def _opening(data: bytes) -> bytes | str:
    """Colab loses the buffers of the message that opens a widget: there they go as text."""
    return base64.b64encode(data).decode() if "google.colab.output" in sys.modules else data
