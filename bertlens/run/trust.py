"""Whether a model computes through the attention interface what it computes eagerly: tried once for each config and
kinds of modules.

A class may say that it uses the interface and still read a mask in another way, or add to the scores what does not
come from queries and keys. So a short text is run both ways; where the results differ, the model's own eager weights
are shown, unless its own run says otherwise (own_run.py). In some models padding changes the numbers of real tokens:
then only texts of one length share a batch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import PretrainedConfig

from ..model import transformers_private as private
from ..model.borrowed import Model
from ..model.loan import Loan
from . import attention_function, attention_modules, attention_weights, forward
from .interventions import Run

TOKENS_TRIED = 12  # of the short text
TOLERANCE = 1e-4  # in float32: of weights, and of hidden states beside their largest value

_eagerly: dict[tuple[Any, ...], str] = {}
_sees_padding: dict[tuple[Any, ...], bool] = {}


def why_eager(model: Model, inputs: dict[str, Tensor], limit: int | None = None) -> str:
    """Why the attention interface cannot be trusted with this model, "" where it can. Tried once per config
    and kinds of modules.

    inputs: what the model is to be run on, the short text is made of it; limit: the tokens that the model takes. The
    user's hooks do not see these runs. Raises ModelError where the model does not run.
    """
    key = _key(model)
    if key in _eagerly:
        return _eagerly[key]
    with model.locked(), _without_user_hooks(model):
        reason, conclusive = _compared(model, _short(inputs, limit))
    if conclusive:
        _eagerly[key] = reason
    return reason


def sees_padding(model: Model, inputs: dict[str, Tensor], pad_id: int, limit: int | None = None) -> bool:
    """Whether padding on the right changes what comes before it, as convolutions do. Tried as `why_eager`.

    Arguments and errors as of `why_eager`.
    """
    key = _key(model)
    if key not in _sees_padding:
        padded = _short(inputs, limit)
        length = padded["input_ids"].shape[1] * 2 // 3
        alone = {name: value[:, :length] for name, value in padded.items()}
        for name, value in padded.items():
            value[:, length:] = pad_id if name == "input_ids" else 0
        reason = why_eager(model, inputs, limit)
        with model.locked(), _without_user_hooks(model):
            outputs = [
                forward.eager_output(model, batch) if reason else forward.output_of(model, batch, Run())
                for batch in (padded, alone)
            ]
        states = [[state[0, :length] for state in output.hidden_states or ()] for output in outputs]
        is_other = not _equal(*states)
        if not all(state.isfinite().all() for side in states for state in side):
            return is_other  # NaN shows nothing of the class
        _sees_padding[key] = is_other
    return _sees_padding[key]


@contextmanager
def _without_user_hooks(model: Model) -> Iterator[None]:
    """Hooks on forward passes are set aside, but for those by which transformers itself records."""
    with Loan() as loan:
        for module in model.runner.modules():
            capturing = {key: hook for key, hook in module._forward_hooks.copy().items() if private.is_capturing(hook)}
            loan.set(module, "_forward_hooks", OrderedDict(capturing))
            loan.set(module, "_forward_pre_hooks", OrderedDict())
        yield


def _key(model: Model) -> tuple[Any, ...]:
    functions = attention_function.users_functions(model.runner)
    kinds = tuple(map(type, model.runner.modules()))  # some may be others than the class makes: quantised, replaced
    return kinds, model.dtype, _settings(model.base.config), functions


def _settings(config: Any) -> tuple[Any, ...]:
    """What a config says, in tens of microseconds (its own to_json_string takes milliseconds, for every trace)."""
    return tuple(
        (name, _settings(value) if isinstance(value, PretrainedConfig) else repr(value))
        for name, value in vars(config).copy().items()
        if not name.startswith("_")
    )


def _short(inputs: dict[str, Tensor], limit: int | None) -> dict[str, Tensor]:
    """The first text, repeated and cut."""
    tokens = int(inputs["attention_mask"][0].sum())
    length = min(TOKENS_TRIED, limit or TOKENS_TRIED)
    return {name: value[:1, :tokens].repeat(1, length)[:, :length] for name, value in inputs.items()}


def _equal(found: Iterable[Tensor], expected: Iterable[Tensor]) -> bool:
    """Within what two orders of summing differ by, wherever what is expected is a number."""
    for ours, theirs in zip(found, expected, strict=True):
        limit = max(TOLERANCE, 8 * torch.finfo(ours.dtype).eps)
        finite = theirs.isfinite()
        largest = float(theirs[finite].abs().max().clamp_min(1)) if finite.any() else 1.0
        if not torch.allclose(ours[finite], theirs[finite], rtol=0, atol=limit * largest):
            return False
    return True


def _compared(model: Model, inputs: dict[str, Tensor]) -> tuple[str, bool]:
    """Why the interface cannot be trusted, and whether that holds for the whole class: NaN shows nothing."""
    declared = private.supports_sdpa(model.base) or attention_function.users_functions(model.runner)
    if not declared and not attention_modules.is_read(model.base):
        return "its class was never declared to run with sdpa attention", True
    try:
        record = forward.through_interface(model, inputs).text(0, inputs["input_ids"].shape[1])
    except forward.NotExpressible as error:
        return str(error), True
    except attention_function.NoWeights:
        return "", True
    if any(layer.function for layer in record.layers):
        return "", True  # the model's own way: there is no other to compare with
    eager = forward.eager_output(model, inputs)
    conclusive = all(bool(state.isfinite().all()) for state in eager.hidden_states)
    if not _equal(record.hidden_states, [state[0] for state in eager.hidden_states]):
        if not _equal(forward.eager_output(model, inputs).hidden_states, eager.hidden_states):
            return "", False  # two runs of it differ, whatever the way
        return "through the attention interface its hidden states are not those of its eager run", conclusive
    maps = getattr(eager, "attentions", None) or ()
    if not all(
        _equal([attention_weights.attention(layer).to(weights.dtype)], weights)
        for layer, weights in zip(record.layers, maps, strict=False)
        if weights is not None
    ):
        return "its queries and keys do not give the attention weights of its eager run", conclusive
    return "", conclusive
