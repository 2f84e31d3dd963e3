"""Effects of words in a file, and whether a word has gained since."""

from __future__ import annotations

import hashlib
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
from ...base.textfile import json_of
from ...errors import InputError
from ...measures.significance import LEVEL, mean_interval
from ..task_answers import Answered
from .part_effects import FeatureEffects, RunPlan, effects_of
from .text_parts import SIDES, WORD, Feature
from .tried_parts import named_features
from .word_table import moves_said

VERSION = 1
PAIRED = 100  # texts of a word whose effects are kept, at most
ROUNDED = 1e-6  # a change that may be one of how numbers are written
KEYS = ("class", "kind", "word", "of")


def write_words(
    table: pd.DataFrame, effects: FeatureEffects, texts: Sequence[Any], model: str, path: str | Path, n: int
) -> Path:
    """The first n words of the table, whatever their class, as `read_words` takes them; texts: of each row."""
    leading = table[["kind", "word", "of"]].drop_duplicates().head(n)
    rows = table.merge(leading, on=["kind", "word", "of"])[[*KEYS, "texts", "effect", "low", "high"]]
    lines = rows.astype(object).where(rows.notna(), None).to_dict("records")
    features = {_key(feature): feature for feature in effects.plan.sample}
    for line in lines:
        feature = features[line["kind"], line["word"], line["of"]]
        sample = effects.plan.sample[feature]
        sample = sample[:: math.ceil(len(sample) / PAIRED)]
        values = effects.values(feature, rows=sample)[:, effects.names.index(line["class"])]
        line["by"] = {_text_key(texts[row]): round(float(value), 7) for row, value in zip(sample, values, strict=True)}
    about = {"words": VERSION, "model": model, "rows": lines, "made": signature("task")}
    return text_file(json.dumps(about, ensure_ascii=False, indent=1) + "\n", path)


def _key(feature: Feature) -> tuple[str, str, str]:
    return feature.kind, feature.name, SIDES[feature.side]


def _text_key(texts: Any) -> str:
    """By which a text is known again."""
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:12]


def is_of_words(path: str | Path) -> bool:
    """Whether a file of JSON holds words, and not another run's numbers. Raises InputError for one that is no JSON."""
    record = json_of(Path(path))
    return isinstance(record, dict) and "words" in record


def read_words(path: str | Path) -> list[dict[str, Any]]:
    """The rows of such a file, "by": effects by text; one that names "word" and "class" alone has 0 before.

    Raises InputError for another file.
    """
    try:
        about = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = about["rows"] if about.get("words") == VERSION else None
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        rows = None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict)
        and isinstance(row.get("word"), str)
        and isinstance(row.get("class"), str)
        and ("by" in row or row.get("effect") is None)
        and isinstance(by := row.get("by", {}), dict)
        and all(isinstance(value, int | float) and math.isfinite(value) for value in by.values())
        for row in rows
    ):
        raise InputError(f"{path} is no file of words: words.save(path) writes one, or bertlens task … --words 30")
    return rows


def gained(task: Answered, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """DataFrame(class, kind, word, of, texts, before, now, change, low, high, gained) of the words of a file.

    before, now: the mean effects over the texts of the file that are examples here; of a word without effects 0 and
    over all that hold it. change: how much further it moves its class, in the direction of the larger of both (of one
    without effects upwards), with the interval of the differences of a text's effects, low and high; at 95 % for all
    words of the file together (Bonferroni). gained: low is above 0. Words in fewer than two such texts are left out.
    Raises InputError for a class that the task has not, and where no word of the file is left.
    """
    if unknown := [row["class"] for row in rows if row["class"] not in (task.names or [""])]:
        raise InputError(f"the file of words has the class {unknown[0]!r}: this model has {', '.join(task.names[:12])}")
    features = named_features(task, [row["word"] for row in rows])
    by_name = {_key(feature): feature for feature in features.occurrences}
    places = {_text_key(texts): row for row, texts in enumerate(task.examples.texts)}
    pairs: list[tuple[dict[str, Any], Feature, dict[int, float]]] = []
    for row in rows:
        feature = by_name.get((row.get("kind") or WORD, row["word"], row.get("of") or ""))
        if feature is not None:
            texts = features.occurrences[feature]
            by = {places[key]: float(value) for key, value in row.get("by", {}).items() if places.get(key) in texts}
            pairs.append((row, feature, by if "by" in row else dict.fromkeys(texts, 0.0)))
    pairs = [pair for pair in pairs if len(pair[2]) > 1]
    if not pairs:
        raise InputError("no word of the file stands in two of its texts here: give the labelled texts that it is of")
    sample: dict[Feature, dict[int, None]] = {}
    for _, feature, before in pairs:
        sample.setdefault(feature, {}).update(dict.fromkeys(before))
    effects = effects_of(task, features, RunPlan({feature: [*before] for feature, before in sample.items()}, {}))
    size = len(effects.names)
    level = 1 - (1 - LEVEL) / (len(sample) * (size if size > 2 else 1))
    lines = []
    for row, feature, before in pairs:
        now = effects.values(feature, rows=[*before])[:, effects.names.index(row["class"])]
        earlier = np.array([*before.values()])
        sign = -1.0 if "by" in row and now.mean() + earlier.mean() < 0 else 1.0  # of the larger
        ends = [float(end) for end in mean_interval(sign * (now - earlier), level)]
        means = float(earlier.mean()), float(now.mean())
        lines.append((row["class"], *_key(feature), len(now), *means, *ends, ends[1] > ROUNDED))
    columns = ["class", "kind", "word", "of", "texts", "before", "now", "change", "low", "high", "gained"]
    return pd.DataFrame(lines, columns=columns)


def gained_said(table: pd.DataFrame) -> str:
    """Which words have gained, in a sentence."""
    keys = ["kind", "word", "of"]
    rows = table[table["gained"]].sort_values(["change", "now"], ascending=False).drop_duplicates(keys)
    count = amount(len(table[keys].drop_duplicates()), "word")
    if not len(rows):
        return f"none of {count} has gained, by the same texts"
    return f"{len(rows)} of {count} {verb(len(rows), 'has', 'have')} gained: {moves_said(rows, 'before', True)}"
