"""What to train on next: examples without a word, and with another in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...base.dataframes import pd
from ...base.paths import as_path
from ...errors import InputError, excerpt
from ...export import table_file
from ...text.encoding import Encoding
from ..task_answers import Answered
from .part_effects import FeatureEffects
from .text_parts import SIDES, WORD, Feature, TextWord, words_in
from .word_table import matched

KINDS = (".csv", ".parquet")
COLUMNS = ["text", "label", "row", "word", "change"]


def check_ending(path: str | Path) -> Path:
    """The path. Raises InputError for another ending than .csv and .parquet."""
    file = as_path(path)
    if file.suffix.lower() not in KINDS:
        raise InputError(f"counter-examples are written as .csv or .parquet: {file.name} is neither")
    return file


def counter_examples(
    task: Answered,
    table: pd.DataFrame,
    effects: FeatureEffects,
    features_named: Callable[[str], list[Feature]],
    names: Sequence[str],
    path: str | Path | None,
) -> pd.DataFrame:
    """See TaskWords.counter_examples. table, effects, features_named: of those words."""
    if isinstance(names, str) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"words are a list of words of the table, not {excerpt(names)}")
    if path is not None:
        check_ending(path)
    matches = [feature for name in names for feature in features_named(name)]
    if not (features := [feature for feature in dict.fromkeys(matches) if feature.kind == WORD]):
        raise InputError(f"no {excerpt(names[0])} of kind “word” in the table: others cannot be exchanged")
    if task.kind.name == "tags":
        raise InputError("of a task of tags a word is not taken out of an example: its tag would go with it")
    neighbours = matched(effects.features)
    sample = table[table["kind"] == WORD]
    largest = sample["effect"].abs().groupby([sample["word"], sample["of"]]).max().to_dict()
    rows: list[dict[str, Any]] = []
    for feature in features:
        peers = [
            companion
            for companion in neighbours[feature]
            if any(map(str.isalnum, companion.words[0])) and companion not in features
        ]
        # of those in about as many texts, the one that moves the classes least
        peers.sort(key=lambda companion: largest.get((companion.name, SIDES[companion.side]), 0.0))
        exchanges = [("without", ""), *((f"{peer.words[0]} in its place", peer.words[0]) for peer in peers[:1])]
        for row in effects.features.occurrences[feature]:
            for change, replacement in exchanges:
                texts = changed(effects.features.encodings[row], feature, replacement)
                if all(text.strip() for text in texts):
                    sides = dict(zip(("text", "text_pair"), texts, strict=False))
                    label = task.kind.said(task.labels[row]) if task.names else float(task.labels[row])
                    rows.append(sides | {"label": label, "row": row, "word": feature.name, "change": change})
    pair = ["text_pair"] if any("text_pair" in row for row in rows) else []
    examples = pd.DataFrame(rows, columns=[COLUMNS[0], *pair, *COLUMNS[1:]])
    if path is not None:
        table_file.write(examples, path)
    return examples


def changed(encoding: Encoding, feature: Feature, replacement: str) -> list[str]:
    """An example's text or texts with other letters wherever a word stands; "": without it and the blank before it."""
    texts = [text for text in (encoding.text, encoding.text_pair) if text is not None]
    if encoding.offsets is None:
        raise InputError("this tokenizer knows no offsets: a word cannot be taken out of a text")
    sample = [word for word in words_in(encoding, len(texts) > 1) if Feature(WORD, (word.name,), word.side) == feature]
    for word in reversed(sample):
        side = max(0, word.side - 1)
        texts[side] = _with(texts[side], *_span(encoding.offsets, word), replacement)
    return texts


def _span(offsets: Sequence[tuple[int, int] | None], word: TextWord) -> tuple[int, int]:
    spans = [span for token in word.tokens if (span := offsets[token]) is not None]
    return min(start for start, _ in spans), max(end for _, end in spans)


def _with(text: str, start: int, end: int, replacement: str) -> str:
    old = text[start:end]
    start += len(old) - len(old.lstrip())  # a byte-level tokenizer counts the blank before a word as its own
    if replacement:
        return text[:start] + (replacement.capitalize() if old.strip()[:1].isupper() else replacement) + text[end:]
    original, behind = text[:start], text[end:]
    if original[-1:].isspace() and (not behind or not behind[0].isalnum()):
        original = original.rstrip()
    return original + (behind.lstrip() if not original else behind)
