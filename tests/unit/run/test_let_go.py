"""What nobody holds is free at once: no tensor of a pass waits for Python's collector of cycles."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

import bertlens as bl
from bertlens import survey, whatif
from bertlens.measures import attribution, flow, leading, offers, received
from unit import tiny, tiny_attention

TEXT, CORPUS = "the cat sat on the mat", ["the cat sat on the mat", "it was very warm", "the mats"]


def pooled(output: Any) -> torch.Tensor:
    return output[0].square().sum()


def kept_with(trace: bl.Trace) -> None:
    """What the measures keep with a trace."""
    offers.offers(trace)
    received.received(trace, 0)
    leading.advance(trace, 0, 0)
    flow.rollout_to(trace, 1)


WORK: dict[str, Callable[[bl.Lens], Any]] = {
    "trace": lambda lens: lens.trace(TEXT),
    "batch": lambda lens: lens.trace_batch(CORPUS),
    "rerun": lambda lens: lens.trace(TEXT).rerun(whatif.off(0, 1), whatif.mlp(1)),
    "sweep": lambda lens: whatif.sweep(lens.trace(TEXT), pooled, progress=False),
    "estimate": lambda lens: whatif.estimate(lens.trace(TEXT), pooled),
    "gradients": lambda lens: survey.attention_gradients(lens, CORPUS, loss=pooled),
    "word gradients": lambda lens: attribution.gradient_input(lens.trace(TEXT), pooled),
    "survey": lambda lens: survey.head_stats(lens, CORPUS, progress=False),
    "kept": lambda lens: kept_with(lens.trace(TEXT)),
    "flow": lambda lens: flow.globenc(lens.trace(TEXT), 1),
}


OF_WEIGHTS = {"ibert": ("trace", "batch", "survey")}  # weights alone: nothing else can be computed
CASES = [(f, work) for f in ("bert", "modernbert", "deberta-v2", "ibert") for work in OF_WEIGHTS.get(f, WORK)]


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("family", "work"), CASES)
def test_no_tensor_waits_for_the_collector(family: str, work: str) -> None:
    made = (tiny.FAMILIES | tiny.OUTSIDE | tiny_attention.OWN)[family]
    lens = bl.Lens(tiny.shaken(made.model()), made.tokenizer())
    WORK[work](lens)  # what a model and transformers keep of a first run
    gc.disable()
    gc.freeze()  # from here on get_objects names only what is new
    try:
        for _ in range(3):
            WORK[work](lens)
        left = [tuple(x.shape) for x in gc.get_objects() if issubclass(type(x), torch.Tensor)]
    finally:
        gc.unfreeze()
        gc.enable()
    assert left == []


def test_a_kept_value_is_made_once_and_freed_with_its_trace() -> None:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    trace, other = lens.trace(TEXT), lens.trace(TEXT)
    begun, go_on, calls = threading.Event(), threading.Event(), []

    def make() -> torch.Tensor:
        calls.append(begun.set())
        go_on.wait(10)
        return torch.zeros(3)

    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(trace.kept, "slow", make) for _ in range(2)]
        begun.wait(10)
        assert trace.kept("other", lambda: 1) == 1 and not trace.keeps("slow")  # a slow one keeps no other waiting
        go_on.set()
        first, second = (one.result(10) for one in asked)
    assert first is second and len(calls) == 1 and trace.keeps("slow") and not other.keeps("slow")
    with pytest.raises(ZeroDivisionError):
        trace.kept("failed", lambda: 1 // 0)
    assert trace.kept("failed", lambda: 2) == 2
    freed = weakref.ref(first)
    del first, second, asked
    gc.disable()
    try:
        del trace
        assert freed() is None
    finally:
        gc.enable()


def test_a_spectrum_that_is_left_unfinished_is_freed_with_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leading, "within", lambda name, *tokens: False)
    trace = bl.Lens(tiny.bert(), tiny.wordpiece()).trace(TEXT)
    assert not leading.advance(trace, 0, 0)
    freed = weakref.ref(trace)
    gc.disable()
    try:
        del trace
        assert freed() is None
    finally:
        gc.enable()
