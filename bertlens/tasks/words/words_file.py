"""Effects of words in a file, and whether a word has gained since."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...base.amounts import amount, verb
from ...base.atomic import text_file
from ...base.dataframes import pd
from ...base.outputs import signature
from ...base.quotes import quotation
from ...base.ranking import signed
from ...base.textfile import json_of
from ...errors import InputError
from ...measures.significance import mean_interval
from ..task_answers import Answered
from .part_effects import effects_of, whole_plan
from .text_parts import SIDES
from .tried_parts import named_features

VERSION = 1
NAMED = 3  # words that a sentence lists
KEYS = ("class", "kind", "word", "of")


def write_words(table: pd.DataFrame, model: str, path: str | Path, n: int) -> Path:
    """The first n words of the table, whatever their class, as `read_words` takes them."""
    leading = table[["kind", "word", "of"]].drop_duplicates().head(n)
    rows = table.merge(leading, on=["kind", "word", "of"])[[*KEYS, "texts", "effect", "low", "high"]]
    lines = rows.astype(object).where(rows.notna(), None).to_dict("records")
    about = {"words": VERSION, "model": model, "rows": lines, "made": signature("task")}
    return text_file(json.dumps(about, ensure_ascii=False, indent=1) + "\n", path)


def is_of_words(path: str | Path) -> bool:
    """Whether a file of JSON holds words, and not another run's numbers. Raises InputError for one that is no JSON."""
    record = json_of(Path(path))
    return isinstance(record, dict) and "words" in record


def read_words(path: str | Path) -> list[dict[str, Any]]:
    """The rows of such a file; one that names "word" and "class" alone has an effect of 0 before.

    Raises InputError for another file.
    """
    try:
        about = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = about["rows"] if about.get("words") == VERSION else None
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        rows = None
    ends = ("effect", "low", "high")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict)
        and isinstance(row.get("word"), str)
        and isinstance(row.get("class"), str)
        and all(row.get(name) is None or isinstance(row[name], int | float) for name in ends)
        for row in rows
    ):
        raise InputError(f"{path} is no file of words: words.save(path) writes one, or bertlens task … --words 30")
    return rows


def gained(task: Answered, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """DataFrame(class, kind, word, of, texts, before, now, change, low, high, gained) of the words of a file.

    change: how much further a word moves its class than before, in the direction that it had; of one without an effect
    upwards. low, high: 95 %, of both intervals put together (Zou and Donner 2008), as of samples of their own; gained:
    low is above 0. Words that no example holds are left out. Raises InputError for a class that the task has not.
    """
    if unknown := [row["class"] for row in rows if row["class"] not in (task.names or [""])]:
        raise InputError(f"the file of words has the class {unknown[0]!r}: this model has {', '.join(task.names[:12])}")
    features = named_features(task, [row["word"] for row in rows])
    effects = effects_of(task, features, whole_plan(features))
    by_name = {(feature.kind, feature.name, SIDES[feature.side]): feature for feature in features.occurrences}
    lines = []
    for row in rows:
        key = row.get("kind") or "word", row["word"], row.get("of") or ""
        if (feature := by_name.get(key)) is None:
            continue
        sample = effects.values(feature)[:, effects.names.index(row["class"])]
        now, low, high = _ends(sample)
        original = row.get("effect") or 0.0
        old_low, old_high = (original if row.get(name) is None else row[name] for name in ("low", "high"))
        sign = -1.0 if original < 0 else 1.0
        (now_low, now_high), (old_low, old_high) = (
            sorted((sign * leading, sign * second)) for leading, second in ((low, high), (old_low, old_high))
        )
        change = sign * (now - original)
        below = math.hypot(sign * now - now_low, old_high - sign * original)
        above = math.hypot(now_high - sign * now, sign * original - old_low)
        ends = change, change - below, change + above
        lines.append((row["class"], *key, len(sample), original, now, *ends, bool(ends[1] > 1e-6)))
    columns = ["class", "kind", "word", "of", "texts", "before", "now", "change", "low", "high", "gained"]
    return pd.DataFrame(lines, columns=columns)


def gained_said(table: pd.DataFrame) -> str:
    """Which words have gained, in a sentence."""
    rows = table[table["gained"]].sort_values("change", ascending=False)
    if not len(rows):
        return f"none of {amount(len(table), 'word')} has gained"
    named = (
        f"{quotation(row['word'])} moves {row['class'] or 'the number'} by {signed(row['now'], '+.2f')}, "
        f"{signed(row['before'], '+.2f')} before"
        for row in rows.head(NAMED).to_dict("records")
    )
    return f"{len(rows)} of {amount(len(table), 'word')} {verb(len(rows), 'has', 'have')} gained: {'; '.join(named)}"


def _ends(numbers: np.ndarray) -> tuple[float, float, float]:
    """The mean with its interval; of one text, or texts that are all alike, it alone."""
    mean, low, high = (float(end) for end in mean_interval(numbers)) if len(numbers) > 1 else (float(numbers[0]),) * 3
    return (mean, mean, mean) if math.isnan(low) else (mean, low, high)
