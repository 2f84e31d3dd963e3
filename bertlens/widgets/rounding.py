"""Queries and keys of a long text in a saved page: multiples of a step, so that a layer of it fits.

Their weights stay within 1e-5 + 1e-5 · α of the model's, as all that is computed again has to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from ..base.limits import within
from ..trace.trace import Trace
from .answers import head_answers
from .answers.head_answers import HeadArrays, HeadFields
from .answers.term_arrays import term_arrays

STEP = 2.0**-16  # at most: a number is then 8e-6 off
# A score is off by scaling · step/√12 · √(‖q‖² + ‖k‖²) in the mean square, a weight by at most α(1 − α) of the
# difference of two such; five times that stays within the tolerance while step · scaling · √(…) is at most this. What q
# or k is multiplied with beside, vectors of distances, stands below the root too.
MOST = 3e-5


def saved_head(trace: Trace, layer: int, head: int) -> tuple[HeadFields, HeadArrays]:
    """A head as a page without a kernel holds it: of a long text q and k are rounded, and lse is theirs."""
    fields, arrays = head_answers.head(trace, layer, head)
    if "q" not in arrays or within("exact", trace.n_tokens):
        return fields, arrays
    return fields, arrays | rounded(trace, layer, head)


def rounded(trace: Trace, layer: int, head: int) -> dict[str, Tensor]:
    """A head's q and k (S, d), rounded, and the lse (S,) of the rounded ones; nothing where float32 is as coarse."""
    q, k, scaling = trace.query(layer)[head].float(), trace.key(layer)[head].float(), float(trace.scaling(layer))
    terms, numbers = term_arrays(trace.record.layers[layer], head)
    of_content = [n for n, term in enumerate(terms.get("terms", ())) if term["of"] in ("query", "key")]
    step = step_for(q, k, scaling, [numbers[f"term{n}"] for n in of_content])
    if step is None:
        return {}
    q, k = ((x / step).round() * step + 0.0 for x in (q, k))  # + 0.0: no −0
    return {"q": q, "k": k, "lse": trace.log_sum_exp(layer, head, (q, k))}


def step_for(q: Tensor, k: Tensor, scaling: float, scaled: Sequence[Tensor] = ()) -> float | None:
    """A power of 2 of which they can be multiples; None where that is no shorter, or not all of them are numbers.

    scaled: other vectors that they are multiplied with, scaled already.
    """
    norms = [float(x.norm(dim=-1).max()) * abs(scaling) for x in (q, k)]
    norm = math.hypot(*norms, *(float(x.norm(dim=-1).max()) for x in scaled))
    largest = max(float(x.abs().max()) for x in (q, k))
    if not math.isfinite(norm) or not largest:
        return None
    step = min(STEP, 2.0 ** math.floor(math.log2(MOST / norm))) if norm else STEP
    return step if largest / step < 1 << 23 else None  # 24 bits with the sign, as deflate.py has them


def said(trace: Trace) -> str:
    """What a page says of it, "" where nothing is rounded."""
    if not trace.has_neurons or within("exact", trace.n_tokens):
        return ""
    return " · q and k in steps of 2⁻¹⁶ or less: weights within .00002 of the model's"
