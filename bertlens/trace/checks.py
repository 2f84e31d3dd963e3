"""Whether a trace can be run again, and whether what its heads do can be changed."""

from __future__ import annotations

from ..errors import ModelError
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
