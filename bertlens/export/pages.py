"""What the pages that bertlens writes have in common: templates that escape all text, colours, the content policy.

`templates/` says how a page looks; who writes one collects plain data, and renders it. What a template takes as it is
(`|safe`) is ours: scripts, styles, JSON without "<", and markup that was rendered here.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .. import __version__
from ..base import colors
from ..base.quotes import isolate
from ..base.vocabulary import phrases
from ..trace.provenance import visible

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **fields: Any) -> str:
    """The text of a template. fields: plain data; text in it is text, whatever it holds."""
    return _environment().get_template(template).render(fields)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    def escaped(text: Any) -> Any:
        return text if hasattr(text, "__html__") else environment.filters["safe"](html.escape(str(text)))

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=escaped,  # before jinja2 would: quotes as html.escape writes them
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": shortened, "isolate": isolate, "number": number, "thousands": "{:,}".format}
    palettes = {theme: colors.INKS[theme] | colors.VERDICTS[theme] for theme in colors.THEMES}
    environment.globals |= {
        "interval": interval,
        "policy": policy,
        "version": __version__,
        "palettes": palettes,
        "series": colors.CHARTS,
        "serif": colors.SERIF,
        "print_inks": colors.PRINT,
        "phrases": phrases,
    }
    return environment


def address(**state: Any) -> str:
    """The address of a state of the view below: traits, and `text`, one that a page carries."""
    return "#bertlens=" + quote(json.dumps(state, separators=(",", ":")))


def origin(model: str, corpus: str = "", licence: str = "") -> str:
    """What a page says of itself to who hands it on (space.py). corpus: whose texts it shows beside those that were
    typed, "" for none; licence: of the weights that it carries."""
    return json.dumps({"model": visible(model), "corpus": visible(corpus), "licence": visible(licence)})


def policy(script: str = "", rights: str = "") -> str:
    """The content policy of a page: it loads nothing, and runs this script alone, which is known by its hash.

    rights: what else the script may do, as the policy says it.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'{rights}; " if script else ""
    return (
        f"default-src 'none'; {scripts}style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def shortened(text: Any, length: int | None = None) -> str:
    """`visible` text, of at most `length` characters: what is cut off at its end is “…”."""
    plain = visible(str(text)[: None if length is None else length + 1])
    return plain if length is None or len(plain) <= length else f"{plain[: length - 1]}…"


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many decimals and a minus sign, “–” for none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}".replace("-", "−")


def interval(low: float, high: float, digits: int = 3) -> str:
    """The two ends of an interval, “–” where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return f"{number(low, digits)} to {number(high, digits)}"
