"""Which parts of the examples are tried, where they stand, and what each is held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...text.encoding import Encoding
from ..task_answers import Answered
from .text_parts import ORDER, PAIR, PIECE, PLACE, WORD, Feature, Tokens, features_of, written

FEWEST = 5  # texts that hold a part that is tried, where there are so many
Against: TypeAlias = list[tuple[Feature, list[int]]]  # parts, and in which rows


@dataclass(frozen=True, eq=False)
class TriedFeatures:
    """Parts of examples, and where they stand."""

    encodings: list[Encoding]
    occurrences: dict[Feature, dict[int, Tokens]]  # part -> row -> its tokens there

    def elsewhere(self, feature: Feature) -> Against:
        """What a part is held against: of two words each of them, of a word in a place the word, in the rows where it
        stands otherwise; of two words in their order these in the other one. Nothing of other parts, and where there
        are fewer than two such rows."""
        if feature.kind not in (PAIR, PLACE, ORDER):
            return []
        sample = self.occurrences[feature]
        if feature.kind == ORDER:
            companions = [Feature(PAIR, feature.words[::-1], feature.side)]
            sample = {}
        else:
            companions = [Feature(WORD, (word,), feature.side) for word in dict.fromkeys(feature.words)]
        matches = [
            (companion, [row for row in self.occurrences[companion] if row not in sample])
            for companion in companions
            if companion in self.occurrences
        ]
        return matches if len(matches) == len(companions) and all(len(rows) > 1 for _, rows in matches) else []


def tried_features(task: Answered, *, every: bool = False) -> TriedFeatures:
    """Parts that 5 examples hold and more. A word in a place is one where the word stands elsewhere too, two words in
    their order where they stand in the other one, a piece where it is not all that stands there. every: all of them, in
    however many."""
    encodings, occurrences = _features(task)
    if every:
        orders = {feature._replace(kind=ORDER): rows for feature, rows in occurrences.items() if feature.kind == PAIR}
        return TriedFeatures(encodings, occurrences | orders)
    fewest = min(FEWEST, len(task))
    tried = {feature: rows for feature, rows in occurrences.items() if len(rows) >= fewest}
    removed = {(row, tokens) for feature, rows in tried.items() if feature.kind == WORD for row, tokens in rows.items()}
    for feature in [*tried]:
        if feature.kind == PLACE:
            word = tried.get(Feature(WORD, feature.words, feature.side), {})
            if len(word) - len(tried[feature]) < fewest:
                del tried[feature]
        elif feature.kind == PIECE and all(removal in removed for removal in tried[feature].items()):
            del tried[feature]
        elif (
            feature.kind == PAIR
            and feature.words < feature.words[::-1]
            and feature._replace(words=feature.words[::-1]) in tried
        ):
            tried[feature._replace(kind=ORDER)] = tried[feature]
    return TriedFeatures(encodings, tried)


def named_features(task: Answered, names: Sequence[str]) -> TriedFeatures:
    """What has one of these names, in however many examples."""
    spellings = {written(name) for name in names}
    complete = tried_features(task, every=True)
    occurrences = {feature: rows for feature, rows in complete.occurrences.items() if feature.name in spellings}
    return TriedFeatures(complete.encodings, occurrences)


def _features(task: Answered) -> tuple[list[Encoding], dict[Feature, dict[int, Tokens]]]:
    encodings: list[Encoding] = []
    occurrences: dict[Feature, dict[int, Tokens]] = {}
    for row in range(len(task)):
        encoding = task.examples.encoding(task.lens, row, task.truncation)
        encodings.append(encoding)
        for feature, tokens in features_of(encoding, encoding.text_pair is not None).items():
            occurrences.setdefault(feature, {})[row] = tokens
    return encodings, occurrences
