"""Figures that bertlens.plots makes of what is selected, as PDF files of paths and letters."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..base.limits import LIMITS, within
from ..errors import ExportError
from ..measures.offers import offers
from ..trace.trace import Trace
from ..widgets.answers.head_answers import layer_maps
from ..widgets.messages.records import Nothing
from ..widgets.request import Request
from ..widgets.similarity.similarity_panel import Texts, shown_pair

_SELECTION = ("units", "pair_filter", "hide_special", "renormalize")
_SVG = "save the SVG, which has it"


def pdf(request: Request, sheet: dict[str, Any]) -> tuple[Nothing, bytes]:
    """The PDF of a map, of running text where a query or a key is named on the sheet, or of a screen (`drawn`).

    Raises ExportError, with the way out, without matplotlib, for what it has no figure or no letters for, and for a
    text of which the page shows a part.
    """
    from .. import plots
    from .screen_figure import checked, screen_figure

    trace, traits = request.trace, request.traits
    if "drawn" in sheet:
        screen, theme = checked(sheet["drawn"]), "dark" if sheet["dark"] else "light"
        return {}, _file(lambda: screen_figure(screen, width=sheet["mm"] or None, theme=theme), trace)
    by = {name: sheet[name] for name in ("query", "key") if sheet[name] is not None}
    if traits["mode"] != "matrix" and not by:
        raise ExportError(f"lines have no PDF: {_SVG}, or show the matrix or the text")
    if not within("held", trace.n_tokens, len(trace.key_tokens)):
        raise ExportError(
            f"a text of more than {LIMITS['held'].tokens:,} tokens has no PDF: {_SVG} for the part in view"
        )
    names = [word.name for word in layer_maps(trace)]
    options = {
        "measure": "weight" if offers(trace)["norms"] else traits["measure"],
        "theme": "dark" if sheet["dark"] else "light",
        **{name: traits[name] for name in _SELECTION},
        **({"layer_map": traits["layer_map"]} if traits["layer_map"] in names else {}),
        **({"width": sheet["mm"], "size": sheet["points"]} if sheet["mm"] else {}),
    }
    layer, head = traits["layer"], traits["head"]
    draw = plots.running_text if by else plots.attention_map
    return {}, _file(lambda: draw(trace, layer, head, **options, **(by or {"gate": ""})), trace)


def similar_pdf(request: Request, split: dict[str, Any], texts: Texts | None = None) -> tuple[Nothing, bytes]:
    """The PDF of the matrix that sums to the similarity of two texts; split: {"of", "words"} as of `Similarity.pairs`.

    Raises ExportError without matplotlib or letters, ModelError where there is no such split.
    """
    from .. import plots

    pair = shown_pair(request, texts)
    return {}, _file(lambda: plots.similarity(pair, **split), pair.traces[0])


def _file(draw: Callable[[], Any], trace: Trace) -> bytes:
    """What a figure is as a PDF file: paths and letters."""
    from .. import plots
    from .figure import pyplot
    from .letters import IllegibleWarning
    from .vector import as_paths

    plt = pyplot()
    with warnings.catch_warnings(record=True) as caught, tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("always")
        axes = draw()
        try:
            as_paths(axes.figure)
            content = plots.save(axes, Path(folder) / "figure.pdf", trace).read_bytes()
        finally:
            plt.close(axes.figure)
    if sentence := next((str(warning.message) for warning in caught if warning.category is IllegibleWarning), ""):
        raise ExportError(f"{sentence}; or {_SVG}")
    return content
