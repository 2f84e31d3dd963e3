"""Whether a trace can be run again, whether what its heads do can be changed, and whether its run has NaN or Inf."""

from __future__ import annotations

from ..errors import BertLensError, ModelError
from .trace import Trace


def check_rerun(trace: Trace, whole: bool = False) -> None:
    """Raises ModelError where a trace cannot be run again: no model, or other weights than it was made with.

    whole: as of `Model.change`.
    """
    if trace.model is None:
        raise ModelError("this trace was made from attention weights, which no model runs: trace a text with a Lens")
    trace.check_unchanged(whole=whole)


def check_changeable(trace: Trace) -> None:
    """Raises ModelError where what heads do cannot be changed."""
    check_rerun(trace)
    if not trace.has_neurons:
        raise ModelError(
            f"{trace.why_no_neurons} What its heads do cannot be changed: change the text and trace it again."
        )


def check_finite(trace: Trace, nothing: str = "they have no parts", error: type[BertLensError] = ModelError) -> None:
    """Raises the error, which ends in `nothing`, where the run has NaN or Inf: one look at it, whoever asks."""
    if trace.nan_layer is not None:
        raise error(f"the model computed NaN or Inf, from layer {trace.nan_layer} on: {nothing}")
