"""The same change at every head, layer, token or cell, one after the other: how much each matters to one number.

Exact, but for `estimate`: every change is run. Changes of one layer share a batch, and the layers before it, which
cannot differ, are not computed again. A head's number says what this text loses without it while all others stay: heads
that stand in for each other may both have small ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..errors import BertLensError, InputError, SelectionError, check_index, check_indices, check_name
from ..measures.gradients import gradients
from ..measures.metrics import Metric, Read, bound, is_flat, row_of
from ..measures.rows import visible
from ..run.changes import Change, Cut, Hide, Off, base
from ..run.forward import output_of
from ..run.interventions import Run
from ..trace.trace import Trace
from .reruns import check

KINDS = ("heads", "layers", "tokens", "cells")
FINE = 1e-5  # types that round to more cannot tell a rounding from a difference
ROUNDINGS = 100
TOKENS_AT_ONCE = 768  # of a batch: so many rows times the text's length, at most
Index = tuple[int, ...]
T = TypeVar("T")


def sweep(
    trace: Trace,
    metric: Metric | Read,
    changes: str = "heads",
    *,
    layer: int | None = None,
    head: int | None = None,
    progress: bool = True,
) -> Tensor:
    """How the metric changes when each part alone is changed: metric with the change − metric without, float64.

    changes: "heads" (L, H) each head off; "layers" (L,) all heads of a layer off; "tokens" (S,) each token hidden from
    all; "cells" (S, S) [query, key] each weight of one head (`layer`, `head`) cut, the row renormalised. Below 0: the
    metric falls without the part; above 0: it rises, so the part works against it. NaN where a change would leave a
    token without keys; a cell that the query cannot see changes nothing. On a changed trace, on top of its changes;
    what is among them is compared with the run without it.
    Raises InputError and ModelError like `Trace.rerun`, for a metric that the model cannot give, SelectionError for
    another `changes`, or a layer and head that do not exist or are missing.
    """
    shape = _shape(trace, changes, layer, head)
    effects = torch.full(shape, torch.nan, dtype=torch.float64, device="cpu")
    total = len(planned(trace, changes, layer, head))
    from ..base.progress import Progress

    with Progress(total=total, desc=f"changes of {changes}", delay=2, leave=False, disable=not progress) as bar:
        for batch in steps(trace, metric, changes, layer=layer, head=head):
            for index, effect in batch:
                effects[index] = effect
            bar.update(len(batch))
    if changes == "cells":
        assert layer is not None and head is not None
        effects[~_visible(trace, layer)[head]] = 0
    return effects


def estimate(trace: Trace, metric: Metric | Read) -> Tensor:
    """(L, H) −Σ_i g_i · ctx_i: the first-order estimate of `sweep(trace, metric)`, float64; g = d metric / d context.

    With a gate ξ on a head's context the metric's slope at ξ = 1 is Σ_i g_i · ctx_i, and off is ξ = 0 (Michel et al.
    2019, eq. 2, with its sign). It is the exact change where the metric is linear in ξ, and can be far from it where a
    later softmax or LayerNorm saturates: an estimate, to be told apart from a run. NaN for a head that is off: there is
    no slope where it is not.
    Raises InputError for a metric that begins at its extreme, where all slopes are 0; ModelError like `gradients`.
    """
    return slopes(trace, metric).sum(2)


def slopes(trace: Trace, metric: Metric | Read) -> Tensor:
    """(L, H, S) −g_i · ctx_i, float64: what each token's own row of a head makes of `estimate`. Raises as that."""
    check(trace, ())
    if is_flat(metric, trace):
        raise InputError(
            f"{metric.name} begins at its extreme, where every slope is 0: run whatif.sweep, or estimate another metric"
        )
    contexts = gradients(trace, loss=bound(metric, trace)).contexts
    rows = [-(g * trace.head_context(layer)).sum(2) for layer, g in enumerate(contexts)]
    estimated = torch.stack(rows).double().cpu()
    for layer in range(trace.n_layers):
        for head, factor in trace.changed_contexts(layer).items():
            if factor == 0:
                estimated[layer, head] = torch.nan
    return estimated


def steps(
    trace: Trace,
    metric: Metric | Read,
    changes: str = "heads",
    *,
    layer: int | None = None,
    head: int | None = None,
    layers: Iterable[int] | None = None,
    heads: Iterable[Index] | None = None,
    bases: Bases | None = None,
    row: int | None = None,
) -> Iterator[list[tuple[Index, float]]]:
    """`sweep`, batch by batch as it comes in: (index in its result, change of the metric).

    changes, layer, head: as there. layers: of heads and layers, only these; heads: of heads, only these (layer, head).
    bases, row: as of `outputs`. Raises like `sweep`.
    """
    _shape(trace, changes, layer, head)
    planned_changes = planned(trace, changes, layer, head, layers, heads)
    check(trace, [change for _, change in planned_changes] or [Hide(0)])
    reader = bound(metric, trace)
    for output_before, batch in outputs(trace, planned_changes, bases, reader, row):
        baseline = float(reader(output_before))
        if batch:
            yield [(index, float(reader(output)) - baseline) for index, output in batch]


Bases = dict[tuple[Change, ...], "BaseRun"]
Batch = tuple[Any, list[tuple[Index, Any]]]


def outputs(
    trace: Trace,
    changes: Sequence[tuple[Index, Change]],
    bases: Bases | None = None,
    reader: Read | None = None,
    row: int | None = None,
) -> Iterator[Batch]:
    """(the output that they are compared with, [(index, the output with one change more)]), batch by batch.

    First the run as it is, with no changes; then each change alone on top of it, or of the run without what covers the
    change (`changes.base`). Changes of one layer that stand together share batches, which begin at that layer. They
    were checked (`reruns.check`). bases: where the runs without them are kept for the next call. reader: of the outputs
    this number alone is read, and maybe of the token `row` alone: where that is so in the run without changes, the last
    layer is computed of that token.
    """
    groups: dict[tuple[Change, ...], list[tuple[Index, Change]]] = {trace.changes: []}
    for index, change in changes:
        groups.setdefault(base(trace.changes, change), []).append((index, change))
    for earlier, group in groups.items():
        if bases is None or earlier not in bases:
            baseline = BaseRun.of(trace, earlier)
            if group and reader is not None and row is not None:
                baseline = baseline.narrowed(trace, reader, row)
            if group and bases is not None:
                bases[earlier] = baseline
        else:
            baseline = bases[earlier]
        yield from _on_top(trace, baseline, group)


def _on_top(trace: Trace, baseline: BaseRun, changes: Sequence[tuple[Index, Change]]) -> Iterator[Batch]:
    yield baseline.output, []
    for _, group in groupby(changes, key=lambda planned: planned[1].first_layer):
        layer_changes = list(group)
        for batch in batches(trace, layer_changes):
            outputs = baseline.outputs(trace, [[change] for _, change in batch])
            yield baseline.output, [(index, output) for (index, _), output in zip(batch, outputs, strict=True)]


def work(trace: Trace, runs: float) -> float:
    """Multiplications of so many runs, about."""
    width = (trace.head_dim or 0) * trace.n_heads
    return runs * trace.n_tokens * trace.n_layers * 12 * width**2


def batches(trace: Trace, runs: Sequence[T], most: float = math.inf) -> list[Sequence[T]]:
    """So many at a time as a batch of this text has rows, with `work` up to `most`: one at least."""
    size = max(1, TOKENS_AT_ONCE // trace.n_tokens)
    while size > 1 and work(trace, size) > most:
        size -= 1
    return [runs[at : at + size] for at in range(0, len(runs), size)]


@dataclass(frozen=True, eq=False)
class BaseRun:
    """A run that others are compared with, with the states of its layers: what a later change cannot differ in.

    row: the token that alone is computed in the last layer of those, None for all.
    """

    changes: tuple[Change, ...]
    output: Any
    run: Run
    row: int | None = None

    @classmethod
    def of(cls, trace: Trace, changes: tuple[Change, ...]) -> BaseRun:
        """The text once more, with these changes in place of those of the trace."""
        model = trace.borrowed
        run = Run([changes], watch=model.adapter is not None)
        return cls(changes, output_of(model, trace.inputs(), run), run)

    def narrowed(self, trace: Trace, reader: Read, row: int) -> BaseRun:
        """The same, with the last layer of one token, where the output that is read is then the same: it is tried."""
        run = self.run.branch([self.changes], trace.n_layers - 1, row)
        try:
            output = output_of(trace.borrowed, trace.inputs(), run)
            pairs = [(reader(self.output), reader(output)), *_read_at(self.output, output, row)]
        except (BertLensError, RuntimeError, LookupError):
            return self
        eps = torch.finfo(self.output.hidden_states[-1].dtype).eps
        return replace(self, row=row) if eps < FINE and all(_is_alike(*pair, eps) for pair in pairs) else self

    def outputs(self, trace: Trace, sets: Sequence[Sequence[Change]]) -> list[Any]:
        """The outputs with each set of changes on top, all of which begin at the same layer: rows of one batch."""
        rows = [(*self.changes, *changes) for changes in sets]
        run = self.run.branch(rows, min(change.first_layer for change in sets[0]), self.row)
        output = output_of(trace.borrowed, trace.inputs(len(rows)), run)
        return [row_of(output, row) for row in range(len(rows))]


def _read_at(output: Any, other: Any, row: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Of two outputs what there is at a token, and of the whole text."""
    for name, entry in output.items():
        if isinstance(entry, Tensor):
            yield (entry[:, row], other[name][:, row]) if entry.ndim == 3 else (entry, other[name])


def _is_alike(a: Tensor, b: Tensor, eps: float) -> bool:
    """Whether numbers are the same within rounding."""
    return a.shape == b.shape and bool((a - b).abs().max() <= ROUNDINGS * eps * max(1.0, float(a.abs().max())))


def planned(
    trace: Trace,
    changes: str,
    layer: int | None = None,
    head: int | None = None,
    layers: Iterable[int] | None = None,
    heads: Iterable[Index] | None = None,
) -> list[tuple[Index, Change]]:
    """(index in the result, change) of a sweep, layer by layer; layers, heads: as of `steps`."""
    numbers = range(trace.n_layers) if layers is None else sorted({*check_indices(layers, trace.n_layers, "layers")})
    if changes == "heads":
        planned_heads = product(numbers, range(trace.n_heads)) if heads is None else sorted({*heads})
        return [((n, h), Off(n, h)) for n, h in planned_heads]
    if changes == "layers":
        return [((n,), Off(n)) for n in numbers]
    if changes == "tokens":
        lone = torch.zeros(trace.n_tokens, dtype=torch.bool, device="cpu")
        for number in range(trace.n_layers):
            mask = _visible(trace, number)
            lone |= mask[mask.sum(-1) == 1].any(0)
        return [((t,), Hide(t)) for t in range(trace.n_tokens) if not lone[t]]
    assert layer is not None and head is not None
    mask = _visible(trace, layer)[head]
    several = mask & (mask.sum(-1, keepdim=True) > 1)
    return [((i, j), Cut(layer, head, i, j)) for i, j in several.nonzero().tolist()]


def _shape(trace: Trace, changes: str, layer: int | None, head: int | None) -> tuple[int, ...]:
    check_name(changes, KINDS, "sweep over")
    if trace.model is None or not trace.has_neurons:
        check(trace, [Hide(0)])  # says why not
    if changes == "cells":
        if layer is None or head is None:
            raise SelectionError("cells are of one head: pass layer= and head=")
        check_index(layer, trace.n_layers, "layer")
        check_index(head, trace.n_heads, "head")
        return trace.n_tokens, trace.n_tokens
    if layer is not None or head is not None:
        raise SelectionError(f"a sweep over {changes} is of the whole model: layer= and head= are for cells")
    sizes = {"heads": (trace.n_layers, trace.n_heads), "layers": (trace.n_layers,), "tokens": (trace.n_tokens,)}
    return sizes[changes]


def _visible(trace: Trace, layer: int) -> Tensor:
    """(H, S, S) bool, on the CPU."""
    return visible(trace, layer).cpu().expand(trace.n_heads, -1, -1)
