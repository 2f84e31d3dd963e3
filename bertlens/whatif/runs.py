"""A text through its model once more, with changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from ..errors import InputError, ModelError
from ..run.attention import check_precision
from ..run.changes import Change, Patch, check_changeable, check_rerun
from ..run.forward import output_of, run
from ..run.interventions import Run
from ..run.trust import why_eager
from ..text.encoding import batch_inputs
from ..trace.trace import Trace


def rerun(trace: Trace, *changes: Change) -> Trace:
    """See Trace.rerun."""
    check(trace, changes)
    model = trace.model
    assert model is not None
    every = (*trace.changes, *map(_resolved, changes))
    inputs = inputs_of(trace)
    eagerly = "" if trace.has_neurons else why_eager(model, inputs, getattr(trace.lens, "limit", None))
    record = run(model, inputs, eagerly, every)
    return Trace(
        trace.encoding,
        trace.model_name,
        model,
        trace.lens,
        trace.fingerprint,
        changes=every,
        _original=trace.original,
        _pass=record.text(0, trace.n_tokens),
    )


def check(trace: Trace, changes: Sequence[Any]) -> None:
    """Raises the error that running a trace again with these changes would raise, but for what only the pass knows."""
    check_rerun(trace)
    check_precision(trace.special_mask.device)
    for change in changes:
        if not isinstance(change, Change):
            raise InputError(
                f"rerun takes changes of bertlens.whatif, such as whatif.off(0, 1), not {type(change).__name__}"
            )
        if change.needs_attention:
            check_changeable(trace)
        change.check(trace)


def inputs_of(trace: Trace, copies: int = 1) -> dict[str, Tensor]:
    """The model's inputs for a trace's text, so many times."""
    return batch_inputs([trace.encoding] * copies, 0, trace.special_mask.device)


def _resolved(change: Change) -> Change:
    """A patch of an MLP with the vector that the other run's MLP made, which no trace holds: one more pass."""
    if not isinstance(change, Patch) or change.what != "mlp" or change.made is not None:
        return change
    other = change.other
    other.check_unchanged()
    kept = Run([other.changes], keep=frozenset([change.layer]))
    assert other.model is not None
    output_of(other.model, inputs_of(other), kept)
    made = kept.kept[change.layer]
    if made.shape[1] != other.n_tokens:
        raise ModelError("the model runs its MLPs on parts of a text: patch(what='mlp') cannot be made")
    return replace(change, made=made[0, change.source])
