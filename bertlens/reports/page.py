"""The page of a report: verdicts, a card for every claim, and below them the heads on one text, live."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..base.colors import page_inks
from ..base.ranking import is_nothing
from ..errors import BertLensError, ExportError
from ..export import html
from ..trace.provenance import visible
from ..trace.trace import Trace
from .against import difference, same_texts
from .charts import chart
from .claim import PAPERS, SETUP
from .rules import CANNOT, DIFFERS, HOLDS, ends_said, said

if TYPE_CHECKING:
    from .cards import Card, Report

LIMIT = 5_000_000  # bytes of the page
WORDS = (12, 8, 5)  # of each of the texts below the cards; fewer where the page grows too large
CLASSES = {HOLDS: "holds", DIFFERS: "differs", CANNOT: "cannot"}
HEALTH = "health"
CHARTLESS = ' class="wide"'
CENSUS = {HOLDS: "hold", DIFFERS: "differ", CANNOT: "cannot be told"}


def page_of(report: Report, against: Mapping[str, Any] | None = None, progress: bool = True) -> str:
    """The text of the page. Raises ExportError where not even the shortest text fits beside the cards."""
    for item in shortened(report.texts):
        trace = _trace(report, item)
        if trace is None:
            continue
        heads = [card.measured.head for card in report.cards if card.measured.head is not None]
        first = heads[0] if heads else (0, 0)
        view: Any = trace.explore(layer=first[0], head=first[1])
        named = sorted({layer for layer, _ in heads} | {first[0]})
        for layers in (None, named):
            held = set(range(trace.n_layers) if layers is None else layers)
            try:
                page = view.page(layers)
                above = f"{style()}{cards_of(report, trace, held, against)}"
                title = f"{visible(report.facts['model']['model'])}: what the papers found"
                text = html.to_html(replace(page, title=title, above=above))
            except ExportError:
                continue
            if len(text) <= LIMIT:
                return text
    raise ExportError("no text fits into the page beside the cards: save the numbers, report.to_json(path)")


def shortened(texts: Sequence[Any]) -> list[Any]:
    """The first text, or pair, in fewer and fewer words; a sentence of ours where the corpus has none."""
    parts = ("The cat sat on the mat because it was tired.",)
    for item in texts[:1]:
        parts = (item,) if isinstance(item, str) else tuple(item)
    return [tuple(" ".join(part.split()[:words]) for part in parts) for words in WORDS]


def _trace(report: Report, parts: tuple[str, ...]) -> Trace | None:
    try:
        return report.lens.trace(*parts, truncation=True)
    except BertLensError:
        return None


def style() -> str:
    rules = page_inks("#report, #live") + Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return f"<style>{rules}</style>"


def cards_of(report: Report, trace: Trace | None, layers: set[int], against: Mapping[str, Any] | None = None) -> str:
    """Everything above the view; layers: those whose heads the view holds."""
    facts, corpus = report.facts, report.facts["corpus"]
    model = escape(visible(facts["model"]["model"]))
    papers = [card for card in report.cards if card.claim.group != HEALTH]
    health = [card for card in report.cards if card.claim.group == HEALTH]
    trained = sum(card.claim.of_training for card in papers)
    by_chance = f"{trained} of the {len(papers)} claims are of training: of random weights at most 1 in 20 holds."
    if len(papers) > trained:
        by_chance += f" {len(papers) - trained} may hold of random weights too, and say so."
    counts = _counts(papers)
    heads = [("", "", papers), (f'<h2 id="{HEALTH}">Is the model sound?</h2>', _counts(health), health)]
    cut = f", {corpus['cut']} of them cut" if corpus["cut"] else ""
    unknown = f", {100 * corpus['unknown'] / corpus['tokens']:.1f} % of tokens unknown" if corpus["unknown"] else ""
    beside = {} if against is None else {claim["name"]: claim for claim in against["claims"]}
    other = "" if against is None else str(against["model"]["model"])
    paired = against is not None and same_texts(report.facts, against)
    shown = layers if trace is not None else set()
    names = " &#183; ".join(f"{name} {number}" for name, number in facts["model"]["versions"].items())
    body = [
        '<section id="report">',
        f'<header><h1>What of the papers holds on {model}?</h1><p class="counts">{counts}</p></header>',
        f'<p class="facts">{facts["model"]["layers"]} layers of {facts["model"]["heads"]} heads &#183; '
        f"{corpus['texts']:,} of {corpus['of']:,} texts, {corpus['tokens']:,} tokens{cut}{unknown} &#183; "
        f"{escape(visible(corpus['name']))}</p>",
        f'<p class="facts">{by_chance}</p>',
        *(
            part
            for head, told, cards in heads
            if cards
            for part in (
                head,
                f'<p class="counts">{told}</p>' if head else "",
                f'<ul class="index">{"".join(map(_entry, cards))}</ul>',
                *(_card(card, shown, other, beside.get(card.claim.name), paired) for card in cards),
            )
        ),
        report.labelled,
        f'<details class="method"><summary>How this was made</summary><p><code>{escape(facts["python"])}</code></p>'
        "<p>The lines of the cards, of the texts of this report in their order, begin with:</p>"
        f"<p><code>{escape('; '.join(SETUP))}</code></p>"
        f"<p>seed {facts['seed']} &#183; {facts['threads']} threads &#183; corpus {corpus['hash']} &#183; weights "
        f"{escape(str(facts['model']['weights'])[:16])} &#183; {names} &#183; {report.made['date']}, "
        f"{report.made['seconds']:.0f} s</p></details>",
        "</section>",
    ]
    if trace is not None:
        body.append('<h2 id="live">The heads on one text</h2>')
    return "\n".join(body)


def _counts(cards: Sequence[Card]) -> str:
    numbers = ((word, sum(card.verdict == word for card in cards)) for word in (HOLDS, DIFFERS, CANNOT))
    return " ".join(f'<b class="{CLASSES[word]}">{n} {CENSUS[word]}</b>' for word, n in numbers if n)


def _entry(card: Card) -> str:
    return (
        f'<li class="{CLASSES[card.verdict]}"><a href="#{card.claim.name}">{escape(card.claim.sentence)}</a> '
        f"<span>{card.verdict}</span></li>"
    )


def _card(
    card: Card, layers: set[int], other: str = "", beside: Mapping[str, Any] | None = None, paired: bool = False
) -> str:
    claim, m = card.claim, card.measured
    because = f", because {escape(card.why)}" if card.why else ""
    chance = "" if m.chance is None else said(m.chance, claim.rule.unit)
    interval = f" ({escape(card.interval)})" if card.interval else ""
    rows = (
        (f"the paper ({escape(claim.on)})" if claim.on else "expected", escape(claim.found)),
        ("this model", f"<b>{escape(card.number)}</b>{interval}" + (f", n = {escape(card.n)}" if m.n else "")),
        (escape(visible(other)), "" if beside is None else _beside(beside)),
        ("this model less that one", "" if beside is None or not paired else _apart(card, beside)),
        ("chance", escape(chance)),
    )
    table = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows if value)
    note = f"{escape(m.note)} " if m.note else ""
    bound = "Rule, with a bound of ours" if claim.rule.ours else "Rule"
    turned = f" {escape(card.turn)}" if card.turn else ""
    untrained = "" if claim.of_training or claim.group == HEALTH else " May hold of random weights too."
    links = []
    is_least = claim.rule.side == "below"  # then the head with next to nothing shows it best
    if m.head is not None and (is_least or not is_nothing(m.head_value or 0)):
        layer, head = m.head
        which = "the head that is nearest to it" if claim.group == HEALTH else "the head that does it most"
        named = f"L{layer}&#183;H{head}"
        links.append(
            f'<a href="{link(layer, head)}">Show {which}: {named}</a>'
            if layer in layers
            else f"<span>{which.capitalize()}: {named}</span>"
        )
    links.append(f"<details><summary>Python</summary><code>{escape(claim.python)}</code></details>")
    place = ", ".join(escape(part) for part in (PAPERS[claim.paper], claim.place) if part)
    measure = claim.measure[0].upper() + claim.measure[1:]
    drawn = chart(m.series, m.labels)
    return (
        f'<article id="{claim.name}"{"" if drawn else CHARTLESS}><div><p class="place"><span>{place}</span> '
        f'<b class="{CLASSES[card.verdict]}">{card.verdict}</b>{because}</p><h3>{escape(claim.sentence)}</h3>'
        f'<p class="measure">{escape(measure)}</p><dl>{table}</dl>'
        f'<p class="rule">{note}{bound}: {escape(str(claim.rule))}.{turned}{untrained}</p>'
        f'<div class="links">{" ".join(links)}</div></div>{drawn}</article>'
    )


def _beside(claim: Mapping[str, Any]) -> str:
    """Another model's number and verdict."""
    value, low, high = (math.nan if claim[name] is None else float(claim[name]) for name in ("value", "low", "high"))
    unit, verdict = str(claim["unit"]), str(claim["verdict"])
    ends = f" {ends_said(low, high, unit)}" if math.isfinite(low) else ""
    number = escape(f"{said(value, unit)}{ends}")
    return f'{number} <b class="{CLASSES.get(verdict, "cannot")}">{escape(verdict)}</b>'


def _apart(card: Card, beside: Mapping[str, Any]) -> str:
    """The difference of two models on the same texts."""
    found = difference(card.to_dict(), beside)
    if found is None:
        return ""
    value, low, high, n = found
    share, unit = card.claim.rule.unit == "share", {"share": " points", "nats": " nats"}.get(card.claim.rule.unit, "")
    value, low, high = (100 * each if share else each for each in (value, low, high))
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]{unit}, 95 %, text by text, n = {n}"


def link(layer: int, head: int) -> str:
    """The address of a head in the view below."""
    return "#bertlens=" + quote(json.dumps({"layer": layer, "head": head}, separators=(",", ":")))
