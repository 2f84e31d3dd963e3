"""Whether a trace can be run again, whether what its heads do can be changed, and whether its run has NaN or Inf."""

from __future__ import annotations

from ..base.quotes import quotation
from ..errors import BertLensError, ModelError
from ..run.changes import Change, Hide
from ..run.forward import output_of
from ..run.interventions import Run
from .trace import Trace


def check_rerun(trace: Trace, whole: bool = False) -> None:
    """Raises ModelError where a trace cannot be run again: no model, or other weights than it was made with.

    whole: as of `Model.change`.
    """
    if trace.model is None:
        raise ModelError("this trace was made from attention weights, which no model runs: trace a text with a Lens")
    trace.check_unchanged(whole=whole)


def check_changeable(trace: Trace, *changes: Change) -> None:
    """Raises ModelError where what heads do cannot be changed, or not so."""
    check_rerun(trace)
    if not trace.has_values:
        raise ModelError(
            f"{trace.why_no_neurons} What its heads do cannot be changed: change the text and trace it again."
        )
    if not trace.has_neurons and (refused := next((c for c in changes if c.needs_scores), None)):
        raise ModelError(f"{trace.why_no_neurons} {quotation(refused)} is about them: change contexts instead.")


def check_hiding(trace: Trace) -> None:
    """Raises ModelError where no token can be hidden from heads: by one run, where a user's attention function may not
    heed a mask."""
    check_changeable(trace)
    if trace.has_neurons or trace.n_tokens == 1:
        return
    if reason := trace.kept("hiding", lambda: _why_not_hidden(trace)):
        raise ModelError(reason)


def _why_not_hidden(trace: Trace) -> str:
    try:
        output_of(trace.borrowed, trace.inputs(), Run([[Hide(trace.n_tokens - 1)]]))
    except ModelError as error:
        return str(error)
    return ""


def check_finite(trace: Trace, nothing: str = "they have no parts", error: type[BertLensError] = ModelError) -> None:
    """Raises the error, which ends in `nothing`, where the run has NaN or Inf: one look at it, whoever asks."""
    if trace.nan_layer is not None:
        raise error(f"the model computed NaN or Inf, from layer {trace.nan_layer} on: {nothing}")
