"""What every attribution gives: a number for each token, what it is of, and what the numbers should sum to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...base.dataframes import pd
from ...base.registered import registered
from ...errors import ModelError
from ...run.attention_weights import check_precision
from ...trace.trace import Trace
from ..metrics import Metric, Read, bound
from ..words import merge_keys, units


@dataclass(frozen=True, eq=False, repr=False)
class Attribution:
    """How much each token counts for one number of the model's answer. S tokens; values in the metric's own unit.

    Above 0: the token raises the number; for attention × gradient, which is never below 0, how much flows from it.
    """

    trace: Trace
    method: str  # its name
    metric: Metric | Read
    values: Tensor  # (S,) float64 on the CPU; NaN for tokens that the method never removes
    model: float  # the number itself, as the model gives it in this run
    notes: tuple[str, ...]  # sentences on how it was computed
    baseline: float | None = None  # the number at the other end of the path: the values sum to the difference
    bias: float | None = None  # what belongs to no token: the values and this sum to the number
    steps: int | None = None  # points of the path
    signed: bool = True  # False where the method gives how much flows, never below 0

    @property
    def name(self) -> str:
        """What the numbers are of."""
        return str(self.metric) if isinstance(self.metric, Metric) else "a function of the output"

    @property
    def total(self) -> float:
        """The sum of the values, without NaN, and of the bias where there is one."""
        return float(self.values.nansum()) + (self.bias or 0.0)

    @property
    def expected(self) -> float | None:
        """What `total` should be: F(x) − F(baseline), or F(x) where a bias is told; None where nothing is promised."""
        if self.baseline is not None:
            return self.model - self.baseline
        return None if self.bias is None else self.model

    @property
    def gap(self) -> float | None:
        """total − expected: how far from complete; None where nothing is promised."""
        return None if self.expected is None else self.total - self.expected

    @property
    def table(self) -> pd.DataFrame:
        """DataFrame(position, token, value), one row per token."""
        tokens = self.trace.display_tokens
        return pd.DataFrame({"position": range(len(tokens)), "token": tokens, "value": self.values.numpy()})

    @property
    def words(self) -> pd.DataFrame:
        """DataFrame(word, value): the pieces of a word summed, a template token as a word of its own.

        NaN where the method never removes any of the word's pieces.
        """
        counts = merge_keys(self.trace, (~self.values.isnan()).double())  # how many pieces have a value
        summed = merge_keys(self.trace, self.values.nan_to_num()).masked_fill(counts == 0, torch.nan)
        names = [" ".join(self.trace.display_tokens[i] for i in pieces) for pieces in units(self.trace)]
        return pd.DataFrame({"word": names, "value": summed.numpy()})

    @cached_property
    def said(self) -> str:
        """The method, its number, and how complete it is, in one line."""
        summary = f"{self.method} of {self.name}: sum {self.total:.4f}"
        if self.expected is None or self.gap is None:
            return f"{summary}; the number is {self.model:.4f}, which this sum need not be"
        what = "model" if self.baseline is None else "F(text) − F(baseline)"
        share = f" ({abs(self.gap / self.expected):.1%})" if self.expected else ""
        steps = f", {self.steps} steps" if self.steps else ""
        return f"{summary}, {what} {self.expected:.4f}, gap {self.gap:.0e}{share}{steps}"

    def _repr_html_(self) -> str:
        """Its tokens as text, coloured by their values, in a notebook."""
        return str(registered("token_strip")(self))

    def __repr__(self) -> str:
        return f"Attribution({self.said}; {' '.join(self.notes)})"


def reader(trace: Trace, metric: Metric | Read) -> tuple[Read, float]:
    """The metric as a function of outputs, and what it is in this run.

    Raises ModelError without values, or a model, and where the weights have changed; InputError under
    autocast; else like `bound`.
    """
    readout = bound(metric, trace)
    check_precision(trace.device)
    if not trace.has_values:
        raise ModelError(trace.why_no_neurons)
    trace.check_unchanged()
    with torch.no_grad():
        return readout, float(readout(trace.record.output))
