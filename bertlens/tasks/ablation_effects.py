"""Every part's effect on every text: estimated in one backward pass a batch, or run, one part after the other."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..base.batch_work import partial_work
from ..base.progress import Bar, bar
from ..errors import ClusterError
from ..run.changes import Change
from ..run.interventions import Run
from ..run.masks import mask_slopes
from ..whatif.head_study import HeadSite, cost_said, passes
from .ablations import Ablation
from .batch_answers import WINDOW, answers_of, checked
from .example_batch import Batch
from .task_answers import Answered

Effects: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, losses and shares that are right of a batch
ESTIMATES = "estimates"  # by which they are kept
Sweep: TypeAlias = Callable[[Answered, Sequence[int], Sequence[HeadSite], Ablation], dict[str, np.ndarray]]


def estimates(task: Answered, rows: Sequence[int], n_layers: int) -> tuple[np.ndarray, np.ndarray]:
    """(L, H) and (L,): what the mean loss of these texts would gain by each head, each MLP off, to first order."""
    heads: Any = 0.0
    mlps: Any = 0.0
    with bar(len(rows), "text", "estimates", task.progress) as progress:
        try:
            for batch in task.batches(rows):
                of_heads, of_mlps = batch_estimates(task, batch, n_layers)
                heads, mlps = heads + of_heads, mlps + of_mlps
                progress.update(len(batch.rows))
        finally:
            task.kept.save()
    return heads / len(rows), mlps / len(rows)


def batch_estimates(task: Answered, batch: Batch, n_layers: int) -> tuple[np.ndarray, np.ndarray]:
    """The sums of `estimates` over the texts of a batch. Kept ones where there are any."""
    if (arrays := task.kept.get(ESTIMATES, batch.rows)) is not None:
        return arrays[0], arrays[1]

    def losses(output: Any) -> Tensor:
        answers = task.kind.read(output, batch)
        answers = answers if answers.dtype == torch.float64 else answers.float()
        return task.kind.losses(answers, task.labels[batch.rows])

    _, *slopes = mask_slopes(task.lens.borrowed, batch.inputs, n_layers, losses)
    of_heads, of_mlps = ((-of_texts.sum(0)).numpy() for of_texts in slopes)
    task.kept.put(ESTIMATES, batch.rows, of_heads, of_mlps)
    return of_heads, of_mlps


def of_one_pass(task: Answered, rows: Sequence[int]) -> float:
    """Seconds that a pass over these texts takes, from one batch of them, of texts of middle length."""
    window = list(itertools.islice(task.batches(rows), WINDOW))  # from its shortest texts to its longest
    batch = window[len(window) // 2]
    began = time.perf_counter()
    answers_of(task.lens, task.examples, batch, Run())
    return (time.perf_counter() - began) * len(rows) / len(batch.rows)


def cost(task: Answered, rows: Sequence[int], sites: Sequence[HeadSite], ablation: Ablation, n_layers: int) -> str:
    """What a sweep will take, in one line."""
    count = passes(sites, n_layers, ablation.draws)
    draws = f", {ablation.draws} draws each" if ablation.draws > 1 else ""
    runs = f"{len(sites)} parts{draws}, {len(rows):,} texts: about {count:.0f} passes over them, "
    return cost_said(runs, of_one_pass(task, rows) * count)


def effects(
    task: Answered, rows: Sequence[int], sites: Sequence[HeadSite], ablation: Ablation
) -> dict[str, np.ndarray]:
    """(texts, 1 + parts) of the texts that were run: "row", "loss" and "right", without any change and for each part.

    Right and loss are means over the draws. An interrupt ends the run: the batches that were whole count.
    """

    def stream(progress: Bar) -> Iterator[Effects]:
        for batch in task.batches(rows):
            yield batch_effects(task, batch, sites, ablation, progress)

    return collected(task, rows, sites, stream)


def collected(
    task: Answered, rows: Sequence[int], sites: Sequence[HeadSite], stream: Callable[[Bar], Iterator[Effects]]
) -> dict[str, np.ndarray]:
    """See `effects`. stream: those of batch after batch, whatever runs them."""
    batches: list[Effects] = []

    def told() -> str:
        count = sum(len(arrays[0]) for arrays in batches)
        return f"effects over {count} of {len(rows)} texts" if count > 1 else ""

    with bar(len(rows) * len(sites), "run", "parts", task.progress) as progress, partial_work(told, ClusterError):
        try:
            for arrays in stream(progress):
                batches.append(arrays)  # noqa: PERF402  what was done stays after an interrupt
        finally:
            task.kept.save()
    return {name: np.concatenate([arrays[i] for arrays in batches]) for i, name in enumerate(("row", "loss", "right"))}


def batch_effects(
    task: Answered, batch: Batch, sites: Sequence[HeadSite], ablation: Ablation, progress: Bar | None = None
) -> Effects:
    """(B,) rows, (B, 1 + parts) losses and shares that are right, without any change and for each part.

    Kept ones where there are any.
    """
    name = sweep_name(sites, ablation)
    arrays = task.kept.get(name, batch.rows)
    if arrays is not None:
        if progress is not None:
            progress.update(len(batch.rows) * len(sites))
        return np.array(batch.rows), arrays[0], arrays[1]
    rows, padded = batch.rows, batch.inputs["input_ids"].shape[1]
    lengths = batch.inputs["attention_mask"].sum(1).tolist()
    baseline = Run(watch=task.lens.borrowed.adapter is not None)
    answers = answers_of(task.lens, task.examples, batch, baseline)
    losses, right = [], []
    for site in [None, *sites]:
        scores = []
        for draw in range(1 if site is None else ablation.draws):
            if site is not None:
                changes: list[list[Change]] = [
                    [ablation.change(site, row, draw, tokens, padded)]
                    for row, tokens in zip(batch.texts, lengths, strict=True)
                ]
                answers = answers_of(task.lens, task.examples, batch, baseline.branch(changes, site.layer))
            scores.append(task.scores_of(checked(answers, batch, task.examples), rows))
        draws = np.array([column for column, _ in scores])
        losses.append(draws[0] + (draws - draws[0]).mean(0))  # draws that are all alike have exactly this mean
        right.append(np.mean([column for _, column in scores], 0))
        if progress is not None and site is not None:
            progress.update(len(rows))
    of_loss, of_right = np.stack(losses, 1), np.stack(right, 1)
    task.kept.put(name, rows, of_loss, of_right)
    return np.array(rows), of_loss, of_right


def sweep_name(sites: Sequence[HeadSite], ablation: Ablation) -> str:
    """By which the effects of a sweep are kept."""
    return f"effects {ablation.name} {ablation.draws} {ablation.seed} {','.join(map(str, sites))}"
