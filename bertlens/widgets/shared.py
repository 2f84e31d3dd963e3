"""The bundle as one model that all views of a kernel name, so that a saved notebook holds it once.

Only a Jupyter kernel has one set of models for all of its views; elsewhere (marimo, Shiny, Solara) every view carries
the bundle itself.
"""

from __future__ import annotations

import sys

import anywidget
import traitlets

from ..page import bundle


class Bundle(anywidget.AnyWidget):
    """What js/src/host/loader.ts looks for: the front end, packed."""

    _esm = "export default {}"
    packed = traitlets.Unicode().tag(sync=True)


_made: list[Bundle] = []  # the one of this kernel


def shared() -> Bundle | None:
    """The kernel's bundle, made when it is first wanted or was closed; None where there is no Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if not hasattr(shell, "kernel"):
        return None
    if not _made or _made[0].comm is None:
        _made[:] = [Bundle(packed=bundle.packed())]
    return _made[0]
