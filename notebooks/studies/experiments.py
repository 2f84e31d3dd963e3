"""What decides the similarity of two texts, and a variant of SARS-CoV-2: heads off, windows patched and hidden.

Ends with the table of what may be concluded, of these and of `masked_words`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from bertlens import sars_cov_2
from bertlens.lens import Lens
from bertlens.survey import mean_text
from bertlens.trace.trace import Trace
from bertlens.whatif import estimate, hide, off, patch, similarity, sweep

from .finding import Finding, counted, verdicts
from .masked_words import MaskedWords, rho

VARIANTS = ("Epsilon", "Gamma", "Iota")  # those that differ from the reference by substitutions only
AS_IT_IS, ONE_HEAD = "as it is", "the one head with the largest estimate off"
PATCHED, PATCHED_AT_RANDOM = "mutated windows from the reference, after L0", "as many others, at random, after L0"
CLS_EARLY, LATE, CLS_LATE = "[CLS] from the reference, after L0", "mutated windows, after L11", "[CLS], after L11"
HIDDEN, HIDDEN_AT_RANDOM = "mutated windows hidden from all heads", "as many others hidden"
ALL_OFF = "all 144 heads off"


@counted
def of_similarity(lens: Lens, pairs: Sequence[tuple[str, str]]) -> Finding:
    """Which heads the cosine of two texts needs: `agreed` (4,) ρ of estimate and exact, `swept` (4, layers, heads),
    `layers_off` (pairs, layers), `between` (pairs,) ρ of the estimates of two pairs."""
    couples = [(lens.trace(a), lens.trace(b)) for a, b in pairs]
    cosines = np.array([similarity(b)(a) for a, b in couples])
    slopes = np.stack([estimate(a, similarity(b)).numpy() for a, b in couples])  # of the first text's run
    swept = np.stack([sweep(a, similarity(b), progress=False).numpy() for a, b in couples[:4]])
    layers_off = np.stack([sweep(a, similarity(b), "layers", progress=False).numpy() for a, b in couples])
    agreed = np.array([rho(a, b) for a, b in zip(slopes, swept, strict=False)])
    between = np.array([rho(slopes[k], slopes[k - 1]) for k in range(len(pairs))])  # each pair with another
    size, moved = np.abs(layers_off), np.abs(swept)
    note = (
        f"{len(pairs)} pairs, cosine {mean_text(cosines)}; estimate against exact on {len(swept)} of them: "
        f"{mean_text(agreed, most=1)}.\n{swept.size} runs, each without one head: the cosine changes by "
        f"{moved.mean():.3f} on average, by {moved.max():.3f} at most.\n"
        f"Rank correlation of the heads' estimates between two pairs: {mean_text(between, most=1)}."
    )
    columns = {"all heads of a layer off: change": layers_off, "size of the change": size}
    table = pd.DataFrame(
        {name: [mean_text(x) for x in values.T] for name, values in columns.items()},
        index=[f"L{layer}" for layer in range(size.shape[1])],
    )
    return Finding(note, table, agreed=agreed, swept=swept, layers_off=layers_off, between=between)


def _margin(lens: Lens, variant: str) -> Callable[[Any], torch.Tensor]:
    """The variant's logit less the largest other one, of a run's output."""
    config: Any = lens.model.config
    names = [config.id2label[i] for i in range(config.num_labels)]
    mine = names.index(variant)
    rivals = [k for k in range(len(names)) if k != mine]
    return lambda output: output.logits[0, mine] - output.logits[0, rivals].max()


def _changes(one: Trace, reference: Trace, there: list[int], others: list[int], head: Sequence[int]) -> dict[str, Any]:
    take = partial(_from, reference)
    return {
        AS_IT_IS: [],
        PATCHED: take(0, there),
        PATCHED_AT_RANDOM: take(0, others),
        CLS_EARLY: take(0, [0]),
        LATE: take(11, there),
        CLS_LATE: take(11, [0]),
        HIDDEN: [hide(at) for at in there],
        HIDDEN_AT_RANDOM: [hide(at) for at in others],
        ONE_HEAD: [off(*head)],
        ALL_OFF: [off(layer) for layer in range(one.n_layers)],
    }


def _from(reference: Trace, layer: int, places: list[int]) -> list[Any]:
    return [patch(layer, at, reference, at) for at in places]


@counted
def of_variants(lens: Lens, draw: random.Random) -> Finding:
    """What a variant's answer needs: `margins`, a row a sequence (whole, then lacking one mutation, in turn), a
    column an experiment; `left`, a row a mutation left out alone, by `margin lost`."""
    vocabulary: Any = lens.tokenizer.vocabulary
    reference = lens.trace(sars_cov_2.example(vocabulary))
    rows, windows, losses = [], [], []
    for variant in VARIANTS:
        mutations, margin = sars_cov_2.MUTATIONS[variant], _margin(lens, variant)
        subsets = [[name for name in mutations if name != out] for out in (None, *mutations)]
        runs = lens.trace_batch([sars_cov_2.example(vocabulary, names) for names in subsets], batch_size=4)
        values = [float(margin(run.output)) for run in runs]
        losses += [(variant, name, values[0] - value) for name, value in zip(mutations, values[1:], strict=True)]
        weakest = min((value, k) for k, value in enumerate(values) if value > 0)[1]  # still right without one mutation
        for gene in (runs[0], runs[weakest]):
            mutated = (gene.input_ids != reference.input_ids).nonzero()[:, 0].tolist()
            controls = draw.sample([at for at in range(1, gene.n_tokens - 1) if at not in mutated], len(mutated))
            strongest = divmod(int(estimate(gene, margin).abs().argmax()), gene.n_heads)
            changes_by_name = _changes(gene, reference, mutated, controls, strongest)
            rows.append({what: float(margin(gene.rerun(*changes).output)) for what, changes in changes_by_name.items()})
            windows.append(len(mutated))
    margins = pd.DataFrame(rows)
    lost = pd.DataFrame(losses, columns=["variant", "mutation", "margin lost"])
    needed = lost[lost["margin lost"] > 0.5]
    listed = ", ".join(f"{row.variant} {row.mutation} {row[-1]:.2f}" for row in needed.itertuples(index=False))
    pairs = ", ".join(f"{a:.1f} → {b:.1f}" for a, b in zip(margins[AS_IT_IS], margins[ONE_HEAD], strict=True))
    note = (
        f"{len(lost)} mutations left out one by one; the margin falls by more than 0.5 for {len(needed)}: {listed}.\n"
        f"Strongest head off: margins {pairs}.\n{len(margins)} sequences of 3 variants, {reference.n_tokens} tokens, "
        f"{min(windows)} to {max(windows)} mutated; below 0 the answer is another one."
    )
    table = pd.DataFrame(
        {
            "margin": [mean_text(margins[what]) for what in margins],
            "answer kept": [f"{(margins[what] > 0).sum()} of {len(margins)}" for what in margins],
        },
        index=margins.columns,
    )
    return Finding(note, table, margins=margins, left=lost, needed=needed)


def conclusions(study: MaskedWords, of_pairs: Finding, of_genes: Finding) -> Any:
    """A table: claims, what holds on these models, by which numbers."""

    def each_task(values: dict[str, np.ndarray]) -> str:
        return ", ".join(f"{name} {mean_text(numbers)}" for name, numbers in values.items())

    tasks = study.tasks
    top, ways, closed, where = study.strongest, study.importance.ways, study.closed, study.where
    margins, swept = of_genes.margins, np.abs(of_pairs.swept)
    survives = margins[ONE_HEAD] > 0
    rows = [
        (
            "The estimate orders heads as the experiment does",
            "holds",
            f"ρ {mean_text(study.estimate.agreed, most=1)}, similarity {mean_text(of_pairs.agreed, most=1)}",
        ),
        (
            "Few heads carry a task",
            "holds for these three",
            f"five off: {each_task({name: top.together[name] for name in tasks})}; "
            f"at random: {each_task(top.at_random)}",
        ),
        ("Heads stand in for each other", "not found", f"five together less sum of five: {each_task(top.less)} nats"),
        ("Sharp heads matter", "does not hold", f"ρ with the effect's size {mean_text(ways['sharpness'], most=1)}"),
        (
            "… the sharpest one, L0·H2",
            "in the agreement templates, not shown in natural sentences",
            each_task(study.importance.loss),
        ),
        ("Heads with long outputs matter", "a tendency", f"ρ {mean_text(ways['length of output'], most=1)}"),
        (
            "Closed heads do nothing",
            "less than others, not nothing",
            f"many off {mean_text(closed.every[0])}, as many others {mean_text(closed.every[1])} nats",
        ),
        (
            "“he” or “she” goes by one weight of L5·H8",
            "most of it, where a word says who",
            f"off {mean_text(where.without)}, cell cut {mean_text(where.cut)}; natural, off: {mean_text(where.who)}, "
            f"where no word says who {mean_text(where.nobody)}",
        ),
        (
            "Some heads decide similarity",
            "no single one, and others for each pair",
            f"mean change {swept.mean():.3f}; ρ between pairs {mean_text(of_pairs.between, most=1)}",
        ),
        (
            "A variant is decided by its mutated windows",
            "holds",
            f"n = {len(margins)}: margin {mean_text(margins[AS_IT_IS])}, without them {mean_text(margins[PATCHED])}",
        ),
        (
            "… and by single heads",
            "not in whole ones, can be where a mutation lacks",
            f"answer kept: whole {survives[::2].sum()} of 3, lacking one {survives[1::2].sum()} of 3",
        ),
    ]
    return verdicts(rows, ("claim", "on these models", "numbers"))
