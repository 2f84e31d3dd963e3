"""The page of a task: plain tables in one file, nothing loaded; below them the examples, live."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.atomic import replacing
from ..base.colors import page_inks
from ..base.ranking import is_nothing
from ..base.registered import registered
from ..errors import BertLensError, ExportError
from ..export import html
from ..trace.provenance import made_with, visible
from ..vocabulary import phrases
from .ablations import ABLATIONS
from .answers import Answered
from .importance import Heads
from .mistakes import Errors
from .scores import calibration_table, confusion_table

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = 200  # with the largest loss
OF_A_CELL = 20
CHARACTERS = 400  # of a text
NEAREST = 160
SLICES = 15
SECURITY = "default-src 'none'; style-src 'unsafe-inline'"
MORE = (("wrong", 0), ("rank", 0), ("error", 2), ("margin", 2), ("loss", 2))  # columns of an example, and digits
Cell = tuple[str, str]  # what is in a cell, and its class


def write(path: str | Path, task: Answered, heads: Heads | None, errors: Errors | None, live: int) -> None:
    """Raises ExportError where the file cannot be written."""
    page = page_of(task, heads, errors, live).encode("utf-8", "replace")
    with replacing(path) as out:
        out.write(page)


def page_of(task: Answered, heads: Heads | None = None, errors: Errors | None = None, live: int = 0) -> str:
    """The text of the page. live: of how many texts the heads are shown, those with the largest loss."""
    tables = _tables(task, heads, errors)
    made = made_with()
    versions = " &#183; ".join([*(f"{name} {number}" for name, number in made["versions"].items()), made["date"]])
    style = f"<style>{page_inks('#labelled')}{Path(__file__).with_name('page.css').read_text(encoding='utf-8')}</style>"
    whole = _with_view(task, heads, errors, live, style + tables) if live else None
    if whole is not None:
        return whole
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{SECURITY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{_said(task.lens.model_name)}: its task</title></head>\n<body>\n{style}{tables}"
        f'<footer class="soft">{versions}</footer></body></html>\n'
    )


def _with_view(task: Answered, heads: Heads | None, errors: Errors | None, live: int, above: str) -> str | None:
    """The page with the view of the examples below the tables; None where the model shows no attention."""
    layer, head, needed = _first(heads)
    try:
        view: Any = registered("task_view")(task, heads_found=heads, errors_found=errors, layer=layer, head=head)
    except BertLensError:
        return None
    most = ", the head with the largest effect" if needed else ""
    where = "" if heads is None else f", opened at L{layer}·H{head}{most}"
    said = (
        f'<h2 id="live">The examples, live</h2><p class="soft">The {min(EXAMPLES, len(task))} with the largest loss; a '
        f"click on one of the first {min(live, len(task))} shows its heads{where}.</p></section>"
    )
    link = '<p><a href="#live">To the examples, live</a></p>'
    above = above.removesuffix("</section>").replace("</h1>", f"</h1>{link}", 1) + said
    for layers in (None, [layer]):
        page = view.page(layers)
        page = replace(page, above=above, others=itertools.islice(page.others, live - 1))
        try:
            return html.to_html(page)
        except ExportError:
            continue
    return None


def _first(heads: Heads | None) -> tuple[int, int, bool]:
    """The head that comes first by its effect, and whether something is lost without it."""
    if heads is None:
        return 0, 0, False
    best = heads.table[(heads.table["head"] >= 0)].iloc[0]
    return int(best["layer"]), int(best["head"]), not is_nothing(max(0, best["effect"]))


def _tables(task: Answered, heads: Heads | None, errors: Errors | None) -> str:
    model, source = _said(task.lens.model_name), task.examples.columns.source
    table = task.table.sort_values("loss", ascending=False, kind="stable")
    scores = task.kind.metrics(task.records, task.labels)
    names = task.names
    asked = f"{len(names)} {'tags' if task.kind.name == 'tags' else 'classes'}" if names else task.kind.asks
    parts = [
        f"<h1>How good is {model}?</h1>",
        f'<p class="soft">{len(task):,} examples{" of " + _said(source) if source else ""} &#183; '
        f"{asked} &#183; intervals: 95 %, over examples drawn as these were</p>",
        "<h2>Scores</h2>",
        _whole(scores),
        *([_each(scores, task)] if (scores["label"] != "").any() else []),
        *(["<h2>Labels and guesses</h2>", _confusion(task, table)] if names else []),
        *([] if heads is None else [_heads(heads)]),
        *([] if errors is None else [_errors(errors)]),
        *([_calibration(task)] if names else []),
        f"<h2>The {min(EXAMPLES, len(task))} examples with the largest loss</h2>",
        _examples(table.head(EXAMPLES)),
    ]
    return f'<section id="labelled">{"".join(parts)}</section>'


def _said(text: Any, most: int = CHARACTERS) -> str:
    shown = visible(str(text))
    return escape(shown if len(shown) <= most else f"{shown[: most - 1]}…")


def _number(value: Any, digits: int = 3) -> Cell:
    if value is None or not math.isfinite(value):
        return "–", "number"
    return f"{value:.{digits}f}".replace("-", "−"), "number"


def _p(value: float) -> Cell:
    return ("&lt; .001", "number") if value < 0.001 else _number(value)


def _between(low: float, high: float, digits: int = 3) -> Cell:
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–", "number"
    return f"{_number(low, digits)[0]} to {_number(high, digits)[0]}", "number"


def _table(names: Sequence[Cell], rows: Iterable[tuple[str, Sequence[Cell]]]) -> str:
    """names: (heading, class of the column); rows: (class of the row, cells)."""
    head = "".join(f'<th class="{kind}" scope="col">{name}</th>' for name, kind in names)
    body = "".join(
        f'<tr class="{of_row}">{"".join(f"<td class={kind!r}>{cell}</td>" for cell, kind in cells)}</tr>'
        for of_row, cells in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _whole(scores: pd.DataFrame) -> str:
    names = [("of all examples", "name"), *((name, "number") for name in ("value", "interval", "n")), ("", "name")]
    chosen = scores[scores["label"] == ""]
    return _table(
        names,
        [
            (
                "",
                [
                    (r.measure, "name"),
                    _number(r.value),
                    _between(r.low, r.high),
                    (f"{r.n:,}", "number"),
                    (r.note, "soft"),
                ],
            )
            for r in chosen.itertuples()
        ],
    )


def _each(scores: pd.DataFrame, task: Answered) -> str:
    found = scores.set_index(["measure", "label"])
    rows = []
    for name in dict.fromkeys(scores.loc[scores["label"] != "", "label"]):
        cells: list[Cell] = [(_said(name), "name"), (f"{found.loc[('recall', name), 'n']:,}", "number")]
        for measure in ("precision", "recall", "F1"):
            one = found.loc[(measure, name)]
            cells += [_number(one["value"]), _between(one["low"], one["high"])]
        rows.append(("", cells))
    names = [("class", "name"), ("n", "number")]
    for measure in ("precision", "recall", "F1"):
        names += [(measure, "number"), ("interval", "number")]
    fewest = "200 texts with one" if task.kind.name == "tags" else "50"
    few = f'<p class="soft">–: no such example, or fewer than {fewest}, which are too few for an interval.</p>'
    return _table(names, rows) + (few if found["note"].str.startswith("too few").any() else "")


def _confusion(task: Answered, table: pd.DataFrame) -> str:
    labels, logits, places = task.kind.counted(task.records, task.labels)
    names, guesses = task.names, logits.argmax(1)
    counts = confusion_table(labels, guesses, names).to_numpy()
    words = "words that " if task.kind.name == "tags" else ""
    head = "".join(f'<th scope="col">{_said(name, 40)}</th>' for name in names)
    rows, texts = [], []
    for i, label in enumerate(names):
        cells = []
        for j, guess in enumerate(names):
            count = int(counts[i, j])
            share = count / counts[i].sum() if count else 0
            opens = f'<a href="#cell-{i}-{j}">{count:,}</a>' if count and i != j else f"{count:,}"
            cells.append(f'<td style="--share:{share:.3f}">{opens}</td>')
            if count and i != j:
                inside = table[table["row"].isin(places[(labels == i) & (guesses == j)])]
                more = f", the {OF_A_CELL} {phrases.LARGEST_LOSS}" if len(inside) > OF_A_CELL else ""
                inside = inside.head(OF_A_CELL)
                texts.append(
                    f'<details id="cell-{i}-{j}"><summary>{count:,} {words}'
                    f"{'is' if count == 1 else 'are'} {_said(label, 40)} "
                    f"and guessed to be {_said(guess, 40)}{more}</summary>{_examples(inside)}</details>"
                )
        rows.append(f'<tr><th scope="row">{_said(label, 40)}</th>{"".join(cells)}</tr>')
    return (
        '<p class="soft">Labels in rows, guesses in columns; a number leads to its texts.</p><div class="wide">'
        f'<table class="counts"><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        + "".join(texts)
    )


def _examples(table: pd.DataFrame) -> str:
    pair = "text_pair" in table.columns
    texts = table["text"] if not pair else table["text"] + " / " + table["text_pair"]
    more = [(name, digits) for name, digits in MORE if name in table.columns]
    right = table["right"] if "right" in table.columns else [True] * len(table)
    names = [("row", "number"), ("label", "name"), ("guess", "name"), *((name, "number") for name, _ in more)]
    rows = [
        (
            "",
            [
                (f"{r['row']}", "number"),
                _answer(r["label"]),
                _answer(r["guess"], "name" if fine else "name wrong"),
                *(_number(r[name], digits) for name, digits in more),
                (_said(text), "text"),
            ],
        )
        for (_, r), text, fine in zip(table.iterrows(), texts, right, strict=True)
    ]
    return _table([*names, ("text", "text")], rows)


def _answer(value: Any, kind: str = "name") -> Cell:
    """A class, a word or tags; a number of a task of numbers."""
    return _number(value, 2) if isinstance(value, float) else (_said(value), kind)


def _heads(found: Heads) -> str:
    run = found.table[found.table["effect"].notna()]
    unit = "loss, nats" if found.measure == "loss" else "accuracy"
    names = [("part", "name"), (f"effect ({unit})", "number"), ("interval", "number"), ("p, Holm", "number")]
    names += [("estimate (loss, nats)", "number"), ("chosen", "name")]
    rows = [
        (
            "finding" if r.finding else "",
            [
                (_said(r.part), "name"),
                _number(r.effect, 4),
                _between(r.low, r.high, 4),
                _p(r.p_holm),
                _number(r.estimate, 4),
                ("at random" if r.chosen == "random" else "by estimate", "soft"),
            ],
        )
        for r in run.itertuples()
    ]
    return (
        f"<h2>Which heads it needs</h2><p>{_said(found.said, 2000)}</p>"
        '<p class="soft">Effect: what is lost on the second half of the texts with the part '
        f"{ABLATIONS[found.ablation]}; bold: p ≤ .05. Estimates are of the first half, by one backward pass, and "
        f"descriptive.</p>{_table(names, rows)}"
    )


def _errors(found: Errors) -> str:
    worst = found.slices.head(SLICES)
    names = [
        ("examples", "name"),
        ("n", "number"),
        (found.wrong_is, "number"),
        ("interval", "number"),
        ("others", "number"),
    ]
    names += [("p, Holm", "number")]
    of_slices = [
        (
            "finding" if r.finding else "",
            [
                (_said(f"{r.kind}: {r.slice}"), "name"),
                (f"{r.n:,}", "number"),
                _number(r.rate),
                _between(r.low, r.high),
                _number(r.rate_outside),
                _p(r.p_holm),
            ],
        )
        for r in worst.itertuples()
    ]
    columns = [("row", "number"), ("label", "name"), ("guess", "name"), ("loss", "number"), ("text", "text")]
    columns += [
        ("rests on", "name"),
        ("beats", "number"),
        ("nearest right text of its class", "text"),
        ("twin", "number"),
    ]
    of_texts = [
        (
            "",
            [
                (f"{r.row}", "number"),
                _answer(r.label),
                _answer(r.guess, "name" if getattr(r, "right", True) else "name wrong"),
                _number(r.loss, 2),
                (_said(r.text), "text"),
                (_said(r.words), "name"),
                (f"{r.beats:.0f} of 20" if math.isfinite(r.beats) else "–", "number"),
                (_said(r.nearest_text, NEAREST), "text"),
                (f"{r.twin}" if r.twin >= 0 else "–", "number"),
            ],
        )
        for r in found.table.itertuples()
    ]
    twins = [
        (
            "",
            [
                (f"{r.row}, {r.twin}", "number"),
                (_said(f"{r.label} / {r.twin_label}"), "name"),
                _number(r.alike, 2),
                (_said(r.text), "text"),
                (_said(r.twin_text), "text"),
            ],
        )
        for r in found.duplicates.head(OF_A_CELL).itertuples()
    ]
    titles = [("rows", "number"), ("labels", "name"), ("alike", "number"), ("text", "text"), ("its twin", "text")]
    return (
        f"<h2>Where it is wrong</h2><p>{_said(found.said, 2000)}</p>{_table(names, of_slices)}"
        '<p class="soft">Rests on: the words without which the guess loses most over the label; beats: how many of 20 '
        f"random rankings of the words do worse.</p>{_table(columns, of_texts)}"
        + (f"<h3>Near-duplicates with different labels</h3>{_table(titles, twins)}" if twins else "")
    )


def _calibration(task: Answered) -> str:
    table = calibration_table(*task.kind.counted(task.records, task.labels))
    names = [("probability of the guess", "number"), ("n", "number"), ("its mean", "number"), ("right", "number")]
    names += [("interval", "number")]
    rows = [
        (
            "",
            [
                (f"{low:.1f} to {high:.1f}", "number"),
                (f"{int(n):,}", "number"),
                _number(sure),
                _number(right),
                _between(one, two),
            ],
        )
        for low, high, n, sure, right, one, two in table.itertuples(index=False)
        if n
    ]
    return f"<h2>Is it as often right as it is sure?</h2>{_table(names, rows)}"
