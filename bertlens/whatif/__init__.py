"""What if it did not? Changes of a run, and the run with them: `trace.rerun(whatif.off(3, 5))` is a Trace.

A changed trace shows what the change does in this one text. That a head matters here says nothing of other texts, and
that switching it off changes little does not say that it does nothing: later heads may take over (self-repair).
"""

from __future__ import annotations

from .changes import cut, hide, mean, mlp, neuron, off, patch, pattern, resample
from .rerun import rerun

__all__ = ["cut", "hide", "mean", "mlp", "neuron", "off", "patch", "pattern", "rerun", "resample"]
