"""What `parity` found as one page: the pipeline, texts by distance, hypotheses on a log axis; below it the heads on the
texts that differ, each at the first step that does where it is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.dataframes import pd
from ..base.progress import page_bar
from ..errors import BertLensError, ExportError, InputError, excerpt
from ..export import html, pages
from ..lens import Lens
from ..model.borrowed import checked_once
from ..trace.provenance import made_with
from .dump_steps import Steps
from .hypothesis import AFTER, FORWARD, POOLING, TEXT, TWINS

STEPS = {"text and tokens": TEXT, "layers": FORWARD, "pooling": POOLING, "what follows": AFTER, "storage": ""}
LOW, HIGH = -8, 1  # ends of the axis, as powers of ten
SHOWN = 40  # texts, and hypotheses
Fields = dict[str, Any]  # what parity.jinja is rendered with


def page_of(p: Any, live: int, steps: Sequence[Steps], progress: bool) -> str:
    """The text of the page. p: a Parity, which imports this. live: of how many texts that differ, those of `steps`
    first, the page has the heads. Raises InputError for steps that are none of these texts."""
    lens, prompt = p.search.lens, p.search.reader.prompt
    given = steps if isinstance(steps, list | tuple) else [steps, steps]  # which is refused
    found = {one.text.removeprefix(prompt): one for one in given if isinstance(one, Steps) and one.lens is lens}
    if len(found) < len(given) or not found.keys() <= {*p.search.texts}:
        raise InputError(f"steps= are those of bl.parity_steps of texts compared here, one each, not {excerpt(steps)}")
    texts = p.texts.sort_values("distance", ascending=False, na_position="last")
    texts = texts[(np.arange(len(texts)) < SHOWN) | texts["text"].isin(found)]
    opens = [*found, *(text for text in texts["text"][texts["distance"] > p.search.limit] if text not in found)]
    fields = _fields(p, texts, found)
    try:
        views = [_view(lens, prompt + text, found.get(text)) for text in opens[:live]]
    except BertLensError:  # a model that shows no attention
        views = []
    return _with_views(dict(zip(opens, views, strict=False)), fields, progress) or pages.render(
        "paritypage.jinja", **fields, live=False
    )


def _view(lens: Lens, text: str, steps: Steps | None) -> Any:
    return steps.explore() if steps else lens.trace(text, truncation=True).explore()


def _with_views(views: Mapping[str, Any], fields: Fields, progress: bool) -> str | None:
    """The page with these texts below it, the heads of the layers that they open at, of as many as fit; None where not
    one does."""
    for n in range(len(views), 0, -1):
        opened = {text: views[text] for text in [*views][:n]}
        addresses = {
            text: pages.address(layer=view.layer, head=view.head, text=view.overview["header"]["text"])
            for text, view in opened.items()
        }
        texts = [row | {"address": addresses.get(row["name"], "")} for row in fields["texts"]]
        above = pages.render("parity.jinja", **fields | {"texts": texts, "live": True})
        try:
            with checked_once(), page_bar(progress) as bar:
                # an address sets the layer before its text has come
                layers = sorted({view.layer for view in opened.values()})
                first, *others = (view.page(layers, bar) for view in opened.values())
                page = html.to_html(replace(first, title=fields["title"], above=above, others=others))
        except ExportError:
            continue
        if all(f"{run.state['overview']['header']['trace']} overview" in page for run in others):
            return page
    return None


def _fields(p: Any, texts: pd.DataFrame, found: Mapping[str, Steps]) -> Fields:
    """What parity.jinja shows."""
    factors = {factor for group in p.classes[:1] for factor in group[0].factor.split(" × ")}
    table = p.table
    rows = table[table["factor"] != "none"].assign(share=lambda t: t["rows"] / t["of"])
    rows = rows.sort_values(["fits", "share", "worst"], ascending=[False, False, True])
    return {
        "title": "The same model elsewhere",
        "model": p.search.lens.model_name,
        "said": p.said,
        "storage": p.storage,
        "noise": f"{p.noise:.1e}",
        "steps": [{"name": name, "is_off": factor in factors} for name, factor in STEPS.items()],
        "band": _at(p.search.limit),
        "texts": [
            _row(
                row.text,
                f"{row.tokens:,} tokens",
                row.distance,
                row.distance <= p.search.limit,
                found[row.text].said if row.text in found else "",
            )
            for row in texts.itertuples()
        ],
        "hypotheses": [
            _row(row.hypothesis, f"{row.rows} of {row.of} fit", row.worst, row.fits)
            for row in rows[:SHOWN].itertuples()
        ],
        "left_out": max(0, len(rows) - SHOWN),
        "twins": TWINS,
        "made": "".join(
            f", {name} {version}" for name, version in made_with()["versions"].items() if name != "bertlens"
        ),
    }


def _row(name: str, note: str, distance: float, fits: Any, said: str = "") -> dict[str, Any]:
    is_number = math.isfinite(distance)
    number = f"{distance:.1e}" if is_number else "not run"
    return {
        "name": name,
        "note": note,
        "number": number,
        "at": _at(distance) if is_number else None,
        "fits": bool(fits),
        "said": said,
        "address": "",
    }


def _at(distance: float) -> float:
    """Where it stands on the axis, in per cent of its length."""
    power = math.log10(max(distance, 10.0**LOW))
    return round(100 * (min(power, HIGH) - LOW) / (HIGH - LOW), 1)
