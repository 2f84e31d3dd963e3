"""A report, and its page: verdicts, a card for every claim, and below them the heads on one text, live."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base import colors
from ..base.atomic import replacing, text_or_path
from ..base.paths import as_path
from ..base.progress import page_bar
from ..base.ranking import is_nothing
from ..errors import BertLensError, ExportError, InputError, ModelError
from ..export import html, pages, space
from ..export.space import SpaceSource
from ..model.borrowed import checked_once
from ..trace.provenance import visible
from ..trace.trace import Trace
from .cards import HEALTH, RETRIEVAL, Card, ReportRecord
from .charts import chart
from .claim import PAPERS, SETUP
from .excerpt_pairs import NAME
from .model_card import attached
from .report_comparison import check, difference, same_texts
from .rules import CANNOT, DIFFERS, HOLDS, census, ends_said, said

LIMIT = 5_000_000  # bytes of the page
SEARCH_LIMIT = 3_000_000  # with the cards of a search
WORDS = (12, 8, 5)  # of each of the texts below the cards; fewer where the page grows too large
CLASSES = {HOLDS: "holds", DIFFERS: "differs", CANNOT: "cannot"}
GROUNDS = {verdict: colors.VERDICTS["light"][name] for verdict, name in CLASSES.items()}  # white is read on each


def page_of(report: ReportRecord, against: Mapping[str, Any] | None = None, progress: bool = True) -> str:
    """The text of the page. Raises ExportError where not even the shortest text fits beside the cards, ModelError where
    the model has changed since they were made."""
    if report.model and (name := report.lens.borrowed.change(report.model, whole=True)):
        raise ModelError(f"the model has changed since this report was made ({name}): make it again, bl.report(lens)")
    for text_words in shortened(report.texts):
        trace = _trace(report, text_words)
        if trace is None:
            continue
        heads = [card.measured.head for card in report.cards if card.measured.head is not None]
        place = heads[0] if heads else (0, 0)
        view: Any = trace.explore(layer=place[0], head=place[1])
        named = sorted({layer for layer, _ in heads} | {place[0]})
        for layers in (None, named):
            numbers = set(range(trace.n_layers) if layers is None else layers)
            try:
                with checked_once(), page_bar(progress) as bar:
                    title = f"{visible(report.facts['model']['model'])}: what the papers found"
                    page = view.page(layers, bar)
                    cards = cards_of(report, numbers, against)
                    page = replace(page, title=title, above=cards, corpus=_corpus(report))
                    text = html.to_html(page)
            except ExportError:
                continue
            if len(text) <= (SEARCH_LIMIT if report.groups[2] else LIMIT):
                return text
    raise ExportError("no text fits into the page beside the cards: save the numbers, report.to_json(path)")


def shortened(texts: Sequence[Any]) -> list[Any]:
    """The first text, or pair, in fewer and fewer words; a sentence of ours where the corpus has none."""
    sentences = ("The cat sat on the mat because it was tired.",)
    for text in texts[:1]:
        sentences = (text,) if isinstance(text, str) else tuple(text)
    return [tuple(" ".join(sentence.split()[:words]) for sentence in sentences) for words in WORDS]


def _corpus(report: ReportRecord) -> str:
    """See pages.origin: excerpts that come with the package are nobody else's."""
    name = report.facts["corpus"]["name"]
    return ", ".join(filter(None, ("" if name == NAME else name, report.labelled and "labelled examples")))


def _trace(report: ReportRecord, sentences: tuple[str, ...]) -> Trace | None:
    try:
        return report.lens.trace(*sentences, truncation=True)
    except BertLensError:
        return None


def cards_of(report: ReportRecord, layers: set[int], against: Mapping[str, Any] | None = None) -> str:
    """Everything above the view, as markup; layers: those whose heads the view holds."""
    facts = report.facts
    return pages.render(
        "report.jinja",
        **_fields(report, layers, against),
        setup=SETUP,
        **{name: facts[name] for name in ("python", "seed", "threads")},
        made=report.made,
    )


def notebook_cards(report: ReportRecord) -> str:
    """The cards as a notebook shows them: each opens at a click."""
    return pages.render("reportcell.jinja", **_fields(report, set()), edge=colors.NAN)


def _fields(report: ReportRecord, layers: set[int], against: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What page and notebook show of a report."""
    papers, checks, searches = report.groups

    def group(name: str, title: str, cards: Sequence[Card], verdicts: Mapping[str, int]) -> dict[str, Any]:
        fields = [_card(card, layers, None if against is None else _other(card, report, against)) for card in cards]
        counts = [
            {"class": CLASSES[word], "ground": GROUNDS[word], "words": words}
            for word, words in census(verdicts).items()
        ]
        return {"name": name, "title": title, "counts": counts, "cards": fields}

    model = report.facts["model"]
    return {
        "model": model | {"weights": str(model["weights"])[:16]},
        "corpus": report.facts["corpus"],
        "claims": len(papers),
        "trained": sum(card.claim.of_training for card in papers),
        "groups": [
            group("papers", "", papers, report.verdicts),
            group(HEALTH, "Is the model sound?", checks, report.checks),
            group(RETRIEVAL, "How good is its search?", searches, report.searches),
        ],
        "labelled": report.labelled,
    }


def _card(card: Card, layers: set[int], other: dict[str, Any] | None = None) -> dict[str, Any]:
    """What report.jinja shows of a card; other: what it shows of another model in it."""
    claim, m = card.claim, card.measured
    return {
        **{name: getattr(claim, name) for name in ("name", "sentence", "on", "found", "python")},
        **{name: getattr(card, name) for name in ("verdict", "number", "interval", "turn")},
        "class": CLASSES[card.verdict],
        "ground": GROUNDS[card.verdict],
        "because": card.why,
        "place": ", ".join(filter(None, (PAPERS[claim.paper], claim.place))),
        "measure": claim.measure[0].upper() + claim.measure[1:],
        "n": card.n if m.n else "",
        "other": other,
        "chance": "" if m.chance is None else said(m.chance, claim.rule.unit),
        "note": m.note,
        "rule": str(claim.rule),
        "bound_is_ours": claim.rule.ours,
        "is_by_chance": not claim.of_training and claim.group != HEALTH,
        "head": _head(card, layers),
        "chart": chart(m.series, m.labels),
    }


def _head(card: Card, layers: set[int]) -> dict[str, str] | None:
    """The head that a card names, with its address in the view below where that holds it."""
    claim, m = card.claim, card.measured
    is_least = claim.rule.side == "below"  # then the head with next to nothing shows it best
    if m.head is None or (is_nothing(m.head_value or 0) and not is_least):
        return None
    layer, head = m.head
    which = "the head that is nearest to it" if claim.group == HEALTH else "the head that does it most"
    return {
        "name": f"L{layer}·H{head}",
        "which": which,
        "address": pages.address(layer=layer, head=head) if layer in layers else "",
    }


def _other(card: Card, report: ReportRecord, against: Mapping[str, Any]) -> dict[str, str] | None:
    """Another model's number and verdict; on the same texts the difference too. None where it has none."""
    claim = next((claim for claim in against["claims"] if claim["name"] == card.claim.name), None)
    if claim is None:
        return None
    value, low, high = (math.nan if claim[name] is None else float(claim[name]) for name in ("value", "low", "high"))
    unit, verdict = str(claim["unit"]), str(claim["verdict"])
    return {
        "model": str(against["model"]["model"]),
        "number": f"{said(value, unit)}{ends_said(low, high, unit)}",
        "verdict": verdict,
        "class": CLASSES.get(verdict, "cannot"),
        "difference": _apart(card, claim) if same_texts(report.facts, against) else "",
    }


def _apart(card: Card, beside: Mapping[str, Any]) -> str:
    """The difference of two models on the same texts."""
    interval = difference(card.to_dict(), beside)
    if interval is None:
        return ""
    value, low, high, n = interval
    share, unit = card.claim.rule.unit == "share", {"share": " points", "nats": " nats"}.get(card.claim.rule.unit, "")
    value, low, high = (100 * number if share else number for number in (value, low, high))
    ends = "all alike: no interval" if math.isnan(low) else "95 %, text by text"
    between = "" if math.isnan(low) else f" [{low:+.2f}, {high:+.2f}]"
    return f"{value:+.2f}{between}{unit}, {ends}, n = {n}"


class Report(ReportRecord, SpaceSource):
    """What papers found, on one model. Made by `bl.report`; cards in the order of the table of claims."""

    def to_html(
        self, path: str | Path | None = None, *, against: Mapping[str, Any] | None = None, progress: bool = True
    ) -> str | Path:
        """One page, 5 MB at most, that needs no network: verdicts, a card a claim, and the heads on one text.

        Returns its text, or `path`, where it was written.
        against: the numbers of another report (`to_dict`, or what `to_json` wrote), in the same cards.
        Raises ExportError where it cannot be written, InputError for an `against` that is no report.
        """
        if against is not None:
            check(against, "against=")
        return text_or_path(page_of(self, against, progress), path)

    def to_model_card(self, folder: str | Path) -> Path:
        """A section of a model card in a folder that is there: model-card.md, the table of all claims in Markdown, and
        report.png, its picture. Returns where the section is.

        Raises InputError for no path, ExportError where they cannot be written.
        """
        for name, content in attached(self.to_dict(), str(self.to_html(progress=False))).items():
            with replacing(as_path(folder, "a folder") / name) as out:
                out.write(content)
        return as_path(folder) / space.SECTION

    def _rights(self, page: Mapping[str, Any]) -> tuple[Any, str, bool]:
        return self.lens, _corpus(self), False

    def _attachments(self, page: Path) -> Mapping[str, bytes]:
        return attached(self.to_dict(), space.read(page))

    def save(self, path: str | Path) -> None:
        """Write the page (.html) or the numbers (.json), by the name of the file. Raises InputError for another."""
        kind = Path(path).suffix.lower()
        if kind not in (".html", ".json"):
            raise InputError(f"a report is saved as .html or .json, not as {Path(path).name!r}")
        self.to_html(path) if kind == ".html" else self.to_json(path)

    def _repr_html_(self) -> str:
        """The cards in a notebook, without styles or scripts, which one that is not trusted drops; no network."""
        return notebook_cards(self)
