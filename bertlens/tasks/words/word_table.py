"""What stands in the table of words: effects with intervals, beside those of words matched in count, and the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

from ...base.dataframes import pd
from ...base.quotes import quotation
from ...base.ranking import signed
from ...measures.significance import FOUND, holm, mean_interval, student
from ..subgroups import more_than_chance
from ..task_answers import Answered
from .part_effects import FeatureEffects
from .text_parts import ORDER, PAIR, SIDES, Feature
from .tried_parts import TriedFeatures

NAMED = 3  # words that a sentence lists
MATCHED = 10  # parts of like count
FEW_TEXTS = 10  # on which an association rests that rests on few
LARGE = 0.25  # of the standard deviation of a class's log-odds over the examples


class FeatureMoves(Protocol):
    """Runs, or estimates."""

    @property
    def features(self) -> TriedFeatures: ...

    def values(self, feature: Feature, /) -> np.ndarray: ...

    def rest(self, feature: Feature, /) -> list[np.ndarray]: ...


def matched(features: TriedFeatures) -> dict[Feature, list[Feature]]:
    """Of each part up to ten of its kind, nearest in how many texts hold them, that share no word with it."""
    matches: dict[Feature, list[Feature]] = {}
    for kind in dict.fromkeys(feature.kind for feature in features.occurrences):
        sample = sorted(
            (feature for feature in features.occurrences if feature.kind == kind),
            key=lambda feature: (len(features.occurrences[feature]), feature),
        )
        for at, feature in enumerate(sample):
            neighbours = sample[max(0, at - MATCHED) : at] + sample[at + 1 : at + 1 + MATCHED]
            neighbours = [companion for companion in neighbours if not {*feature.words} & {*companion.words}]
            distance = {
                companion: abs(math.log(len(features.occurrences[companion]) / len(features.occurrences[feature])))
                for companion in neighbours
            }
            matches[feature] = sorted(neighbours, key=distance.__getitem__)[:MATCHED]
    return matches


def means_of(moved: FeatureMoves, features: Sequence[Feature]) -> dict[Feature, np.ndarray]:
    """(C,) the mean over its texts of each."""
    return {feature: numbers.mean(0) for feature in features if len(numbers := moved.values(feature))}


def beside(numbers: np.ndarray, controls: Sequence[np.ndarray]) -> tuple[float, float, float, float]:
    """(difference, low, high, p): the mean of values (n,) less the means of the rest, added; Welch's t, 95 %.

    NaN for fewer than two values anywhere; p is 0 or 1 where none differs from its mean.
    """
    groups = [numbers, *controls]
    if any(len(group) < 2 for group in groups):
        return (math.nan,) * 4
    difference = float(numbers.mean() - sum(group.mean() for group in controls))
    shares = np.array([group.var(ddof=1) / len(group) for group in groups])
    if shares.sum() <= 1e-24 * max(1.0, difference * difference):
        return difference, math.nan, math.nan, float(abs(difference) < 1e-9)
    from scipy.special import stdtr

    freedom = float(
        shares.sum() ** 2 / sum(share**2 / (len(group) - 1) for share, group in zip(shares, groups, strict=True))
    )
    error = math.sqrt(shares.sum())
    half = float(student(freedom, 0.95)) * error
    return difference, difference - half, difference + half, 2 * float(stdtr(freedom, -abs(difference) / error))


def tested(
    moved: FeatureMoves, features: Sequence[Feature], n_classes: int, means: Mapping[Feature, np.ndarray]
) -> list[dict[str, Any]]:
    """A row for each class and part: its effect, and what is left of it beside what was to be expected: of a word the
    effects of words matched in count, of others what `TriedParts.elsewhere` has."""
    neighbours = matched(moved.features)
    rows = []
    for feature in features:
        numbers, controls = moved.values(feature), moved.rest(feature)
        peers = np.array([means[companion] for companion in neighbours[feature] if companion in means]).reshape(
            -1, n_classes
        )
        is_alone = feature.kind in ("word", "piece")
        for k in range(n_classes):
            sample = numbers[:, k]
            groups = [peers[:, k]] if is_alone else [group[:, k] for group in controls]
            ends = (
                mean_interval(sample)
                if len(sample) > 1
                else (sample.mean() if len(sample) else math.nan, math.nan, math.nan)
            )
            # what a part is held against may not be there
            over = beside(sample, groups) if is_alone or controls else (math.nan,) * 4
            effect, low, high = map(float, ends)
            rows.append(
                {"part": feature, "k": k, "effect": effect, "low": low, "high": high}
                | {"matched": float(peers[:, k].mean()) if len(peers) else math.nan}
                | {"matched_as_far": int((np.abs(peers[:, k]) >= abs(effect)).sum()), "matched_n": len(peers)}
                | dict(zip(("beyond", "beyond_low", "beyond_high", "p"), over, strict=True))
            )
    return rows


def least(row: Mapping[str, Any]) -> float:
    """How much is sure: how far from 0 the interval of what is beyond the expected stays, on the side of the effect,
    and no more than the effect; 0 where it holds 0. Where all texts are alike, so that there is none, the number."""
    towards = 1.0 if row["effect"] >= 0 else -1.0
    ends = row["beyond_low"], row["beyond_high"]
    if math.isnan(ends[0]):
        ends = (row["beyond"], row["beyond"]) if row["p"] == 0 else (0.0, 0.0)
    return max(0.0, min(abs(row["effect"]), ends[0] if towards > 0 else -ends[1]))


def leading(row: Mapping[str, Any], of_pair: float) -> float:
    """What the table is sorted by: `least`; of an order that is found, that of its pair where the interval of what is
    beyond the other order reaches it: both are of the same texts, and the order says more of them."""
    far = row["beyond_high"] if row["effect"] >= 0 else -row["beyond_low"]
    is_as_far = row["part"].kind == ORDER and row["finding"] and of_pair <= far
    return max(least(row), of_pair) if is_as_far else least(row)


def with_holm(rows: list[dict[str, Any]], family: int, n_classes: int) -> list[dict[str, Any]]:
    """p adjusted for all parts that were tried; of two classes each is the other turned round, and counts once."""
    for ks in [[0], [1]] if n_classes == 2 else [range(n_classes)]:
        sample = [row for row in rows if row["k"] in ks]
        adjusted = holm(np.array([row["p"] for row in sample], dtype=float), family * len(ks))
        for row, p in zip(sample, adjusted.tolist(), strict=True):
            row |= {"p_holm": p, "finding": bool(p <= FOUND)}
    return rows


def labelled(task: Answered, k: int) -> np.ndarray:
    """(n,) 1.0 where a text has this label, of tags anywhere; a number itself."""
    if not task.names:
        return np.asarray(task.labels, dtype=float)
    return np.array([float(k in np.atleast_1d(label)) for label in task.labels])


def association(labels: np.ndarray, inside: np.ndarray, sign: float, is_class: bool) -> tuple[float, float, float]:
    """(mean of the labels with it, without it, p): that a difference in this direction is no chance, one-sided; of a
    class Fisher's exact test, of numbers Welch's. NaN where all examples hold it."""
    within, outside = labels[inside], labels[~inside]
    if not len(outside):
        return float(within.mean()), math.nan, math.nan
    if is_class:
        hits = within if sign > 0 else 1 - within
        total = labels if sign > 0 else 1 - labels
        p = more_than_chance(int(hits.sum()), len(hits), int(total.sum()), len(labels))
    else:
        difference, _, _, two_sided = beside(within, [outside])
        p = two_sided / 2 if difference * sign > 0 else 1 - two_sided / 2
    return float(within.mean()), float(outside.mean()), p


def more_wrong(task: Answered, features: TriedFeatures) -> dict[Feature, tuple[float, float]]:
    """Of each part (p, p by Holm): that so many texts with it, or more, are wrong is chance; Fisher's exact test."""
    wrong, occurrences, chance = task.wrong, features.occurrences, cache(more_than_chance)
    counts = [(int(wrong[[*rows]].sum()), len(rows)) for rows in occurrences.values()]
    p = [chance(*pair, int(wrong.sum()), len(wrong)) for pair in counts]
    return dict(zip(occurrences, zip(p, holm(np.array(p), len(p)).tolist(), strict=True), strict=True))


def word_table(
    task: Answered, effects: FeatureEffects, features: Sequence[Feature], spread: np.ndarray
) -> pd.DataFrame:
    """The table of `TaskWords`. parts: those that were run, of all that were tried; spread: (C,) the standard deviation
    of the numbers over the examples."""
    names, n, occurrences = effects.names, len(task), effects.features.occurrences
    estimated = {feature: numbers.mean(0) for feature, numbers in effects.estimates.items()}
    means = estimated | means_of(effects, features)
    rows = with_holm(tested(effects, features, len(names), means), len(occurrences), len(names))
    labels, wrong, neighbours = [labelled(task, k) for k in range(len(names))], task.wrong, matched(effects.features)
    turns, worse = {feature: effects.turns(feature) for feature in features}, more_wrong(task, effects.features)
    deleted = {feature: effects.values(feature, effects.ways[-1]).mean(0) for feature in features}
    sure = {(row["part"], row["k"]): least(row) for row in rows}
    leads = [leading(row, sure.get((row["part"]._replace(kind=PAIR), row["k"]), 0.0)) for row in rows]
    for row in rows:
        feature, k = row.pop("part"), row.pop("k")
        inside = np.zeros(n, dtype=bool)
        inside[[*occurrences[feature]]] = True
        (errors, turned), peers = (
            ([member[k] for member in turns[feature]]),
            [turns[o] for o in neighbours[feature] if o in turns],
        )
        peer_errors, peer_turned = (sum(int(member[i][k]) for member in peers) for i in (0, 1))
        with_it, without_it, p_label = association(labels[k], inside, row["beyond"], bool(task.names))
        hits, count = int((inside & wrong).sum()), int(inside.sum())
        is_large = least(row) >= LARGE * spread[k]
        unsaid = p_label > FOUND or (count < FEW_TEXTS and count < n)
        row |= {
            "class": names[k],
            "kind": feature.kind,
            "word": feature.name,
            "of": SIDES[feature.side],
            "texts": count,
            "run": len(effects.plan.sample[feature]),
            "deletion": float(deleted[feature][k]),
            "disagree": bool(row["effect"] * deleted[feature][k] < 0),
            "estimate": float(estimated[feature][k]) if feature in estimated else math.nan,
            "errors": int(errors),
            "turned": int(turned),
            "turned_share": turned / errors if errors else math.nan,
            "matched_turned_share": peer_turned / peer_errors if peer_errors else math.nan,
            "label_with": with_it,
            "label_without": without_it,
            "p_label": p_label,
            "wrong": hits,
            "rate": hits / count,
            "rate_outside": float(wrong[~inside].mean()) if count < n else math.nan,
            "p_wrong": worse[feature][0],
            "p_wrong_holm": worse[feature][1],
            "suspect": bool(row["finding"] and is_large and unsaid and feature.kind != ORDER),
            "least": least(row),
        }
    table = pd.DataFrame(rows, columns=COLUMNS)
    keys = (table["kind"] != ORDER).to_numpy(), -table["effect"].to_numpy(), -np.array(leads)
    return table.iloc[np.lexsort(keys)].reset_index(drop=True)


COLUMNS = [
    *("class", "kind", "word", "of", "texts", "run", "effect", "low", "high", "deletion", "disagree", "matched"),
    *("matched_as_far", "matched_n", "beyond", "beyond_low", "beyond_high", "p", "p_holm", "finding", "estimate"),
    *("errors", "turned", "turned_share", "matched_turned_share", "label_with", "label_without", "p_label", "suspect"),
    *("wrong", "rate", "rate_outside", "p_wrong", "p_wrong_holm", "least"),
]


def moves_said(rows: pd.DataFrame, beside: str, has_texts: bool = False) -> str:
    """Of the first rows how each word moves a class, and how it did `beside`: by class, word, now, before, texts."""
    return "; ".join(
        f"{quotation(row['word'])} moves {row['class'] or 'the number'} by {signed(row['now'], '+.2f')}, "
        f"{signed(row['before'], '+.2f')} {beside}" + (f", in {row['texts']:,} texts" if has_texts else "")
        for row in rows.head(NAMED).to_dict("records")
    )
