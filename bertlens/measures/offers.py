"""What can be had of a trace, and why not where it cannot: each capability is tried once, on the trace itself.

Views, questions, survey, command line and export follow this, so that what is offered can be given.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from ..errors import BertLensError, InputError, ModelError
from ..model.borrowed import checked_once
from ..run.attention_weights import check_precision
from ..run.backward import check_differentiable
from ..trace.checks import check_hiding
from ..trace.trace import Trace
from . import norms, predictions, sources, spectra
from .gates.classify import check_gates
from .geometry.layers import check_geometry


def _neurons(trace: Trace) -> None:
    if not trace.has_neurons:
        raise ModelError(trace.why_no_neurons)
    for layer in range(trace.n_layers):
        if heads := trace.changed_weights(layer):
            raise ModelError(
                f"In this run the weights of head {layer}.{heads[0]} are not the softmax of its scores: "
                "trace.original shows its own."
            )


def _norms(trace: Trace) -> None:
    for layer in range(trace.n_layers):
        norms.requirements(trace, layer)


def _spectra(trace: Trace) -> None:
    for layer in range(trace.n_layers):
        spectra.requirements(trace, layer)


def _gradients(trace: Trace) -> None:
    trace.value(0)  # says why there are none
    trace.check_unchanged()
    check_differentiable(trace.borrowed, trace.inputs())


# What is tried; more capabilities may be added.
CAPABILITIES: dict[str, Callable[[Trace], None]] = {
    "neurons": _neurons,
    "norms": _norms,
    "geometry": check_geometry,
    "spectra": _spectra,
    "gates": check_gates,
    "gradients": _gradients,
    "whatif": check_hiding,
    "predictions": predictions.requirements,
    "sources": sources.requirements,
}


def offers(trace: Trace) -> MappingProxyType[str, str]:
    """What a trace offers: capability -> "" where it can be had, else the reason why not, in words.

    neurons, norms, geometry, spectra, gates, gradients, whatif (changes of heads), predictions, sources (of scores).
    Tried once for a trace and then kept as long as it.
    Raises InputError under torch.autocast.
    """
    with checked_once():
        return MappingProxyType({name: why_not(trace, name) for name in CAPABILITIES})


def why_not(trace: Trace, capability: str) -> str:
    """One of `offers` alone: the others are not tried."""
    check_precision(trace.device)
    return trace.kept(("offers", capability), lambda: _reason(trace, CAPABILITIES[capability]))


def check_capability(whose: str, name: object) -> None:
    """Raises InputError where what a question or a tab needs is no capability; "" is none."""
    if not isinstance(name, str) or name not in ("", *CAPABILITIES):
        raise InputError(f"{whose}: needs is '' or one of {', '.join(CAPABILITIES)}, not {name!r}")


def _reason(trace: Trace, probe: Callable[[Trace], None]) -> str:
    try:
        probe(trace)
    except BertLensError as error:
        return str(error)
    return ""
