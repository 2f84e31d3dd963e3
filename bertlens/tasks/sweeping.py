"""Every part's effect on every text: estimated in one backward pass a batch, or run, one part after the other."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..base.progress import Bar, bar, is_watched
from ..errors import ClusterError, ModelError
from ..run.changes import Change
from ..run.interventions import Run, wrapped
from ..run.masks import mask_slopes
from .ablations import Ablation, Part
from .answers import Answered
from .batch import Batch
from .passes import WINDOW, answers_of, checked

Effects: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, losses and shares that are right of a batch
Sweep: TypeAlias = Callable[[Answered, Sequence[int], Sequence[Part], Ablation], dict[str, np.ndarray]]


def estimates(task: Answered, rows: Sequence[int], n_layers: int) -> tuple[np.ndarray, np.ndarray]:
    """(L, H) and (L,): what the mean loss of these texts would gain by each head, each MLP off, to first order."""
    heads: Any = 0.0
    mlps: Any = 0.0
    with bar(len(rows), "text", "estimates", task.progress) as shown:
        for batch in task.batches(rows):

            def losses(output: Any, batch: Batch = batch) -> Tensor:
                answers = task.kind.read(output, batch)
                answers = answers if answers.dtype == torch.float64 else answers.float()
                return task.kind.losses(answers, task.labels[batch.rows])

            _, of_heads, of_mlps = mask_slopes(task.lens.borrowed, batch.inputs, n_layers, losses)
            heads, mlps = heads - of_heads.sum(0), mlps - of_mlps.sum(0)
            shown.update(len(batch.rows))
    return (heads / len(rows)).numpy(), (mlps / len(rows)).numpy()


def kept_estimates(task: Answered, rows: Sequence[int], n_layers: int) -> tuple[np.ndarray, np.ndarray]:
    """`estimates`, or kept ones."""
    known = task.kept.get("estimates", rows)
    if known is None:
        known = estimates(task, rows, n_layers)
        task.kept.put("estimates", rows, *known)
        task.kept.save()
    return known[0], known[1]


def of_one_pass(task: Answered, rows: Sequence[int]) -> float:
    """Seconds that a pass over these texts takes, from one batch of them, of texts of middle length."""
    window = list(itertools.islice(task.batches(rows), WINDOW))  # from its shortest texts to its longest
    batch = window[len(window) // 2]
    began = time.perf_counter()
    answers_of(task.lens, task.examples, batch, Run())
    return (time.perf_counter() - began) * len(rows) / len(batch.rows)


def cost(task: Answered, rows: Sequence[int], parts: Sequence[Part], ablation: Ablation, n_layers: int) -> str:
    """What a sweep will take, in one line."""
    passes = 1 + sum((n_layers - part.layer) / n_layers for part in parts) * ablation.draws
    took = of_one_pass(task, rows) * passes
    said = f"{took:.0f} s" if took < 120 else f"{took / 60:.0f} minutes"
    draws = f", {ablation.draws} draws each" if ablation.draws > 1 else ""
    return (
        f"{len(parts)} parts{draws}, {len(rows):,} texts: about {passes:.0f} passes over them, {said}; "
        "Ctrl-C ends it, and what was done counts"
    )


def effects(task: Answered, rows: Sequence[int], parts: Sequence[Part], ablation: Ablation) -> dict[str, np.ndarray]:
    """(texts, 1 + parts) of the texts that were run: "row", "loss" and "right", without any change and for each part.

    Right and loss are means over the draws. An interrupt ends the run: the batches that were whole count.
    """

    def each(shown: Bar) -> Iterator[Effects]:
        for batch in task.batches(rows):
            yield batch_effects(task, batch, parts, ablation, shown)

    return collected(task, rows, parts, each)


def collected(
    task: Answered, rows: Sequence[int], parts: Sequence[Part], each: Callable[[Bar], Iterator[Effects]]
) -> dict[str, np.ndarray]:
    """See `effects`. each: those of batch after batch, whatever runs them."""
    done: list[Effects] = []
    with bar(len(rows) * len(parts), "run", "parts", task.progress) as shown:
        try:
            for one in each(shown):
                done.append(one)  # noqa: PERF402  what was done stays after an interrupt
        except (KeyboardInterrupt, ClusterError) as error:
            count = sum(len(one[0]) for one in done)
            if count < 2:
                raise
            if not is_watched():
                why = str(error) or "interrupted"
                warnings.warn(f"{why}: effects over {count} of {len(rows)} texts", stacklevel=4)
        finally:
            task.kept.save()
    return {name: np.concatenate([one[i] for one in done]) for i, name in enumerate(("row", "loss", "right"))}


def batch_effects(
    task: Answered, batch: Batch, parts: Sequence[Part], ablation: Ablation, shown: Bar | None = None
) -> Effects:
    """(B,) rows, (B, 1 + parts) losses and shares that are right, without any change and for each part.

    Kept ones where there are any.
    """
    name = sweep_name(parts, ablation)
    known = task.kept.get(name, batch.rows)
    if known is not None:
        if shown is not None:
            shown.update(len(batch.rows) * len(parts))
        return np.array(batch.rows), known[0], known[1]
    rows, padded = batch.rows, batch.inputs["input_ids"].shape[1]
    lengths = batch.inputs["attention_mask"].sum(1).tolist()
    first = Run(watch=task.lens.borrowed.adapter is not None)
    answers = answers_of(task.lens, task.examples, batch, first)
    states: list[Tensor] = []
    wrappers: list[Any] = []
    try:
        wrappers = list(wrapped(first.outputs))
        states = [output[0] if isinstance(output, tuple) else output for output in first.outputs]
    except ModelError:
        pass  # then every layer is computed, each time
    losses, right = [], []
    for part in [None, *parts]:
        found = []
        for draw in range(1 if part is None else ablation.draws):
            if part is not None:
                changes: list[list[Change]] = [
                    [ablation.change(part, row, draw, tokens, padded)]
                    for row, tokens in zip(batch.texts, lengths, strict=True)
                ]
                run = Run(changes, part.layer if states else 0, states, wrappers)
                answers = answers_of(task.lens, task.examples, batch, run)
            found.append(task.scores_of(checked(answers, batch, task.examples), rows))
        each = np.array([one for one, _ in found])
        losses.append(each[0] + (each - each[0]).mean(0))  # draws that are all alike have exactly this mean
        right.append(np.mean([one for _, one in found], 0))
        if shown is not None and part is not None:
            shown.update(len(rows))
    of_loss, of_right = np.stack(losses, 1), np.stack(right, 1)
    task.kept.put(name, rows, of_loss, of_right)
    return np.array(rows), of_loss, of_right


def sweep_name(parts: Sequence[Part], ablation: Ablation) -> str:
    """By which the effects of a sweep are kept."""
    return f"effects {ablation.name} {ablation.draws} {ablation.seed} {','.join(map(str, parts))}"
