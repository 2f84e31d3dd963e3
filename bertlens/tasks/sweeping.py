"""Every part's effect on every text: estimated in one backward pass a batch, or run, one part after the other."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ModelError
from ..run.changes import Change
from ..run.interventions import Run, wrapped
from ..run.masks import mask_slopes
from .ablations import Ablation, Part
from .answers import Answered
from .passes import WINDOW, batches, checked, logits_of, read_logits
from .progress import Bar, bar, is_watched
from .scores import losses_of


def batches_of(task: Answered, rows: Sequence[int]) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
    return batches(task.lens, task.examples, rows, task.batch_size, task.truncation)


def estimates(task: Answered, rows: Sequence[int], n_layers: int) -> tuple[np.ndarray, np.ndarray]:
    """(L, H) and (L,): what the mean loss of these texts would gain by each head, each MLP off, to first order."""
    heads: Any = 0.0
    mlps: Any = 0.0
    with bar(len(rows), "text", "estimates", task.progress) as shown:
        for chosen, inputs in batches_of(task, rows):

            def losses(output: Any, rows: list[int] = chosen) -> Tensor:
                logits = read_logits(output)
                labels = torch.as_tensor(task.labels[rows], device=logits.device)  # made where a graph may hold it
                logits = logits if logits.dtype == torch.float64 else logits.float()
                return torch.nn.functional.cross_entropy(logits, labels, reduction="none")

            _, of_heads, of_mlps = mask_slopes(task.lens.borrowed, inputs, n_layers, losses)
            heads, mlps = heads - of_heads.sum(0), mlps - of_mlps.sum(0)
            shown.update(len(chosen))
    return (heads / len(rows)).numpy(), (mlps / len(rows)).numpy()


def cost(task: Answered, rows: Sequence[int], parts: Sequence[Part], ablation: Ablation, n_layers: int) -> str:
    """What a sweep will take, in one line: from one batch of it, of texts of middle length."""
    window = list(itertools.islice(batches_of(task, rows), WINDOW))  # from its shortest texts to its longest
    chosen, inputs = window[len(window) // 2]
    began = time.perf_counter()
    logits_of(task.lens, inputs, Run())
    seconds = (time.perf_counter() - began) * len(rows) / len(chosen)
    passes = 1 + sum((n_layers - part.layer) / n_layers for part in parts) * ablation.draws
    took = seconds * passes
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
    done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    with bar(len(rows) * len(parts), "run", "parts", task.progress) as shown:
        try:
            for chosen, inputs in batches_of(task, rows):
                done.append(_batch(task, chosen, inputs, parts, ablation, shown))
        except KeyboardInterrupt:
            count = sum(len(one[0]) for one in done)
            if count < 2:
                raise
            if not is_watched():
                warnings.warn(f"interrupted: effects over {count} of {len(rows)} texts", stacklevel=4)
    return {name: np.concatenate([one[i] for one in done]) for i, name in enumerate(("row", "loss", "right"))}


def _batch(
    task: Answered, chosen: list[int], inputs: dict[str, Tensor], parts: Sequence[Part], ablation: Ablation, shown: Bar
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    labels = task.labels[chosen]
    padded = inputs["input_ids"].shape[1]
    lengths = inputs["attention_mask"].sum(1).tolist()
    first = Run(watch=task.lens.borrowed.adapter is not None)
    logits = [logits_of(task.lens, inputs, first)]
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
                    for row, tokens in zip(chosen, lengths, strict=True)
                ]
                run = Run(changes, part.layer if states else 0, states, wrappers)
                logits = [logits_of(task.lens, inputs, run)]
            found.append(checked(logits[0], chosen, task.examples).numpy())
        each = np.array([losses_of(labels, one) for one in found])
        losses.append(each[0] + (each - each[0]).mean(0))  # draws that are all alike have exactly this mean
        right.append(np.mean([one.argmax(1) == labels for one in found], 0))
        shown.update(len(chosen) if part is not None else 0)
    return np.array(chosen), np.stack(losses, 1), np.stack(right, 1)
