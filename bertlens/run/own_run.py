"""The first pass of each state of a model, compared with the model's own run: as its user would run it on the text.

Our pass sets an attention implementation and modules of its own, and asks for hidden states; a hook, a patched forward
or an attention function may answer that with other numbers. So the model also runs once as it was given, but in eval
mode, and both are compared. Its hooks take part in that run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from ..base.interrupts import is_of_handler
from ..errors import ModelError
from ..model.borrowed import Model
from ..model.fingerprint import Fingerprint
from ..model.loan import Loan
from . import forward, trust
from .record import Pass

MOST = 512  # tokens that are compared
LEAST = 1e-5  # that is told, beside the largest number or 1
NOISE = 10  # times what rounding, or a second run, changes

Numbers = dict[str, Tensor]  # (1, ...) by name


def numbers(output: Any) -> Numbers:
    """What of a model's output for one text is compared: its last hidden states, and all that it answers with."""
    answers = {name: x for name, x in output.items() if isinstance(x, Tensor) and x.is_floating_point()}
    return answers | {"hidden_states": output.hidden_states[-1]}


@dataclass(frozen=True)
class Own:
    """How the user has the numbers of one text, and how they follow from the output of our pass over it."""

    run: Callable[[], Numbers]
    of: Callable[[Any], Numbers] = numbers


@dataclass(frozen=True)
class _Verdict:
    contents: dict[str, Any]  # of the fingerprint that it is about
    eagerly: str | None  # why the model is run eagerly, "" where it is not; None: as its class is
    note: str


@dataclass(frozen=True)
class _Gap:
    """Where two runs are farthest apart."""

    size: float = 0.0  # beside the largest number, or 1
    name: str = ""
    a: float = 0.0
    b: float = 0.0


_verdicts: WeakKeyDictionary[Model, _Verdict] = WeakKeyDictionary()


def why_eager(model: Model, inputs: dict[str, Tensor], limit: int | None = None) -> str:
    """As `trust.why_eager`, and by what came of the model's own run."""
    verdict = _verdicts.get(model)
    return trust.why_eager(model, inputs, limit) if verdict is None or verdict.eagerly is None else verdict.eagerly


def run(
    model: Model,
    inputs: dict[str, Tensor],
    state: Fingerprint,
    limit: int | None = None,
    own: Callable[[], Own | None] = lambda: None,
) -> tuple[Pass, str]:
    """`forward.run`, its first pass of each state compared; and what is to be said beside it.

    own: of the first text, where it is not the output of the model alone. Raises ModelError where no way of running the
    model gives its own numbers, and like `forward.run`.
    """
    with model.locked():
        record = forward.run(model, inputs, why_eager(model, inputs, limit))
        verdict = _verdicts.get(model)
        if verdict is None or verdict.contents is not state.contents:
            of_device = [model.device] if model.device.type == "cuda" else []
            with torch.random.fork_rng(of_device), torch.no_grad():
                verdict = _Verdict(state.contents, *_compared(model, inputs, record, own()))
            _verdicts[model] = verdict
            if verdict.eagerly is not None:
                record = forward.run(model, inputs, verdict.eagerly)
        return record, verdict.note


def _compared(model: Model, inputs: dict[str, Tensor], record: Pass, own: Own | None) -> tuple[str | None, str]:
    """Another reason to run it eagerly than that of the pass, None for none; and what is to be said."""
    tokens = min(MOST, int(inputs["attention_mask"][0].sum()))
    one = {name: value[:1, :tokens] for name, value in inputs.items()}
    is_eager = record.layers[0].value is None
    own = own or Own(lambda: numbers(forward.own_output(model, one)))
    if inputs["input_ids"].shape != one["input_ids"].shape:
        record = forward.run(model, one, record.why_no_neurons if is_eager else "")
    try:
        theirs = own.run()
    except Exception as error:
        if is_of_handler(error):
            raise  # the user's own timeout
        reason = [*str(error).strip().splitlines(), type(error).__name__][0][:200]
        return None, f"not compared with the model's own run, which ends in an error: {reason}"
    gap = _gap(own.of(record.output), theirs)
    bound = max(LEAST, *(8 * torch.finfo(x.dtype).eps for x in theirs.values()))
    if gap.size <= bound:
        return None, ""
    again, rounded = _gap(own.run(), theirs), _gap(_rounded(model, own), theirs)
    note = ""
    if again.size > bound:
        note = f"run twice, the model gives {again.a:.6g} and {again.b:.6g} ({again.name}): what is shown is of one run"
    bound = max(bound, NOISE * max(again.size, rounded.size))
    if gap.size <= bound:
        return None, note
    eagerly = ""
    if not is_eager:
        eagerly = f"through the attention interface its {gap.name} has {gap.a:.6g}, in its own run {gap.b:.6g}"
    try:
        if _gap(own.of(forward.run(model, one, eagerly).output), theirs).size <= bound:
            return eagerly, note or eagerly
    except ModelError:
        pass  # it runs in one way alone
    raise ModelError(
        f"called as it is, {type(model.runner).__name__} gives {gap.b:.6g} where bertlens' run gives {gap.a:.6g} "
        f"({gap.name}): take off what hooks or patches it, or give its maps to Trace.from_attentions"
    )


def _rounded(model: Model, own: Own) -> Numbers:
    """The own run, of embeddings whose last bit is another: how far rounding goes in this model."""

    def turned(module: nn.Module, arguments: Any, vectors: Tensor) -> Tensor:
        signs = 1 - 2 * (torch.arange(vectors.shape[-1], device=vectors.device) % 2)
        return vectors * (1 + torch.finfo(vectors.dtype).eps * signs.to(vectors.dtype))

    with model.locked(), Loan() as loan:
        for module in model.base.modules():
            if isinstance(module, nn.Embedding):
                loan.hook(module.register_forward_hook(turned))
        return own.run()


def _gap(ours: Numbers, theirs: Numbers) -> _Gap:
    gaps = [_apart(name, ours[name], x) for name, x in theirs.items() if name in ours and x.numel()]
    return max(gaps, key=lambda gap: gap.size, default=_Gap())


def _apart(name: str, a: Tensor, b: Tensor) -> _Gap:
    """Wherever b is a number."""
    if a.shape != b.shape:
        return _Gap(torch.inf, f"numbers in {name}", a.numel(), b.numel())
    far = (a - b).abs()
    size, largest = float(far.max()), float(b.abs().max())
    if not math.isfinite(size + largest):
        is_number = b.isfinite()
        far = far.nan_to_num(torch.inf).where(is_number, 0)
        size, largest = float(far.max()), float(b.abs().where(is_number, 0).max())
    at = int(far.argmax())
    return _Gap(size / max(largest, 1), name, float(a.flatten()[at]), float(b.flatten()[at]))
