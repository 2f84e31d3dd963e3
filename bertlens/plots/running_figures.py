"""A text as running text, shaded by what one token looks at or by who looks at it: as the Explorer exports it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import colors
from ..base.quotes import is_right_to_left, quotation
from ..base.ranking import scale_end
from ..base.vocabulary import THEMES, phrases
from ..errors import SelectionError, check_index, excerpt
from ..text.display import letters_of
from ..text.encoding import Encoding
from ..text.word_numbers import stands_apart
from ..trace.provenance import visible
from ..trace.trace import Trace
from .figure import MM, plain, pyplot
from .grid import GridUnit, shown_grid
from .letters import families_of, legible

_POINT = 72 / MM  # of a mm
_MARGIN, _LINE, _BLANK, _PAD = 4, 1.8, 0.4, 1  # points; letters' sizes; letters' sizes; points


@legible
def running_text(
    trace: Trace,
    layer: int,
    head: int | None = None,
    *,
    query: int | None = None,
    key: int | None = None,
    axes: Any = None,
    measure: str = "weight",
    width: float = 180,
    size: float = 8,
    theme: str = "light",
    **shown: Any,
) -> Any:
    """The text as text, each token shaded by how much `query` looks at it, or by how much it looks at `key`.

    query, key: one of them, a position of a piece; it is framed. Shades are on a scale of their own, from 0 (signed
    measures: from −max) to the largest value shown; each sentence begins a line. measure, and `shown` (layer_map,
    units, pair_filter, hide_special, renormalize) as for `attention_map`. Without `axes` a new figure, `width` in mm,
    letters of `size` points, theme "light" or "dark"; `save` writes it. Returns the matplotlib axes, whose texts are
    the tokens, and the legend.
    Raises SelectionError for what does not exist and for a token that is filtered out, ModelError for what the trace
    does not offer.
    """
    if theme not in THEMES[1:]:
        raise SelectionError(f"theme is one of {', '.join(THEMES[1:])}, not {excerpt(theme)}")
    if (query is None) == (key is None):
        raise SelectionError("give a query or a key, one of them")
    grid = shown_grid(trace, layer, head, measure, **shown)
    if key is None:
        at, units, values = _place(grid.rows, query, len(trace.tokens), "query"), grid.cols, grid.values
        subject, values, side = grid.rows[at], values[at], trace.key_encoding or trace.encoding
    else:
        at, units, values = _place(grid.cols, key, len(trace.key_tokens), "key"), grid.rows, grid.values
        subject, values, side = grid.cols[at], values[:, at], trace.encoding
    top = scale_end(float(np.nan_to_num(np.abs(values)).max()))
    low = -top if grid.signed else 0.0
    colours = colors.table("signed" if grid.signed else "weight", theme)
    entries = np.floor(255 * np.clip((np.nan_to_num(values) - low) / (top - low), 0, 1) + 0.5).astype(int)
    fills = [
        colors.NAN if np.isnan(v) else "#" + bytes(colours[n].tolist()).hex()
        for v, n in zip(values, entries, strict=True)
    ]
    runs = [_written(side, unit) for unit in units]
    is_new = axes is None
    room = width * _POINT - 2 * _MARGIN if is_new else axes.bbox.width / axes.figure.dpi * 72
    places = _lines(runs, {*grid.edges(units)}, room, size)
    if is_right_to_left("".join(unit.label for unit in units if not unit.special)):
        places = [(room - x - wide, line, wide) for x, line, wide in places]
    down = (places[-1][1] + 1) * _LINE * size
    axes = _sheet(width * _POINT, room, down, size, colors.INKS[theme]["panel"]) if is_new else axes
    axes.set_xlim(0, room)
    axes.set_ylim(down if is_new else axes.bbox.height / axes.figure.dpi * 72, 0)
    axes.set_axis_off()
    for unit, (text, _), (x, line, wide), fill in zip(units, runs, places, fills, strict=True):
        is_own = trace.key_encoding is None and unit.pieces[0] == subject.pieces[0]
        _word(axes, text, x, line * _LINE * size, wide, fill, colors.INKS[theme]["select"] if is_own else "none", size)
    name, ink = quotation(visible(subject.label)), colors.INKS[theme]["ink"]
    title = f"{grid.title}: {f'what {name} looks at' if key is None else f'who looks at {name}'}"
    axes.set_title(plain(title), fontsize=size + 1, color=ink, loc="left")
    ends = [f"−{top:.3f}", f"+{top:.3f}"] if grid.signed else ["0", f"{top:.3f}"]
    caption = f"{' to '.join(ends)}: {phrases.OWN_SCALE.format(symbol=grid.symbol, name=name)}"
    axes.annotate(plain(caption), (0, 0), (0, -1.6 * size), xycoords="axes fraction", textcoords="offset points",
                  fontsize=size, color=ink, annotation_clip=False)  # fmt: skip
    return axes


def _place(units: list[GridUnit], piece: int | None, size: int, name: str) -> int:
    """The unit of a piece. Raises SelectionError where there is none, or the filters leave it out."""
    assert piece is not None
    check_index(piece, size, name)
    at = next((n for n, unit in enumerate(units) if piece in unit.pieces), None)
    if at is None:
        raise SelectionError(f"{name} {piece} is filtered out: choose another one, or show all tokens")
    return at


def _written(side: Encoding, unit: GridUnit) -> tuple[str, bool]:
    """What a unit is in running text, and whether it stands apart from the one before."""
    n, words = unit.pieces[0], side.word_ids
    goes_on = n > 0 and words[n] is not None and words[n] == words[n - 1]
    label = letters_of(unit.label, side.continuation) if goes_on else unit.label
    return visible(label), n > 0 and not goes_on and stands_apart(side.display_tokens, side.tokens, side.special, n)


def _lines(runs: list[tuple[str, bool]], starts: set[int], room: float, size: float) -> list[tuple[float, int, float]]:
    """Where each text stands: points from the left, its line, its width."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    families, _ = families_of([text for text, _ in runs], FontProperties().get_family())
    font, places = FontProperties(family=families, size=size), []
    x, line = 0.0, 0
    for n, (text, is_word) in enumerate(runs):
        wide = text_to_path.get_text_width_height_descent(plain(text), font, False)[0] + 2 * _PAD
        x += _BLANK * size if is_word and n else 0
        if n in starts or (x > 0 and x + wide > room):
            x, line = 0.0, line + 1
        places.append((x, line, wide))
        x += wide
    return places


def _sheet(width: float, room: float, down: float, size: float, panel: str) -> Any:
    """Axes on a new figure, with room for a title above and the legend below; all in points."""
    above, below = 2.6 * size + _MARGIN, 2 * size + _MARGIN
    height = above + down + below
    figure = pyplot().figure(figsize=(width / 72, height / 72), facecolor=panel)
    return figure.add_axes((_MARGIN / width, below / height, room / width, down / height))


def _word(axes: Any, text: str, x: float, y: float, wide: float, fill: str, frame: str, size: float) -> None:
    from matplotlib.patches import Rectangle

    high = (_LINE - 0.3) * size
    axes.add_patch(Rectangle((x, y), wide, high, facecolor=fill, edgecolor=frame, linewidth=1, clip_on=False))
    axes.text(
        x + wide / 2,
        y + high / 2,
        plain(text),
        ha="center",
        va="center_baseline",
        fontsize=size,
        color=colors.ink_on(fill),
    )
