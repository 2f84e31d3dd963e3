"""Ctrl-C at any line of a pass: it ends the call, and the model is as it was."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import whatif
from bertlens.base.interrupts import Held, interruptible
from bertlens.measures import attribution
from bertlens.run.backward import context_gradients
from bertlens.whatif.runs import inputs_of
from unit import tiny
from unit.interrupts import at_every_line

TEXT = "the cat sat on the mat"
# where hooks, settings and locks are put on and taken off
OURS = (
    *(f"bertlens/run/{name}.py" for name in ("forward", "interventions", "backward", "recorder", "trust")),
    *(f"bertlens/base/{name}.py" for name in ("locks", "one_thread", "interrupts")),
    "bertlens/model/transformers_private.py",
)
FILES = (*OURS, "torch/utils/hooks.py", "contextlib.py")
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs")


def state(model: Any) -> list[Any]:
    modules = list(model.modules())
    return [
        [[list(getattr(module, name).items()) for name in HOOKS] for module in modules],
        [sorted(module.__dict__) for module in modules],
        [module.training for module in modules],
        model.config._attn_implementation,
        [p.requires_grad for p in model.parameters()],
        torch.is_grad_enabled(),
        torch.get_num_threads(),
    ]


def pooled(output: Any) -> torch.Tensor:
    return output[0].square().sum()


WORK: dict[str, Callable[[bl.Lens, bl.Trace], Any]] = {
    "trace": lambda lens, trace: lens.trace(TEXT),
    "rerun": lambda lens, trace: trace.rerun(whatif.off(0, 1), whatif.mlp(0)),
    "sweep": lambda lens, trace: whatif.sweep(trace, pooled, progress=False),
    "gradients": lambda lens, trace: context_gradients(lens.borrowed, inputs_of(trace), 1, pooled),
    "word gradients": lambda lens, trace: attribution.gradient_input(trace, pooled),
}


# a sweep is many re-runs: its own lines are few
@pytest.mark.parametrize("work", [pytest.param(one, marks=pytest.mark.long) if one == "sweep" else one for one in WORK])
def test_the_model_comes_back_after_ctrl_c_at_any_line(work: str) -> None:
    model = tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 1})))
    model.train()
    model.encoder.layer[0].register_forward_hook(lambda module, args, output: None)
    lens = bl.Lens(model, tiny.wordpiece())
    trace = lens.trace(TEXT)
    WORK[work](lens, trace)
    before = state(model)
    n = 0
    for line, (stopped, handler_is_back, after) in at_every_line(
        lambda: WORK[work](lens, trace), FILES, lambda: state(model)
    ):
        n += 1
        assert after == before, line
        assert handler_is_back, line
        assert stopped, line
    assert n > 100
    assert all((Path(bl.__file__).parents[1] / name).exists() for name in OURS)


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def ends(work: Callable[[], None]) -> bool:
    try:
        work()
    except KeyboardInterrupt:
        return True
    return False


def test_ctrl_c_waits_for_the_end_of_what_is_held() -> None:
    done: list[str] = []

    def nested() -> None:
        with Held():
            with Held():
                ctrl_c()
                done.append("inner")
            done.append("outer")

    def pending() -> None:
        with Held():
            ctrl_c()
            done.append("before")
            with interruptible():
                done.append("never")

    def twice() -> None:
        with Held():
            try:
                with interruptible():
                    ctrl_c()
                    done.append("never")
            finally:
                ctrl_c()  # impatient
                done.append("put back")

    def a_metric_that_traces() -> None:
        with Held(), interruptible():
            with Held():
                ctrl_c()
                done.append("within")
            done.append("never")

    def held_and_open() -> None:
        with Held(), interruptible():
            ctrl_c()
            ctrl_c()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert all(ends(work) for work in (nested, pending, twice, a_metric_that_traces))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, lambda number, frame: done.append("the user's own"))
        assert not ends(held_and_open)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert not ends(held_and_open) and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["inner", "outer", "before", "put back", "within", "the user's own", "the user's own"]


def test_other_threads_hold_nothing() -> None:
    handlers: list[Any] = []

    def work() -> None:
        with Held(), interruptible():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
