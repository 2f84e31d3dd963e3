"""What is run of the parts of examples, and what came of it, part by part and text by text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...base.shards import WHOLE, Shard
from ...errors import ModelError
from ..task_answers import Answered
from .hidden_runs import DELETE, MASK, Moves, Removal, mask_id, run_without, slopes
from .readings import names_of
from .text_parts import Feature
from .tried_parts import Against, TriedFeatures

TEXTS = 40  # of a part that was chosen, and
FEW = 8  # of one drawn to measure the estimate, at most
DRAWN = 59  # parts: the largest of so many errors is above 95 % of all, with 95 % confidence (Wilks 1941)


@dataclass(frozen=True)
class RunPlan:
    """What is run: the rows of each part, what each is held against, and parts drawn to measure the estimate."""

    sample: dict[Feature, list[int]]
    against: dict[Feature, Against]
    probes: dict[Feature, list[int]] = field(default_factory=dict)

    def removals(self, features: TriedFeatures) -> list[Removal]:
        """Every different one."""
        pairs = [
            *self.sample.items(),
            *(pair for member in self.against.values() for pair in member),
            *self.probes.items(),
        ]
        return list(dict.fromkeys((row, features.occurrences[feature][row]) for feature, rows in pairs for row in rows))


@dataclass(frozen=True, eq=False)
class FeatureEffects:
    """(n, C) by part, a row for each text. ways: by what parts were hidden, the first being what effects are by."""

    features: TriedFeatures
    names: list[str]
    plan: RunPlan
    moves: dict[str, Moves]
    estimates: Mapping[Feature, np.ndarray] = field(default_factory=dict)  # over all texts; empty where all was run
    errors: np.ndarray | None = None  # (C,) how far an estimate lies off at most, of those drawn

    @property
    def ways(self) -> list[str]:
        return [*self.moves]

    @property
    def runs(self) -> int:
        """How many texts were run."""
        return sum(map(len, self.moves.values()))

    def values(self, feature: Feature, way: str = "", rows: Sequence[int] | None = None) -> np.ndarray:
        """(n, C) what the numbers lose without it. rows: of these; None: of its own in the plan."""
        moves, occurrences = self.moves[way or self.ways[0]], self.features.occurrences[feature]
        sample = self.plan.sample.get(feature, ()) if rows is None else rows
        return np.array([moves[row, occurrences[row]][0] for row in sample]).reshape(-1, len(self.names))

    def rest(self, feature: Feature) -> list[np.ndarray]:
        """(n, C) of each thing that a part is held against."""
        return [self.values(companion, rows=rows) for companion, rows in self.plan.against.get(feature, ())]

    def turns(self, feature: Feature) -> tuple[np.ndarray, np.ndarray]:
        """(C,) errors of each class among the texts that were run, and how many of them are none without it."""
        moves, occurrences = self.moves[self.ways[0]], self.features.occurrences[feature]
        pairs = [moves[row, occurrences[row]][1:] for row in self.plan.sample.get(feature, ())]
        if not pairs:
            return np.zeros(len(self.names), int), np.zeros(len(self.names), int)
        original, remaining = (np.array(column) for column in zip(*pairs, strict=True))
        return original.sum(0), (original & ~remaining).sum(0)


@dataclass(frozen=True, eq=False)
class FeatureEstimates:
    """(n, C) by part, of one backward pass: what `PartEffects` has of runs."""

    features: TriedFeatures
    names: list[str]
    of: Mapping[Feature, np.ndarray]

    def values(self, feature: Feature) -> np.ndarray:
        return self.of[feature]

    def rest(self, feature: Feature) -> list[np.ndarray]:
        matches = []
        for companion, rows in self.features.elsewhere(feature):
            place = {row: at for at, row in enumerate(self.features.occurrences[companion])}
            matches.append(self.of[companion][[place[row] for row in rows]].reshape(-1, len(self.names)))
        return matches


def ways_of(task: Answered) -> tuple[str, ...]:
    """By what parts are hidden, the first being what effects are by."""
    return (DELETE,) if mask_id(task) is None else (MASK, DELETE)


def whole_plan(features: TriedFeatures) -> RunPlan:
    """Every part in every text that holds it."""
    return RunPlan(
        {feature: [*rows] for feature, rows in features.occurrences.items()},
        {feature: features.elsewhere(feature) for feature in features.occurrences},
    )


def drawn_plan(
    features: TriedFeatures, chosen: Sequence[Feature], texts: int, seed: int, probes: int = DRAWN
) -> RunPlan:
    """Chosen parts in so many texts at most, and others, drawn, to measure the estimate of all."""
    generator = np.random.default_rng([seed, 2])

    def draw(rows: Sequence[int], most: int) -> list[int]:
        return [rows[at] for at in sorted(generator.permutation(len(rows))[:most].tolist())]

    sample = {feature: draw([*features.occurrences[feature]], texts) for feature in chosen}
    against = {
        feature: [(companion, draw(rows, texts)) for companion, rows in features.elsewhere(feature)]
        for feature in chosen
    }
    names = [*features.occurrences]
    picked = [names[at] for at in generator.permutation(len(names))[:probes].tolist()]
    return RunPlan(sample, against, {feature: draw([*features.occurrences[feature]], FEW) for feature in picked})


def estimates_of(task: Answered, features: TriedFeatures) -> FeatureEstimates:
    """Of all parts: their tokens' slopes added, text by text. Raises ModelError, which names the way, where there is no
    gradient."""
    try:
        of_tokens = slopes(task)
    except ModelError as error:
        runs = len(ways_of(task)) * len(whole_plan(features).removals(features))
        raise ModelError(f"{error}; without estimates all is run: runs={runs}") from None
    numbers = {
        feature: np.array([of_tokens[row][list(tokens)].sum(0) for row, tokens in rows.items()])
        for feature, rows in features.occurrences.items()
    }
    return FeatureEstimates(features, names_of(task), numbers)


def effects_of(
    task: Answered,
    features: TriedFeatures,
    plan: RunPlan,
    estimates: FeatureEstimates | None = None,
    shard: Shard = WHOLE,
) -> FeatureEffects:
    """What a plan gives. estimates: whose error is then measured on the parts that were drawn."""
    removals = plan.removals(features)
    moves = {way: run_without(task, removals, features.encodings, way, shard) for way in ways_of(task)}
    if estimates is None:
        return FeatureEffects(features, names_of(task), plan, moves)
    return FeatureEffects(
        features, estimates.names, plan, moves, estimates.of, largest_errors(features, estimates, plan, moves)
    )


def largest_errors(
    features: TriedFeatures, estimates: FeatureEstimates, plan: RunPlan, moves: Mapping[str, Moves]
) -> np.ndarray:
    """(C,) the largest distance of an estimated mean from the exact one of the same texts, over the drawn parts."""
    exact = next(iter(moves.values()))
    errors = []
    for feature, rows in plan.probes.items():
        place = {row: at for at, row in enumerate(features.occurrences[feature])}
        mean = np.mean([exact[row, features.occurrences[feature][row]][0] for row in rows], 0)
        errors.append(np.abs(estimates.of[feature][[place[row] for row in rows]].mean(0) - mean))
    return np.max(errors, 0)
