"""Attribution by gradients of the word embeddings and of attention weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError, ModelError, check_name
from ...run.backward import word_gradients
from ...trace.trace import Trace
from ..gradients import gradients
from ..metrics import Metric, Read, is_flat, row_of
from .attribution import Attribution, reader

BASELINES = ("mask", "pad", "zero")
NEAR = 0.05  # of F(text) − F(baseline): the gap at which no more steps are taken
FEWEST_STEPS, MOST_STEPS = 16, 512  # steps
TOKENS = 768  # of a batch: so many rows times the text's length, at most


def gradient_input(trace: Trace, metric: Metric | Read) -> Attribution:
    """Σ_d x_d ∂F/∂x_d of every token's word embedding x: one forward and one backward pass.

    Positions and types are added behind it. The first-order estimate of F(x) − F(x with this embedding 0); its sum is
    promised nothing. Simonyan et al. 2014; Denil et al. 2014. On a changed trace, with its changes. Raises InputError
    for a metric that begins at its extreme, where all slopes are 0; ModelError where no gradient can be had.
    """
    readout, answer = reader(trace, metric)
    _check_slope(trace, metric)
    _, words, gradient = _at(trace, readout, None, 1)
    values = _dot(gradient, words)[0]
    notes = ("Word embeddings times their gradient; positions and types belong to no token here.",)
    return Attribution(trace, "gradient × input", metric, values, answer, notes)


def integrated_gradients(
    trace: Trace,
    metric: Metric | Read,
    baseline: str = "mask",
    steps: int | None = None,
    *,
    progress: bool = True,
) -> Attribution:
    """(x − x') · ∫ ∂F/∂x along the straight path of word embeddings from a baseline x' to the text x.

    The values sum to F(x) − F(x') but for what the steps leave, which `gap` has and the result prints. baseline:
    "mask" or "pad", the embedding of the tokenizer's token, or "zero"; the template's tokens and tokens that are masked
    keep theirs. Positions, types and the LayerNorm of the embeddings are inside the path: a path of what comes behind
    them gives other numbers. steps: points of a Gauss-Legendre rule; None doubles them from 16 until the gap is at
    most 5 % of the difference, or there are 512, and says how it ended.
    Sundararajan et al. 2017, eq. 1. On a changed trace, with its changes. Raises SelectionError for another baseline,
    InputError for steps < 1, ModelError without such a token, and where no gradient can be had.
    """
    readout, answer = reader(trace, metric)
    check_name(baseline, BASELINES, "baseline")
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
        raise InputError(f"steps must be a whole number of at least 1, not {steps!r}")
    words, start, named = _ends(trace, baseline)
    origin, _, _ = _at(trace, readout, start[None], 1)
    notes = (
        f"A straight path of word embeddings from {named} to the text, positions, types and LayerNorms inside; "
        "template tokens and masked ones stay.",
    )
    from ...base.progress import Progress

    count = steps or FEWEST_STEPS
    with Progress(desc="integrated gradients", unit="step", delay=2, leave=False, disable=not progress) as bar:
        while True:
            values = _integral(trace, readout, start, words, count, bar.update)
            attribution = Attribution(
                trace, "integrated gradients", metric, values, answer, notes, baseline=float(origin), steps=count
            )
            assert attribution.gap is not None and attribution.expected is not None
            complete = abs(attribution.gap) <= NEAR * abs(attribution.expected)
            if steps is not None or complete or count >= MOST_STEPS:
                break
            count *= 2
    if complete:
        return attribution
    warning = f"Its gap is more than {NEAR:.0%} of the difference: take more steps, or do not trust it."
    return replace(attribution, notes=(*notes, warning))


def attention_gradient(trace: Trace, metric: Metric | Read) -> Attribution:
    """(S,) ≥ 0: attention × gradient through the layers, R ← R + Ā R with Ā = mean_h max(0, α ∘ ∂F/∂α), R from 1.

    The row of R − 1 of the token that F reads off the last layer; where it reads several, their mean. The 1 is what
    each token begins with as itself, whatever F is. Only what raises F is followed, so no token counts against it, and
    the sum is promised nothing. Chefer et al. 2021 (2103.15679), eqs. 5 and 6. Heads whose context a change has
    replaced let nothing through. Raises like `gradient_input`.
    """
    readout, answer = reader(trace, metric)
    _check_slope(trace, metric)
    slopes = gradients(trace, loss=readout)
    itself = torch.eye(trace.n_tokens, dtype=torch.float64, device=trace.device)
    relevance = itself
    for layer in range(trace.n_layers):
        passed = (trace.attention(layer).double() * slopes.attention(layer).double()).clamp_min(0)
        relevance = relevance + passed.mean(0) @ relevance
    reads = slopes.contexts[-1].abs().sum((0, 2)) > 0
    if not bool(reads.any()):
        raise ModelError("the metric reads nothing off the last layer: attention × gradient has no row to give")
    count = int(reads.sum())
    notes = (
        f"Rows of the {count} token{'' if count == 1 else 's'} that the number reads, mean over heads, never below 0.",
    )
    values = (relevance - itself)[reads].mean(0).cpu()
    return Attribution(trace, "attention × gradient", metric, values, answer, notes, signed=False)


def _check_slope(trace: Trace, metric: Metric | Read) -> None:
    if is_flat(metric, trace):
        raise InputError(
            f"{metric.name} begins at its extreme, where every slope is 0: use occlusion, or another metric"
        )


def _at(trace: Trace, read: Read, words: Tensor | None, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """(B,), (B, S, E), (B, S, E): the metric, the word embeddings, its gradient there."""
    inputs = trace.inputs(rows)

    def each(output: Any) -> Tensor:
        return torch.stack([read(row_of(output, row)) for row in range(rows)])

    return word_gradients(trace.borrowed, inputs, each, trace.changes, words)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a.double() * b.double()).sum(-1).cpu()


@torch.no_grad()
def _ends(trace: Trace, baseline: str) -> tuple[Tensor, Tensor, str]:
    """(S, E) the text's word embeddings, (S, E) the baseline's, and its name."""
    embedding, tokenizer = trace.borrowed.embedding, trace.borrowed.tokenizer
    words: Tensor = embedding(trace.input_ids)
    number = None if baseline == "zero" else getattr(tokenizer, f"{baseline}_token_id", None)
    if number is None and baseline != "zero":
        raise ModelError(f"the tokenizer of {trace.model_name} has no {baseline} token: use baseline='zero'")
    start = torch.zeros_like(words) if number is None else embedding(trace.input_ids.new_full((len(words),), number))
    stays = trace.special_mask.clone()
    if (mask := getattr(tokenizer, "mask_token_id", None)) is not None:
        stays |= trace.input_ids == mask
    named = "zero" if number is None else str(tokenizer.convert_ids_to_tokens(number))
    return words, torch.where(stays[:, None], words, start), named


def _integral(trace: Trace, read: Read, start: Tensor, words: Tensor, steps: int, tick: Callable[[int], Any]) -> Tensor:
    """(S,) the path integral by a Gauss-Legendre rule."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    at = torch.from_numpy((points + 1) / 2).to(words.device)
    share = torch.from_numpy(weights / 2).to(words.device)
    way = words.double() - start.double()
    summed = torch.zeros_like(way)
    size = max(1, TOKENS // trace.n_tokens)
    for point in range(0, steps, size):
        batch = slice(point, point + size)
        path = start.double() + at[batch, None, None] * way
        _, _, gradient = _at(trace, read, path, len(path))
        summed += torch.tensordot(share[batch], gradient.double(), dims=1)
        tick(len(path))
    return _dot(summed, way)
