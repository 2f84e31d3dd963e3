"""Faithfulness where the truth is known: a number that is a plain sum over tokens; and on the embedded model."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from bertlens import InputError, Lens, Trace, whatif
from bertlens.measures import attribution
from bertlens.measures.attribution.faithful import bins_of
from unit import tiny
from unit.measures.test_attribution import MASKED, words_lens

TEXT = "the cat sat on the warm mat , it was very warm"


def a_sum(output: Any) -> Tensor:
    """Of the embeddings' own numbers: what a token counts for does not depend on the others while places stay."""
    state = output.hidden_states[0][0]
    return (state @ torch.linspace(-1, 1, state.shape[-1], dtype=state.dtype)).sum()


def additive() -> tuple[Trace, Tensor]:
    """A text, and what each of its tokens counts for."""
    trace = Lens(tiny.bert().double(), tiny.wordpiece()).trace(TEXT)
    return trace, attribution.occlusion(trace, a_sum).values


@pytest.mark.parametrize(
    ("n", "expected"), [(1, [1]), (8, [1, 2, 4]), (12, [1, 2, 3, 6]), (20, [1, 2, 4, 10]), (100, [1, 5, 10, 20, 50])]
)
def test_bins_are_rounded_up_and_counted_once(n: int, expected: list[int]) -> None:
    assert bins_of(n) == expected


def test_a_rankings_score_is_what_its_first_tokens_count_for() -> None:
    """By the definition: mean over k of the sum of the k first; sufficiency, of all but these."""
    trace, counts = additive()
    table = attribution.faithfulness(
        trace, {"truth": counts, "reversed": -counts, "text": -torch.arange(14.0)}, metric=a_sum, progress=False
    )
    assert (table.attrs["removable"], table.attrs["bins"]) == (12, [1, 2, 3, 6])
    tokens = [(float(counts[i]), i) for i in range(1, 13)]
    ordered = {"truth": sorted(tokens, reverse=True), "reversed": sorted(tokens), "text": tokens}
    for name, ranked in ordered.items():
        sums = [sum(value for value, _ in ranked[:k]) for k in (1, 2, 3, 6)]
        rests = [sum(value for value, _ in ranked[k:]) for k in (1, 2, 3, 6)]
        assert table.loc[name, "comprehensiveness"] == pytest.approx(sum(sums) / 4, abs=1e-9)
        assert table.loc[name, "sufficiency"] == pytest.approx(sum(rests) / 4, abs=1e-9)
    # the best and the worst that there are, and greed finds the best
    assert table.loc["truth", "comprehensiveness_beats"] == table.loc["truth", "sufficiency_beats"] == 20
    assert table.loc["reversed", "comprehensiveness_beats"] == table.loc["reversed", "sufficiency_beats"] == 0
    for column in ("comprehensiveness", "sufficiency"):
        assert table.loc["greedy ceiling", column] == pytest.approx(table.loc["truth", column], abs=1e-9)
        assert table.loc["greedy ceiling", column] == (
            table[column].max() if column == "comprehensiveness" else pytest.approx(table[column].min(), abs=1e-9)
        )


def test_random_rankings_lie_at_the_random_level_within_their_error() -> None:
    """k of n tokens taken blindly are worth k / n of all; the error is that of a mean of 200."""
    trace, counts = additive()
    table = attribution.faithfulness(trace, counts, metric=a_sum, rankings=200, ceiling=False, progress=False)
    whole = float(counts.nansum())
    level = whole * sum(k / 12 for k in (1, 2, 3, 6)) / 4
    error = float(table.loc["random", "comprehensiveness_error"])
    assert abs(table.loc["random", "comprehensiveness"] - level) < 3 * error
    assert abs(table.loc["random", "sufficiency"] - (whole - level)) < 3 * error
    # of a mean over bins of the first k of n without putting back, exactly: weight of place p is the bins behind it
    weights = [sum(p < k for k in (1, 2, 3, 6)) / 4 for p in range(12)]
    values = counts[1:13].tolist()
    mean_w, mean_v = sum(weights) / 12, sum(values) / 12
    variance = sum((w - mean_w) ** 2 for w in weights) * sum((v - mean_v) ** 2 for v in values) / 11
    assert error == pytest.approx(math.sqrt(variance / 200), rel=0.2)
    again = attribution.faithfulness(trace, counts, metric=a_sum, rankings=200, ceiling=False, progress=False)
    assert again.equals(table)
    other = attribution.faithfulness(trace, counts, metric=a_sum, rankings=200, ceiling=False, seed=1, progress=False)
    assert other.loc["random", "comprehensiveness"] != table.loc["random", "comprehensiveness"]
    assert list(table.index) == ["values", "random"]


@pytest.mark.parametrize("remove", attribution.REMOVALS)
def test_every_removal_is_the_models_own_run(remove: str) -> None:
    """A ranking's two scores from runs made by hand; the mask that is read and the template stay."""
    lens = words_lens()
    trace, metric = lens.trace(MASKED), whatif.logit("cat")
    ranking = [5, 2, 7, 1, 6, 4]  # the others are [CLS], [MASK], [SEP]
    values = torch.zeros(trace.n_tokens)
    for place, token in enumerate(ranking):
        values[token] = 10.0 - place
    values[[0, 3, 8]] = 100.0
    table = attribution.faithfulness(trace, values, remove, metric=metric, ceiling=False, progress=False)

    def without(gone: list[int]) -> float:
        if remove == "hide":
            return metric(trace.rerun(*map(whatif.hide, gone)))
        words = ["the", "cat", "[MASK]", "on", "the", "warm", "mat"]
        kept = [w if i + 1 not in gone else "[MASK]" if remove == "mask" else "" for i, w in enumerate(words)]
        run = lens.trace(" ".join(filter(None, kept)))
        at = 3 if remove == "mask" else 3 - sum(i < 3 for i in gone)
        return float(run.output.logits[0, at, tiny.VOCABULARY.index("cat")])

    assert trace.tokens[1:-1] == MASKED.split() and bins_of(6) == [1, 2, 3]
    lost = [metric(trace) - without(ranking[:k]) for k in (1, 2, 3)]
    alone = [metric(trace) - without(ranking[k:]) for k in (1, 2, 3)]
    assert table.loc["values", "comprehensiveness"] == pytest.approx(sum(lost) / 3, abs=1e-9)
    assert table.loc["values", "sufficiency"] == pytest.approx(sum(alone) / 3, abs=1e-9)


def test_greed_takes_the_next_best_token_every_time() -> None:
    """Step by step by hand, where tokens do act on each other."""
    trace, metric = words_lens().trace(MASKED), whatif.logit("cat")
    table = attribution.faithfulness(trace, torch.zeros(9), "hide", metric=metric, progress=False)
    tokens = [1, 2, 4, 5, 6, 7]

    def value(gone: tuple[int, ...]) -> float:
        return metric(trace.rerun(*map(whatif.hide, gone)))

    chosen: tuple[int, ...] = ()
    lost = []
    for _ in range(3):
        chosen = min(((*chosen, i) for i in tokens if i not in chosen), key=value)
        lost.append(metric(trace) - value(chosen))
    assert table.loc["greedy ceiling", "comprehensiveness"] == pytest.approx(sum(lost) / 3, abs=1e-9)
    best = [metric(trace) - min(map(value, itertools.combinations(tokens, k))) for k in (1, 2, 3)]
    assert table.loc["greedy ceiling", "comprehensiveness"] <= sum(best) / 3 + 1e-9
    kept: tuple[int, ...] = ()
    alone = []
    for _ in range(3):
        kept = max(
            ((*kept, i) for i in tokens if i not in kept), key=lambda k: value(tuple(i for i in tokens if i not in k))
        )
        alone.append(metric(trace) - value(tuple(i for i in tokens if i not in kept)))
    assert table.loc["greedy ceiling", "sufficiency"] == pytest.approx(sum(alone) / 3, abs=1e-9)


def test_five_methods_on_the_embedded_language_model(language_model: Lens) -> None:
    """The greedy ceiling lies above all of them, a random ranking at the level of other random rankings."""
    trace = language_model.trace("The keys to the old cabinet [MASK] on the table.")
    metric = whatif.difference("are", "is")
    found = [
        attribution.occlusion(trace, metric),
        attribution.gradient_input(trace, metric),
        attribution.integrated_gradients(trace, metric),
        attribution.linearised(trace, metric),
        attribution.attention_gradient(trace, metric),
    ]
    noise = torch.rand(trace.n_tokens, generator=torch.Generator().manual_seed(5))
    table = attribution.faithfulness(trace, {one.method: one for one in found} | {"noise": noise}, progress=False)
    assert len(table) == 8 and table.attrs["metric"] == "are over is (nats)"
    rest = table.drop(index="greedy ceiling")
    assert (table.loc["greedy ceiling", "comprehensiveness"] >= rest["comprehensiveness"] - 1e-6).all()
    assert (table.loc["greedy ceiling", "sufficiency"] <= rest["sufficiency"] + 1e-6).all()
    spread = table.loc["random", "comprehensiveness_error"] * math.sqrt(20)
    assert abs(table.loc["noise", "comprehensiveness"] - table.loc["random", "comprehensiveness"]) < 3 * spread
    assert table.loc["occlusion (mask)", "comprehensiveness_beats"] >= 18  # of 20; by chance 10 on average
    assert abs(found[3].gap or 0) < 1e-5 * float(found[3].values.abs().sum())
    assert abs(found[2].gap or 1) <= 0.05 * abs(found[2].expected or 0)


def test_wrong_use_is_one_sentence() -> None:
    trace = words_lens().trace(MASKED)
    other = words_lens().trace(MASKED)
    metric = whatif.logit("cat")
    one, two = attribution.gradient_input(trace, metric), attribution.gradient_input(trace, whatif.logit("mat"))
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (one, {"rankings": 19}, "at least 20"),
        (torch.zeros(9), {}, "pass metric="),
        ({}, {}, "no values"),
        ({"a": one, "b": two}, {}, "several numbers"),
        (torch.zeros(8), {"metric": metric}, r"has the shape \(8,\): one number for each of 9 tokens"),
        (attribution.gradient_input(other, metric), {}, "of another trace"),
    ]
    for values, options, said in cases:
        with pytest.raises(InputError, match=said):
            attribution.faithfulness(trace, values, progress=False, **options)
    assert list(attribution.faithfulness(trace, {"a": one, "b": two}, metric=metric, ceiling=False).index[:2]) == [
        "a",
        "b",
    ]
