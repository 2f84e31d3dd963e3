"""What a class did in a lesson as one page: a chart a step, guesses against the truth; no script, nothing loaded."""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.colors import page_inks
from ..trace.provenance import visible

if TYPE_CHECKING:
    import pandas as pd

BARS = 12  # guesses of a step; the rest together
WRITTEN = 60  # texts of a step
CHARACTERS = 500  # of a text
SECURITY = "default-src 'none'; style-src 'unsafe-inline'"
WIDEST = 60  # per cent of the line


def page_of(table: pd.DataFrame) -> str:
    """The text of the page. table: as `results.collected` makes it, before it is written."""
    parts = []
    for lesson, of_lesson in table.groupby("lesson", sort=False):
        named = of_lesson["name"] != ""
        last = of_lesson.groupby("name")["reader"].transform("max")
        counted = of_lesson[~named | (of_lesson["reader"] == last)]
        left = of_lesson["reader"].nunique() - counted["reader"].nunique()
        doubled = f" {left} left out: of a name with several, the last counts." if left else ""
        n = counted["reader"].nunique()
        parts.append(f'<h1>{_said(lesson)}</h1><p class="soft">{n} results.{doubled}</p>')
        parts += [_step(number, rows) for number, rows in counted.groupby("step")]
    style = page_inks("body") + Path(__file__).with_name("classpage.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{SECURITY}"><title>What a class did</title>'
        f"<style>{style}</style></head><body>{''.join(parts)}"
        '<p class="soft">Readers send these lines themselves: they prove nothing.</p></body></html>\n'
    )


def _step(number: Any, rows: pd.DataFrame) -> str:
    act = str(rows["act"].mode().iloc[0])
    skipped, shown = int((rows["skipped"] == True).sum()), int((rows["shown"] == True).sum())  # noqa: E712
    aside = [f"{count} {word}" for count, word in ((skipped, "skipped it"), (shown, "had it shown")) if count]
    own = rows[(rows["skipped"] != True) & (rows["shown"] != True)]  # noqa: E712
    head = f"<h2>{number}. {escape(act)}</h2>"
    if act == "write":
        texts = [text for text in own["written"] if text]
        said = f"{len(texts)} wrote something" + (f", the first {WRITTEN} here" if len(texts) > WRITTEN else "")
        body = "".join(f"<li>{_said(text)}</li>" for text in texts[:WRITTEN])
        return f"<section>{head}{_line([said, *aside])}<ul>{body}</ul></section>"
    if act == "predict":
        right = int((own["right"] == True).sum())  # noqa: E712
        said = f"{right} of {len(own)} guesses right"
    else:
        said = f"{len(own)} of {len(rows)} found one" if act == "find" else f"{len(own)} of {len(rows)} did it"
    truths = [truth for truth, _ in Counter(t for t in own["truth"] if t).most_common(3)]
    told = [f"the answer: {'; '.join(truths)}"] if act == "predict" and truths else []
    return f"<section>{head}{_line([said, *told, *aside])}{_bars(own)}</section>"


def _bars(own: pd.DataFrame) -> str:
    counts = Counter(str(guess) for guess in own["guess"] if str(guess))
    right = {str(guess) for guess, is_right in zip(own["guess"], own["right"], strict=True) if is_right is True}
    first = counts.most_common(BARS)
    rest = sum(counts.values()) - sum(count for _, count in first)
    most = max(counts.values(), default=1)
    lines = [(guess, count, guess in right) for guess, count in first]
    if rest:
        lines.append((f"{len(counts) - BARS} others", rest, False))
    made = "".join(
        f"<dt>{_said(guess)}</dt><dd{' class=right' if is_right else ''}>"
        f'<span style="width:{min(1, count / most) * WIDEST:.0f}%"></span>{count}{" ✓" if is_right else ""}</dd>'
        for guess, count, is_right in lines
    )
    return f"<dl>{made}</dl>" if made else ""


def _line(parts: list[str]) -> str:
    return f"<p>{' · '.join(_said(part) for part in parts)}</p>"


def _said(text: Any) -> str:
    cut = str(text)[:CHARACTERS]
    return escape(visible(cut) + ("…" if len(str(text)) > CHARACTERS else ""))
