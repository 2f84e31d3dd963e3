"""What if it did not? Changes of a run, and the run with them: `trace.rerun(whatif.off(3, 5))` is a Trace.

A changed trace shows what the change does in this one text. That a head matters here says nothing of other texts, and
that switching it off changes little does not say that it does nothing: later heads may take over (self-repair,
Rushing and Nanda 2024, arXiv:2402.15390).
"""

from __future__ import annotations

from ..measures.metrics import Metric, difference, divergence, label, logit, probability, similarity
from .before_after import Answer, Answers, answers
from .change_kinds import cut, dim, hide, mean, mlp, neuron, off, patch, pattern, resample, scale
from .head_study import HeadSite as HeadSite  # for rooms, as those below
from .head_study import by_estimate as by_estimate
from .head_study import cost_said as cost_said
from .head_study import duration as duration
from .head_study import head_sites as head_sites
from .head_study import passes as passes
from .head_study import passes_of_some as passes_of_some
from .head_study import run_said as run_said
from .heads_moved import moved
from .reruns import check as check
from .reruns import rerun
from .sweeps import estimate, steps, sweep

__all__ = [
    "Answer",
    "Answers",
    "Metric",
    "answers",
    "cut",
    "difference",
    "dim",
    "divergence",
    "estimate",
    "hide",
    "label",
    "logit",
    "mean",
    "mlp",
    "moved",
    "neuron",
    "off",
    "patch",
    "pattern",
    "probability",
    "rerun",
    "resample",
    "scale",
    "similarity",
    "steps",
    "sweep",
]
