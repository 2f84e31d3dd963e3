"""The input report as badges: one short label each, the whole sentence behind it."""

from __future__ import annotations

from ..base.quotes import isolate
from ..base.vocabulary import phrases
from ..text.encoding import UNKNOWN, InputReport

MOST_LABEL = 48  # characters


def badges(report: InputReport | None, mask: str | None = None) -> list[dict[str, str]]:
    """What a reader must know of the tokenizer's work, most serious first: {"kind", "label", "detail", "severity"}.

    mask: the token that one writes into a text on purpose, which is no warning.
    """
    if report is None:
        return []
    badges: list[dict[str, str]] = []

    def add(kind: str, label: str, detail: str, severity: str = "warning") -> None:
        badges.append({"kind": kind, "label": label, "detail": detail, "severity": severity})

    dropped = sum(report.truncated.values())
    if dropped:
        cuts = " and ".join(f"the {report.dropped_end} {n} of {name}" for name, n in report.truncated.items() if n)
        add("truncated", f"cut to {report.limit} tokens", f"The model takes no more; dropped: {cuts}.")
    if not report.n_pieces:
        add("empty", phrases.NO_TEXT, f"{phrases.NO_TEXT_ABOUT}.")
    if report.mostly_unknown:
        share = f"{len(report.unknown)} of {report.n_pieces} tokens unknown"
        add("mostly_unknown", share, f"More than half of the text has no piece of its own: {UNKNOWN}")
    elif report.unknown:
        listing = ", ".join(isolate(piece["text"] or f"position {piece['position']}") for piece in report.unknown[:8])
        add("unknown", phrases.UNKNOWN.format(count=len(report.unknown)), phrases.UNKNOWN_ABOUT.format(places=listing))
    if report.typed_special:
        listing = ", ".join(f"{isolate(item['token'])} at {item['position']}" for item in report.typed_special)
        meant = all(item["token"] == mask for item in report.typed_special)
        about = phrases.TYPED_ABOUT.format(places=listing)
        add("typed", phrases.TYPED, about, "info" if meant else "warning")
    if report.without_token:
        listing = ", ".join(f"{isolate(item['character'])} at {item['index']}" for item in report.without_token[:8])
        add("lost", f"{len(report.without_token)} characters without a token", f"The tokenizer dropped {listing}.")
    if report.without_blanks:
        about = phrases.WITHOUT_BLANKS_ABOUT.format(scripts=" and ".join(report.without_blanks))
        add("without_blanks", phrases.WITHOUT_BLANKS, f"{about}.", "info")
    if report.overridden:
        listing = " and ".join(report.overridden)
        add(
            "overridden",
            f"stored {listing} not applied",
            "The tokenizer's file asks for it; bertlens shows the whole text, unpadded.",
            "info",
        )
    for n, note in enumerate(report.notes):
        label = note if len(note) <= MOST_LABEL else f"{note[:MOST_LABEL].rsplit(' ', 1)[0]} …"
        add(f"note{n}", label, note, "info")
    return badges
