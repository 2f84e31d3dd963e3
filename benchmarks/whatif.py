"""What it costs to switch off every head in turn, beside one forward pass and beside a loop of whole runs.

And how well one backward pass foretells it: the rank correlation of estimate and exact, over sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median
from typing import Any

import torch

from benchmarks.models import base_lens, base_model, inputs, small_lens, text
from benchmarks.rows import Row, in_turn, ms, ratio
from bertlens import Lens, whatif
from bertlens.measures.ranks import spearman
from bertlens.run.forward import output_of
from bertlens.run.interventions import Run
from bertlens.widgets.answers.loudness_curve import loudness as answer

TOKENS, MOST = 32, 60
NINE = {20: 600, 128: 2000}  # tokens: ms
SENTENCES = [
    "The keys to the cabinet are on the table.",
    "The author that the critics liked writes every day.",
    "She gave the dog a bone because it was hungry.",
    "The animal did not cross the street because it was too tired.",
    "No student has ever failed this exam.",
    "The trophy does not fit into the suitcase because it is too big.",
    "Rain fell all night, and the river rose by a metre.",
    "He reads the paper while the coffee gets cold.",
    "The committee have decided to postpone the vote.",
    "Two small dogs ran past the old house.",
    "I would have come if you had asked me.",
    "The book on the shelves belongs to my sister.",
    "After the war the city was rebuilt stone by stone.",
    "Nobody knows why the bees left the hive.",
    "The minister who resigned last week wrote a letter.",
    "A cat sat on the mat and looked at the door.",
    "Prices rose faster than wages for the third year.",
    "The doctor told the nurse that she was right.",
    "Water boils at a lower temperature in the mountains.",
    "They painted the bridge red before the summer.",
]


def rows() -> Iterator[Row]:
    model, trace, given = base_model(), base_lens().trace(text(TOKENS)), inputs(TOKENS)
    metric = whatif.similarity()

    def plain() -> None:
        with torch.inference_mode():
            model(**given)

    def every() -> None:
        whatif.sweep(trace, metric, progress=False)

    def naive() -> None:
        for layer in range(trace.n_layers):
            metric(trace.rerun(whatif.off(layer, 0)))

    base, ours, loop = in_turn(plain, every, naive, rounds=3, warm=1)
    spent = ratio(ours, base)
    yield Row(
        f"all 144 heads off, one after the other, BERT-base shape, {TOKENS} tokens",
        f"≤ {MOST} × one forward of this text alone",
        f"{spent:.0f} × ({min(ours):.1f} s over {ms(min(base))} at best)",
        f"a loop of runs: {12 * ratio(loop, base):.0f} ×",
        spent <= MOST,
    )
    lens = small_lens()
    trace = lens.trace(text(TOKENS))
    other = lens.trace(text(TOKENS + 8))
    near = whatif.similarity(other)
    exact, slope, one = in_turn(
        lambda: whatif.sweep(trace, near, progress=False),
        lambda: whatif.estimate(trace, near),
        lambda: lens.trace(text(64)).rerun(whatif.off(2, 3)),
        rounds=5,
    )
    yield Row(
        f"all 72 heads off, embedded model, {TOKENS} tokens",
        "< 2 s",
        f"{median(exact):.2f} s; estimated by one backward pass: {ms(median(slope))}",
        ok=median(exact) < 2,
    )
    yield from loudness()
    yield Row("a text of 64 tokens traced, then run with one head off, embedded model", "–", ms(median(one)))
    yield estimates(lens)


def loudness() -> Iterator[Row]:
    """Of a head of the first layer, where no layer is left out, in the masked model."""
    lens = Lens.embedded(mlm=True)
    for tokens, budget in NINE.items():
        trace = lens.trace(f"{text(tokens - 1)} [MASK]")
        heads = iter(range(trace.n_heads))
        base, ours = in_turn(
            lambda trace=trace: output_of(trace.model, trace.inputs(), Run([()])),
            lambda trace=trace, heads=heads: answer(trace, 0, next(heads), patience=math.inf),
            rounds=5,
            warm=1,
        )
        yield Row(
            f"the answer at nine loudnesses of a head of layer 0, embedded masked model, {trace.n_tokens} tokens",
            f"≤ {budget} ms",
            f"{ms(median(ours))}, {ratio(ours, base):.1f} × one forward",
            ok=median(ours) <= budget / 1e3,
        )


def estimates(lens: Any) -> Row:
    """Spearman's ρ between `estimate` and `sweep` of the same sentence, for the similarity with the next one."""
    traces = [lens.trace(sentence) for sentence in SENTENCES]
    found, shares = [], []
    for number, trace in enumerate(traces):
        metric = whatif.similarity(traces[number - 1])
        exact, guess = whatif.sweep(trace, metric, progress=False), whatif.estimate(trace, metric)
        found.append(spearman(exact.flatten(), guess.flatten()))
        shares.append(float((exact.sign() == guess.sign()).double().mean()))
    return Row(
        f"estimate against exact, 72 heads, embedded model, {len(traces)} sentences, similarity with another sentence",
        "–",
        f"Spearman's ρ: median {median(found):.2f}, {min(found):.2f} to {max(found):.2f}; the same sign for "
        f"{median(shares):.0%} of the heads (median)",
    )
