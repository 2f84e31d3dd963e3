"""Ctrl-C or a user's own timeout at any line of a pass: it ends the call, and the model is as it was."""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import bertlens as bl
from bertlens import whatif
from bertlens.base.interrupts import SignalHold, interruptible, stoppable
from bertlens.measures import attribution
from bertlens.run.backward import context_gradients
from unit import tiny
from unit.interrupts import Late, at_every_line, handling, late

pytestmark = pytest.mark.usefixtures("ctrl_c")
TEXT = "the cat sat on the mat"
needs_alarm = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarms")
# where hooks, settings and locks are put on and taken off
OURS = (
    *(f"bertlens/run/{name}.py" for name in ("forward", "interventions", "backward", "recorder", "trust")),
    *(f"bertlens/base/{name}.py" for name in ("locks", "one_thread", "interrupts")),
    *(f"bertlens/model/{name}.py" for name in ("transformers_private", "loan")),
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
    "gradients": lambda lens, trace: context_gradients(lens.borrowed, trace.inputs(), 1, pooled),
    "word gradients": lambda lens, trace: attribution.gradient_input(trace, pooled),
}


def one_layer() -> tuple[Any, bl.Lens, bl.Trace]:
    model = tiny.shaken(tf.BertModel(tf.BertConfig(**tiny.BERT | {"num_hidden_layers": 1})))
    model.train()
    model.encoder.layer[0].register_forward_hook(lambda module, args, output: None)
    lens = bl.Lens(model, tiny.wordpiece())
    return model, lens, lens.trace(TEXT)


SIGNALS = {"SIGINT": WORK, "SIGALRM": ("rerun",), "SIGTERM": ("gradients",)}


# a sweep is many re-runs: its own lines are few
@pytest.mark.parametrize(
    ("name", "work"),
    [
        pytest.param(name, one, marks=[pytest.mark.long] if one == "sweep" else [])
        for name, works in SIGNALS.items()
        if hasattr(signal, name)
        for one in works
    ],
)
def test_the_model_comes_back_after_a_signal_at_any_line(name: str, work: str) -> None:
    model, lens, trace = one_layer()
    WORK[work](lens, trace)
    before = state(model)
    n = 0
    for line, (stopped, handler_is_back, after) in at_every_line(
        lambda: WORK[work](lens, trace), FILES, lambda: state(model), getattr(signal, name)
    ):
        n += 1
        assert after == before, line
        assert handler_is_back, line
        assert stopped, line
    assert n > 100
    assert all((Path(bl.__file__).parents[1] / name).exists() for name in OURS)


def free(lens: bl.Lens) -> bool:
    """Whether another thread can run the model."""
    thread = threading.Thread(target=lens.trace, args=("the cat",), daemon=True)
    thread.start()
    thread.join(30)
    return not thread.is_alive()


@needs_alarm
@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="in Python 3.10 an alarm at a block's end keeps transformers' lock"
)
@pytest.mark.parametrize("interval", [0, 2e-4])
def test_a_timeout_of_the_users_at_any_moment_leaves_nothing_behind(
    interval: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One alarm, and one after another: the clean-ups of the first end before the second is heard."""
    model, lens, trace = one_layer()
    # an alarm in a finaliser is dropped by Python; pytest's report of it would be broken off by the next alarm
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    before, draw = state(model), random.Random(0)
    began = time.perf_counter()
    for _ in range(5):
        WORK["rerun"](lens, trace)
    took = (time.perf_counter() - began) / 5
    ended = 0
    with handling(signal.SIGALRM, late):
        for _ in range(300):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-6, took), interval)
                    WORK["rerun"](lens, trace)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Late:
                ended += 1
                is_on = True
                while is_on:
                    with suppress(Late):  # of an interval, one that comes before the timer is off
                        signal.setitimer(signal.ITIMER_REAL, 0)
                        is_on = False
            assert state(model) == before
            assert signal.getsignal(signal.SIGALRM) is late
        assert free(lens)
    assert ended > 30


@needs_alarm
def test_a_timeout_is_heard_as_often_as_it_comes_in_the_users_own_code() -> None:
    """A metric with a timeout for each of its steps: the error is its own, not one about the model."""
    model, _, trace = one_layer()
    before, heard, calls = state(model), [], []

    def metric(output: Any) -> torch.Tensor:
        calls.append(1)
        for _ in range(3):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-3)
                time.sleep(20)
            except Late:
                heard.append(1)
        return pooled(output)

    def hook(*_: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        time.sleep(20)

    with handling(signal.SIGALRM, late):
        attribution.gradient_input(trace, metric)
        handle = model.encoder.register_forward_hook(hook)
        with pytest.raises(Late):
            trace.rerun()
        handle.remove()
    assert len(heard) == 3 * len(calls) > 0 and state(model) == before


@needs_alarm
def test_waiting_for_another_threads_pass_can_be_ended() -> None:
    _, lens, _ = one_layer()
    inside, done = threading.Event(), threading.Event()

    def pass_of_another_thread() -> None:
        with lens.borrowed.locked():
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=pass_of_another_thread)
    thread.start()
    inside.wait(60)
    with handling(signal.SIGALRM, late):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Late):
            lens.trace(TEXT)
    assert not done.is_set()
    done.set()
    thread.join()
    assert free(lens)


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
        with SignalHold():
            with SignalHold():
                ctrl_c()
                done.append("inner")
            done.append("outer")

    def pending() -> None:
        with SignalHold():
            ctrl_c()
            done.append("before")
            with interruptible():
                done.append("never")

    def twice() -> None:
        with SignalHold():
            try:
                with interruptible():
                    ctrl_c()
                    done.append("never")
            finally:
                ctrl_c()  # impatient
                done.append("put back")

    def a_metric_that_traces() -> None:
        with SignalHold(), interruptible():
            with SignalHold():
                ctrl_c()
                done.append("within")
            done.append("never")

    def held_and_open() -> None:
        with SignalHold(), interruptible():
            ctrl_c()
            ctrl_c()

    def handlers_of_several() -> None:
        with handling(signal.SIGTERM, lambda *_: done.append("second")), SignalHold():
            signal.raise_signal(signal.SIGTERM)
            ctrl_c()
            done.append("first")

    def a_handler_that_the_program_puts_there() -> None:
        with SignalHold(), interruptible():
            signal.signal(signal.SIGINT, mine)

    def mine(*_: Any) -> None:
        pass

    assert all(ends(work) for work in (nested, pending, twice, a_metric_that_traces, handlers_of_several))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, lambda number, frame: done.append("the user's own"))
    assert not ends(held_and_open)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert not ends(held_and_open) and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)
    a_handler_that_the_program_puts_there()
    assert signal.getsignal(signal.SIGINT) is mine
    assert done[:7] == ["inner", "outer", "before", "put back", "within", "first", "second"]
    assert done[7:] == ["the user's own"] * 2


def test_long_work_ends_at_the_first_of_several_signals() -> None:
    """While something is saved they wait; after the first, and where the work is over, they change nothing."""
    done: list[str] = []
    mine = signal.getsignal(signal.SIGINT)

    def several() -> None:
        signal.raise_signal(signal.SIGTERM)  # which nobody else handles: it would end the process
        ctrl_c()

    def work() -> None:
        with stoppable():
            try:
                with SignalHold():
                    several()
                    done.append("saved")
                done.append("never")
            finally:
                several()
                done.append("saved again")

    def over() -> None:
        with stoppable() as stop:
            stop.over = True
            several()
            done.append("over")

    assert ends(work) and not ends(over) and done == ["saved", "saved again", "over"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and signal.getsignal(signal.SIGINT) is mine
    with handling(signal.SIGTERM, lambda *_: done.append("the user's own")), stoppable():
        signal.raise_signal(signal.SIGTERM)
    assert done[3:] == ["the user's own"]


def test_other_threads_hold_nothing() -> None:
    handlers: list[Any] = []

    def work() -> None:
        with SignalHold(), interruptible():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
