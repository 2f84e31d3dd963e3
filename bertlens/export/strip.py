"""A text as coloured tokens: what each counts for, as HTML that needs no script, in notebooks and saved ones."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

import numpy as np

from ..base import colors
from ..trace.provenance import visible

if TYPE_CHECKING:
    from ..measures.attribution import Attribution

_DIGITS = 3  # decimals under the tokens, more where the largest value is below 0.1; in the table one more
_NEVER = f"repeating-linear-gradient(-45deg,#ffffff 0 3px,{colors.NAN} 3px 4px)"


def token_strip(found: Attribution) -> str:
    """An attribution as HTML: tokens shaded from −max to max and their numbers, a legend, sums in words, a table.

    Blue above 0, orange below, white 0; hatched: never removed by the method. Ink and ground are given for each token,
    so that it reads the same on a light page and on a dark one.
    """
    values = found.values.numpy()
    top = float(np.nanmax(np.abs(values), initial=0))
    digits = max(_DIGITS, _DIGITS - 1 - math.floor(math.log10(top))) if top else _DIGITS
    tokens = [html.escape(visible(token)) for token in found.trace.display_tokens]
    strip = "".join(
        _token(n, token, value, top, digits) for n, (token, value) in enumerate(zip(tokens, values, strict=True))
    )
    rows = "".join(
        f"<tr><td>{n}</td><th scope='row'><bdi>{token}</bdi></th><td>{_number(value, digits + 1)}</td></tr>"
        for n, (token, value) in enumerate(zip(tokens, values, strict=True))
    )
    summary = html.escape(" ".join([f"{found.said}.", *found.notes]))
    return (
        f"<div role='group' aria-label='{html.escape(found.method)}'><p>{summary}</p>"
        f"<div dir='ltr' style='line-height:1.25'>{strip}</div><p>{_legend(values, top, digits, found.signed)}</p>"
        f"<details><summary>{len(tokens)} numbers</summary><table><thead><tr><th scope='col'>position</th>"
        f"<th scope='col'>token</th><th scope='col'>value</th></tr></thead><tbody>{rows}</tbody></table></details>"
        "</div>"
    )


def _token(position: int, token: str, value: float, top: float, digits: int) -> str:
    never = bool(np.isnan(value))
    ground, ink = (_NEVER, "#000000") if never else _colors(value, top)
    name = f"<bdi style='background:#ffffff'>{token}</bdi>" if never else f"<bdi>{token}</bdi>"
    number = "<small>&#160;</small>" if never else f"<small>{_number(value, digits)}</small>"
    hover = f"{position}: {'never removed' if never else _number(value, digits + 1)}"
    return (
        f"<span title='{hover}' style='display:inline-block;margin:1px;padding:2px 5px;border-radius:3px;"
        f"text-align:center;border:1px solid {colors.NAN};background:{ground};color:{ink}'>{name}<br>{number}</span>"
    )


def _colors(value: float, top: float) -> tuple[str, str]:
    """The colour of a value between −top and top, as the page's signed table has it, and black or white on it."""
    entry = int(np.clip(255 * (value / (top or 1) + 1) / 2 + 0.5, 0, 255))
    color = "#" + bytes(colors.table("signed", "light")[entry].tolist()).hex()
    return color, colors.ink_on(color)


def _legend(values: np.ndarray, top: float, digits: int, signed: bool) -> str:
    shades = ",".join(_colors(part, 1)[0] for part in np.linspace(-1, 1, 9))
    ramp = f"display:inline-block;width:120px;height:10px;background:linear-gradient(90deg,{shades})"
    never = "; hatched: never removed by this method" if np.isnan(values).any() else ""
    sense = f"{colors.POSITIVE} raises the number, {colors.NEGATIVE} lowers it"
    if not signed:
        sense = f"the more {colors.POSITIVE}, the more flows from the token"
    ends = [_number(end, digits) for end in (-top, top)]
    return f"{ends[0]} <span style='{ramp}'></span> {ends[1]}: {sense}{never}"


def _number(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}".replace("-", "−")
