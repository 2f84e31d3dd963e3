"""A report as a section of a model card: Markdown with a table of its claims, and one picture."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from typing import Any

from ..export import space
from ..export.pages import shortened
from .rules import counts_said, ends_said, said

_STILL = re.compile(r'<img src="data:image/png;base64,([A-Za-z0-9+/=]+)"')


def attached(numbers: Mapping[str, Any], page: str) -> dict[str, bytes]:
    """The files of the section. numbers: of `Report.to_dict`; page: the text of the report's page, for its picture."""
    still = _STILL.search(page)
    files = {space.SECTION: section(numbers, still is not None).encode()}
    return files | ({space.PICTURE: base64.b64decode(still[1])} if still else {})


def section(numbers: Mapping[str, Any], has_picture: bool = False) -> str:
    """The text of the section: verdicts, and a row a claim with its number, n and chance."""
    model, corpus = numbers["model"], numbers["corpus"]
    verdicts = counts_said(numbers["verdicts"], numbers["checks"], numbers.get("searches", {}))
    lines = [
        "## What its heads do",
        "",
        f"Of {space.markdown(shortened(model['model']))}, on {corpus['texts']:,} of {corpus['of']:,} texts "
        f"({space.markdown(shortened(corpus['name']))}): {verdicts}.",
        "",
        "| claim | verdict | this model [95 %] | n | chance | the paper |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_row(claim) for claim in numbers["claims"]),
        "",
        f"Made with bertlens: `{numbers['python']}`",
    ]
    if has_picture:
        lines[3:3] = ["", f"![A head's attention on one of the texts]({space.PICTURE})"]
    return "\n".join(lines) + "\n"


def _row(claim: Mapping[str, Any]) -> str:
    names = ("value", "low", "high", "chance")
    value, low, high, chance = (math.nan if claim[name] is None else claim[name] for name in names)
    unit = claim["unit"]
    cells = [
        claim["sentence"],
        claim["verdict"],
        f"{said(value, unit)}{ends_said(low, high, unit)}",
        f"{claim['n']} {claim['n_of']}" if claim["n"] else "",
        "" if math.isnan(chance) else said(chance, unit),
        f"{claim['paper']}: {claim['found']}" if claim["found"] else "",
    ]
    return f"| {' | '.join(space.markdown(shortened(cell)) for cell in cells)} |"
