"""What a class did in a lesson as one page: a chart a step, guesses against the truth; no script, nothing loaded."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..base.dataframes import pd
from ..export import pages

BARS = 12  # guesses of a step; the rest together
WRITTEN = 60  # texts of a step
WIDEST = 60  # per cent of the line


def page_of(table: pd.DataFrame) -> str:
    """The text of the page. table: as `results.collected` makes it, before it is written."""
    return pages.render(
        "classpage.jinja", lessons=[_lesson(title, rows) for title, rows in table.groupby("lesson", sort=False)]
    )


def _lesson(title: Any, rows: pd.DataFrame) -> dict[str, Any]:
    latest = rows.groupby("name")["reader"].transform("max")
    readers = rows[(rows["name"] == "") | (rows["reader"] == latest)]
    n = readers["reader"].nunique()
    return {
        "title": str(title),
        "n": n,
        "doubles": rows["reader"].nunique() - n,
        "steps": [_step(number, of_step) for number, of_step in readers.groupby("step")],
    }


def _step(number: Any, rows: pd.DataFrame) -> dict[str, Any]:
    act = str(rows["act"].mode().iloc[0])
    skipped, revealed = int((rows["skipped"] == True).sum()), int((rows["shown"] == True).sum())  # noqa: E712
    aside = [f"{count} {word}" for count, word in ((skipped, "skipped it"), (revealed, "had it shown")) if count]
    answers = rows[(rows["skipped"] != True) & (rows["shown"] != True)]  # noqa: E712
    step = {"number": int(number), "act": act, "texts": [], "bars": []}
    if act == "write":
        texts = [text for text in answers["written"] if text]
        fact = f"{len(texts)} wrote something" + (f", the first {WRITTEN} here" if len(texts) > WRITTEN else "")
        return step | {"facts": [fact, *aside], "texts": texts[:WRITTEN]}
    if act == "predict":
        facts = [f"{int((answers['right'] == True).sum())} of {len(answers)} guesses right"]  # noqa: E712
        truths = [truth for truth, _ in Counter(t for t in answers["truth"] if t).most_common(3)]
        facts += [f"the answer: {'; '.join(truths)}"] if truths else []
    else:
        facts = [f"{len(answers)} of {len(rows)} {'found one' if act == 'find' else 'did it'}"]
    return step | {"facts": facts + aside, "bars": _bars(answers)}


def _bars(answers: pd.DataFrame) -> list[dict[str, Any]]:
    counts = Counter(str(guess) for guess in answers["guess"] if str(guess))
    right = {str(guess) for guess, is_right in zip(answers["guess"], answers["right"], strict=True) if is_right is True}
    bars = [(guess, n, guess in right) for guess, n in counts.most_common(BARS)]
    if len(counts) > BARS:
        bars.append((f"{len(counts) - BARS} others", counts.total() - sum(n for _, n, _ in bars), False))
    longest = max(counts.values(), default=1)
    return [
        {"guess": guess, "n": n, "is_right": is_right, "width": round(min(1, n / longest) * WIDEST)}
        for guess, n, is_right in bars
    ]
