"""A text as coloured tokens: what each counts for, as HTML that needs no script, in notebooks and saved ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base import colors
from ..base.quotes import is_right_to_left
from ..measures.attribution import Attribution
from . import pages

_DIGITS = 3  # decimals under the tokens, more where the largest value is below 0.1; in the table one more
_NEVER = f"repeating-linear-gradient(-45deg,#ffffff 0 3px,{colors.NAN} 3px 4px)"


def token_strip(found: Attribution) -> str:
    """An attribution as HTML: tokens shaded from −max to max and their numbers, a legend, sums in words, a table.

    Red above 0, slate below, white 0; hatched: never removed by the method. Ink and ground are given for each token,
    so that it reads the same on a light page and on a dark one.
    """
    values = found.values.numpy()
    top = float(np.nanmax(np.abs(values), initial=0))
    digits = max(_DIGITS, _DIGITS - 1 - math.floor(math.log10(top))) if top else _DIGITS

    def token(position: int, text: str, value: float) -> dict[str, Any]:
        is_number = not np.isnan(value)
        ground, ink = _colors(value, top) if is_number else (_NEVER, "#000000")
        numbers = (pages.number(value, digits), pages.number(value, digits + 1)) if is_number else ("", "")
        return {"position": position, "text": text, "ground": ground, "ink": ink, "numbers": numbers}

    never = "; hatched: never removed by this method" if np.isnan(values).any() else ""
    sense = f"{colors.POSITIVE} raises the number, {colors.NEGATIVE} lowers it"
    if not found.signed:
        sense = f"the more {colors.POSITIVE}, the more flows from the token"
    return pages.render(
        "strip.jinja",
        method=found.method,
        direction="rtl" if is_right_to_left(found.trace.text or "") else "ltr",
        sentences=[f"{found.said}.", *found.notes],
        tokens=[token(n, *named) for n, named in enumerate(zip(found.trace.display_tokens, values, strict=True))],
        ends=[pages.number(end, digits) for end in (-top, top)],
        shades=[_colors(share, 1)[0] for share in np.linspace(-1, 1, 9)],
        sense=sense + never,
        edge=colors.NAN,
    )


def _colors(value: float, top: float) -> tuple[str, str]:
    """The colour of a value between −top and top, as the page's signed table has it, and black or white on it."""
    entry = int(np.clip(255 * (value / (top or 1) + 1) / 2 + 0.5, 0, 255))
    color = "#" + bytes(colors.table("signed", "light")[entry].tolist()).hex()
    return color, colors.ink_on(color)
