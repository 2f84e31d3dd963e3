"""What stands on the screen of a view, as its page measured it: words, grounds and lines at their places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typing_extensions import NotRequired, TypedDict

from ..base import colors
from ..errors import InputError, excerpt
from .figure import MM, plain, pyplot
from .letters import legible

_POINT = 72 / 96  # of a pixel of a screen
_POINTS = 72
_MOST, _MOST_POINTS = 5000, 2000
_COLOUR = re.compile("(#[0-9a-f]{6})?")
_NARROW, _WIDE = 0.5, 1.02  # how far letters may give to be as wide as on the screen


class Shape(TypedDict):
    points: list[list[float]]  # px; of a word one: its left end, on the line that letters stand on
    fill: str  # "#rrggbb", "" for none
    stroke: str
    opacity: float
    width: float  # px of the stroke, of a word its own
    dashed: bool
    text: NotRequired[str]
    size: NotRequired[float]  # px of letters
    serif: NotRequired[bool]
    bold: NotRequired[bool]
    italic: NotRequired[bool]


class Drawn(TypedDict):
    shapes: list[Shape]
    width: float  # px
    height: float


def checked(drawn: Any) -> Drawn:
    """What a page measured. Raises InputError where it is no such thing, or too much of it."""
    shapes = drawn.get("shapes") if isinstance(drawn, dict) else None
    sides: list[Any] = [drawn.get(side) for side in ("width", "height")] if isinstance(drawn, dict) else []
    if not isinstance(shapes, list) or len(shapes) > _MOST or not all(_is_number(side, 1) for side in sides):
        raise InputError(f"a screen is up to {_MOST:,} shapes, and has a width and a height")
    if wrong := next((shape for shape in shapes if not _is_shape(shape)), None):
        raise InputError(f"this is no shape of a screen: {excerpt(wrong)}")
    return {"shapes": shapes, "width": sides[0], "height": sides[1]}


def _is_number(value: Any, least: float = -1e6) -> bool:
    return type(value) in (int, float) and least <= value <= 1e6


def _is_shape(shape: Any) -> bool:
    if not isinstance(shape, dict) or not isinstance(shape.get("points"), list):
        return False
    points = shape["points"]
    is_word = isinstance(shape.get("text"), str) and len(points) == 1 and _is_number(shape.get("size"), 0.1)
    return (
        (is_word or ("text" not in shape and 1 < len(points) <= _MOST_POINTS))
        and all(isinstance(point, list) and len(point) == 2 and all(map(_is_number, point)) for point in points)
        and all(isinstance(shape.get(name), str) and _COLOUR.fullmatch(shape[name]) for name in ("fill", "stroke"))
        and (shape["fill"] != "" or not is_word)
        and _is_number(shape.get("width"), 0)
        and _is_number(shape.get("opacity"), 0)
        and shape["opacity"] <= 1
        and isinstance(shape.get("dashed"), bool)
    )


@legible
def screen_figure(drawn: Drawn, *, width: float | None = None, theme: str = "light") -> Any:
    """A figure `width` mm wide, or as large as on the screen. Returns the matplotlib axes."""
    scale = width * _POINTS / MM / drawn["width"] if width else _POINT
    size = tuple(drawn[side] * scale / _POINTS for side in ("width", "height"))
    figure = pyplot().figure(figsize=size, facecolor=colors.INKS[theme]["panel"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawn["width"]), ylim=(drawn["height"], 0))
    axes.set_axis_off()
    for order, shape in enumerate(drawn["shapes"]):
        (_word if "text" in shape else _line)(axes, shape, scale, order)
    return axes


def _line(axes: Any, shape: Shape, scale: float, order: int) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    axes.add_patch(
        PathPatch(
            Path(shape["points"]),
            facecolor=shape["fill"] or "none",
            edgecolor=shape["stroke"] or "none",
            linewidth=shape["width"] * scale,
            linestyle=(0, (3, 2)) if shape["dashed"] else "solid",
            capstyle="butt",
            alpha=shape["opacity"],
            zorder=order,
        )
    )


def _word(axes: Any, shape: Shape, scale: float, order: int) -> None:
    """In letters of such a size that the word is as wide as it was, whatever fonts there are."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    [[x, y]] = shape["points"]
    style: dict[str, Any] = {
        "family": "serif" if shape.get("serif") else "sans-serif",
        "weight": "bold" if shape.get("bold") else "normal",
        "style": "italic" if shape.get("italic") else "normal",
    }
    size, text = shape["size"] * scale, plain(shape["text"])
    natural = _advance(TextPath, text, FontProperties(**style), size)
    fit = min(_WIDE, max(_NARROW, shape["width"] * scale / natural)) if natural > 0 else 1.0
    axes.text(
        x, y, text, ha="left", va="baseline", color=shape["fill"], alpha=shape["opacity"], zorder=order,
        fontproperties=FontProperties(size=size * fit, **style),
    )  # fmt: skip


def _advance(text_path: Any, text: str, font: Any, size: float) -> float:
    """How wide a word is in points; 0 for one without a drawn letter."""
    corners: Sequence[Sequence[float]] = text_path((0, 0), text, size=size, prop=font).vertices
    return max((corner[0] for corner in corners), default=0.0)
