"""What `parity` found as one page for print: the pipeline, texts by distance, hypotheses on a log axis; no script."""

from __future__ import annotations

import math
from typing import Any

from ..export import pages
from ..trace.provenance import made_with
from .hypothesis import AFTER, FORWARD, POOLING, TEXT, TWINS

STEPS = {"text and tokens": TEXT, "layers": FORWARD, "pooling": POOLING, "what follows": AFTER, "storage": ""}
LOW, HIGH = -8, 1  # ends of the axis, as powers of ten
SHOWN = 40  # texts, and hypotheses
LONGEST = 90  # characters of a text


def page_of(p: Any) -> str:
    """The text of the page. p: a Parity, which imports this."""
    factors = {factor for group in p.classes[:1] for factor in group[0].factor.split(" × ")}
    table, texts = p.table, p.texts.sort_values("distance", ascending=False, na_position="last")
    rows = table[table["factor"] != "none"].assign(share=lambda t: t["rows"] / t["of"])
    rows = rows.sort_values(["fits", "share", "worst"], ascending=[False, False, True])
    return pages.render(
        "parity.jinja",
        model=p.search.lens.model_name,
        said=p.said,
        storage=p.storage,
        noise=f"{p.noise:.1e}",
        steps=[{"name": name, "is_off": factor in factors} for name, factor in STEPS.items()],
        band=_at(p.search.limit),
        texts=[
            _row(row.text[:LONGEST], f"{row.tokens:,} tokens", row.distance, row.distance <= p.search.limit)
            for row in texts[:SHOWN].itertuples()
        ],
        hypotheses=[
            _row(row.hypothesis, f"{row.rows} of {row.of} fit", row.worst, row.fits)
            for row in rows[:SHOWN].itertuples()
        ],
        left_out=max(0, len(rows) - SHOWN),
        twins=TWINS,
        made="".join(f", {name} {version}" for name, version in made_with()["versions"].items() if name != "bertlens"),
    )


def _row(name: str, note: str, distance: float, fits: Any) -> dict[str, Any]:
    is_number = math.isfinite(distance)
    number = f"{distance:.1e}" if is_number else "not run"
    return {
        "name": name,
        "note": note,
        "number": number,
        "at": _at(distance) if is_number else None,
        "fits": bool(fits),
    }


def _at(distance: float) -> float:
    """Where it stands on the axis, in per cent of its length."""
    power = math.log10(max(distance, 10.0**LOW))
    return round(100 * (min(power, HIGH) - LOW) / (HIGH - LOW), 1)
