"""What can be changed in a run: each a frozen value, for Trace.rerun.

Layers, heads, tokens and neurons count from 0. Index and shape are checked when a trace is run again, where a wrong one
is one sentence. On one head, what the changes are made to follows the computation: queries and keys (`neuron`), scores
(`cut`, `hide`, `dim`), weights (`pattern`, then `cut(renormalize=False)`), context (`off`, `scale`, `mean`,
`resample`, `patch(what="attention")`, in the order given).
"""

from __future__ import annotations

from typing import Any

from ..run.changes import Change, Cut, Dim, Hide, Mean, Mlp, Neuron, Off, Patch, Pattern, Resample, Scale
from ..trace.trace import Trace


def off(layer: int, head: int | None = None) -> Change:
    """A head's context (of every head of the layer without `head`) is 0 before W_O: b_V goes with it, b_O stays.

    Scores and attention stay what the head computed. What heads of later layers see is changed by it. This is the
    pruning of Michel et al. 2019, eq. 1 with ξ = 0.
    """
    return Off(layer, head)


def scale(layer: int, head: int | None, factor: float) -> Change:
    """A head's context (of every head of the layer where `head` is None) times `factor` ≥ 0 before W_O; b_O stays.

    How loud a head is: 0 equals `off`, 1 the run as it is, bit for bit; above 1 is louder than the model lets it be.
    Scores and attention stay what the head computed. Between 0 and 1 it is the gate ξ of Michel et al. 2019, eq. 1.
    Several of one head multiply. Raises InputError in a run for a factor that is no finite number from 0 upwards.
    """
    return Scale(layer, head, factor)


def mean(layer: int, head: int) -> Change:
    """A head's context at every token is its mean over all S tokens of this text, special ones included.

    The mean is of what the changed pass computes. Scores and attention stay what the head computed.
    """
    return Mean(layer, head)


def resample(layer: int, head: int, other_trace: Trace) -> Change:
    """A head's context is that of another run, token by token: the texts must have equally many tokens.

    Scores and attention stay what the head computed.
    """
    return Resample(layer, head, other_trace, _label(other_trace))


def pattern(layer: int, head: int, alpha: Any) -> Change:
    """A head's attention weights are replaced, its values kept.

    alpha: (S, S) [query, key], rows that sum to 1 or less; or "uniform", evenly over the keys that a query can see.
    The trace's `attention` is as given, its `scores` of this layer raise ModelError. A `cut` or `hide` on top takes
    weights away and makes the rest of the row as much larger, a `dim` does so in part.
    """
    return Pattern(layer, head, alpha)


def cut(
    layer: int, head: int | None = None, query: int | None = None, key: int | None = None, renormalize: bool = True
) -> Change:
    """A query does not look at a key; None is all of them.

    renormalize: the score is −inf before the softmax, so that the others share the weight (Geva et al. 2023,
    arXiv:2304.14767); a query that is left without keys is refused. Otherwise α is 0 after the softmax and the row sums
    to less than 1; over all heads that is Value Zeroing of one pair (Mohebbi et al. 2023).
    """
    return Cut(layer, head, query, key, renormalize)


def hide(token: int) -> Change:
    """No head of any layer sees the token, not even from the token itself: its scores are −inf. Its stream goes on."""
    return Hide(token)


def dim(token: int, factor: float) -> Change:
    """The scores of a key + ln `factor` in every head of every layer, also from the token itself: e^score is multiplied
    by `factor` ≥ 0 before the softmax shares it out.

    0 equals `hide`, 1 the run as it is, bit for bit; above 1 the token is looked at more. Its stream goes on. Several
    of one token multiply. Raises InputError in a run for a factor that is no finite number from 0 upwards.
    """
    return Dim(token, factor)


def neuron(layer: int, head: int, n: int) -> Change:
    """Number n of a head's queries and keys is 0 at every token, after rotary positions: q_n k_n leaves every score.

    Where heads share their keys, this head alone gets the changed ones.
    """
    return Neuron(layer, head, n)


def mlp(layer: int, neuron: int | None = None) -> Change:
    """The output of a layer's MLP is 0 with its bias, the residual is kept; or one neuron's activation is 0.

    Needs a family with an adapter.
    """
    return Mlp(layer, neuron)


def patch(layer: int, token: int, other_trace: Trace, other_token: int | None = None, what: str = "layer") -> Change:
    """At one token, something is as another run of the model had it at `other_token` (None: the same index).

    what: "layer" the layer's output; "attention" what its attention adds to the stream (the context of all heads at
    that token, through W_O); "mlp" what its MLP adds. The residual of "attention" and "mlp" stays this run's.
    Without `other_token` both texts must have the same token at that index. "layer" and "mlp" need an adapter.
    """
    return Patch(layer, token, other_trace, _label(other_trace), other_token, what)


def _label(other: Any) -> str:
    text = (other.text or other.model_name) if isinstance(other, Trace) else ""
    return text if len(text) <= 24 else f"{text[:23]}…"
