"""A text through its model once more, with changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from ..base.quotes import isolate
from ..base.vocabulary import phrases
from ..errors import InputError, ModelError, SelectionError, check_index, excerpt
from ..run.attention_weights import check_precision
from ..run.changes import PARTS, Change, Dim, Mlp, Patch, Pattern, Resample, Scale
from ..run.forward import output_of, run
from ..run.interventions import Run
from ..run.own_run import why_eager
from ..text.given_maps import not_weights
from ..trace.checks import check_changeable, check_rerun
from ..trace.trace import Trace


def rerun(trace: Trace, *changes: Change) -> Trace:
    """The run with these changes, in their order. Raises like `Trace.rerun`."""
    check(trace, changes, whole=True)
    model = trace.borrowed
    run_changes = (*trace.changes, *map(_with_vectors, changes))
    inputs = trace.inputs()
    eagerly = "" if trace.has_values else why_eager(model, inputs, getattr(trace.lens, "limit", None))
    record = run(model, inputs, eagerly, run_changes)
    return Trace(
        trace.encoding,
        trace.model_name,
        model,
        trace.lens,
        trace.fingerprint,
        changes=run_changes,
        _original=trace.original,
        record=record.text(0, trace.n_tokens),
    )


def check(trace: Trace, changes: Sequence[Any], whole: bool = False) -> None:
    """Raises the error that running a trace again with these changes would raise, but for what only the pass knows.

    whole: as of `check_rerun`.
    """
    check_rerun(trace, whole)
    check_precision(trace.device)
    for change in changes:
        if not isinstance(change, Change):
            raise InputError(
                f"rerun takes changes of bertlens.whatif, such as whatif.off(0, 1), not {type(change).__name__}"
            )
    if attention_changes := [change for change in changes if change.needs_attention]:
        check_changeable(trace, *attention_changes)
    for change in changes:
        _check_indices(trace, change)
        if type(change) in _CHECKS:
            _CHECKS[type(change)](trace, change)


def _check_indices(trace: Trace, change: Change) -> None:
    tokens = trace.n_tokens
    sizes = {"layer": trace.n_layers, "head": trace.n_heads, "query": tokens, "key": tokens, "token": tokens}
    sizes |= {"n": trace.head_dim or 0, "neuron": 2**62}  # of an MLP's size the pass knows: see interventions.py
    for field in fields(change):
        index = getattr(change, field.name)
        if field.name in sizes and (index is not None or field.default is not None):
            check_index(index, sizes[field.name], "neuron" if field.name == "n" else field.name)


def _check_factor(trace: Trace, change: Scale | Dim) -> None:
    largest = torch.finfo(getattr(torch, trace.dtype)).max
    if not isinstance(change.factor, float) or not 0 <= change.factor <= largest:
        raise InputError(phrases.NO_FACTOR.format(factor=excerpt(change.factor)))


def _check_pattern(trace: Trace, change: Pattern) -> None:
    size = trace.n_tokens
    takes = f"pattern takes weights ({size}, {size}) or 'uniform', not"
    if change.uniform:
        if change.alpha != "uniform":
            raise InputError(f"{takes} {change.alpha!r}")
        return
    try:
        weights = change.weights
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{takes} {type(change.alpha).__name__}") from error
    if weights.shape != (size, size):
        raise InputError(f"{takes} {tuple(weights.shape)}")
    if not weights.isfinite().all():
        raise InputError("pattern takes attention weights, [query, key]: there is NaN or Inf among these")
    if problem := not_weights(weights[None, None].double(), sink=True):
        raise InputError(f"pattern takes attention weights, [query, key]: {problem}")


def _check_resample(trace: Trace, change: Resample) -> None:
    donor = _checked_other(change.other, trace, "resample")
    if donor.n_tokens != trace.n_tokens:
        raise InputError(
            f"resample needs texts of one length, not {trace.n_tokens} and {donor.n_tokens} tokens: "
            "use patch(..., what='attention') for single tokens"
        )


def _check_patch(trace: Trace, change: Patch) -> None:
    if change.what not in PARTS:
        raise SelectionError(f"no part {change.what!r} to patch: there are {', '.join(PARTS)}")
    donor = _checked_other(change.other, trace, "patch", context=change.what != "layer")
    if change.other_token is None:
        token = trace.tokens[change.token]
        donor_token = donor.tokens[change.token] if change.token < donor.n_tokens else None
        if token != donor_token:
            names = [isolate(repr(one) if one else "no such token") for one in (token, donor_token)]
            raise InputError(
                f"token {change.token} is {names[0]} here and {names[1]} in the other text: pass other_token="
            )
    check_index(change.source, donor.n_tokens, "other_token")
    for text in (trace, donor):
        if change.what == "layer":
            text.layer_output(change.layer)  # says why there is none
        elif change.what == "mlp":
            _check_mlp(text, change.layer, "patch(what='mlp')")


_CHECKS: dict[type[Change], Callable[[Trace, Any], None]] = {
    Scale: _check_factor,
    Dim: _check_factor,
    Pattern: _check_pattern,
    Resample: _check_resample,
    Patch: _check_patch,
    Mlp: lambda trace, change: _check_mlp(trace, change.layer, "mlp"),
}


def _checked_other(other: Any, trace: Trace, name: str, context: bool = True) -> Trace:
    if not isinstance(other, Trace):
        raise InputError(
            f"{name} takes from another trace, not from {type(other).__name__}: trace the other text first"
        )
    if context:
        other.context(0)  # says why there is none
    shape, donor_shape = (
        [t.n_layers, t.n_heads, t.hidden_state(0).shape[1], *(t.context(0).shape[1:] if context else ())]
        for t in (trace, other)
    )
    if shape != donor_shape:
        raise InputError(f"{name} takes from a model of the same shape: trace the other text with this lens")
    return other


def _check_mlp(trace: Trace, layer: int, name: str) -> None:
    _, module = trace.layer_module(layer)
    if getattr(module, "num_feedforward_networks", 1) > 1:
        raise InputError(f"{name} needs one MLP in a layer, {trace.model_name} has several: change its heads instead")


def _with_vectors(change: Change) -> Change:
    """A change that is taken from another run, with what is taken."""
    if not isinstance(change, Resample | Patch) or change.vectors is not None:
        return change
    donor, layer = change.other, change.layer
    if isinstance(change, Resample):
        vectors = donor.head_context(layer)[change.head]
    elif change.what == "layer":
        vectors = donor.layer_output(layer)[change.source]
    elif change.what == "attention":
        vectors = donor.head_context(layer)[:, change.source]
    else:
        vectors = _mlp_output(donor, layer)[change.source]
    return replace(change, vectors=vectors.clone())


def _mlp_output(trace: Trace, layer: int) -> Tensor:
    """(S, D) what a layer's MLP made, which no trace holds: one more pass."""
    trace.check_unchanged()
    capture = Run([trace.changes], keep=frozenset([layer]))
    output_of(trace.borrowed, trace.inputs(), capture)
    mlp = capture.kept[layer]
    if mlp.shape[1] != trace.n_tokens:
        raise ModelError("the model runs its MLPs on parts of a text: patch(what='mlp') cannot be made")
    return mlp[0]
