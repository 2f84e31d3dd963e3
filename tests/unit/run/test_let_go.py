"""What nobody holds is free at once: no tensor of a pass waits for Python's collector of cycles."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch

import bertlens as bl
from bertlens import survey, whatif
from bertlens.measures import attribution, flow
from unit import tiny

TEXT, CORPUS = "the cat sat on the mat", ["the cat sat on the mat", "it was very warm", "the mats"]


def pooled(output: Any) -> torch.Tensor:
    return output[0].square().sum()


WORK: dict[str, Callable[[bl.Lens], Any]] = {
    "trace": lambda lens: lens.trace(TEXT),
    "batch": lambda lens: lens.trace_batch(CORPUS),
    "rerun": lambda lens: lens.trace(TEXT).rerun(whatif.off(0, 1), whatif.mlp(1)),
    "sweep": lambda lens: whatif.sweep(lens.trace(TEXT), pooled, progress=False),
    "estimate": lambda lens: whatif.estimate(lens.trace(TEXT), pooled),
    "gradients": lambda lens: survey.attention_gradients(lens, CORPUS, loss=pooled),
    "word gradients": lambda lens: attribution.gradient_input(lens.trace(TEXT), pooled),
    "survey": lambda lens: survey.head_stats(lens, CORPUS, progress=False),
    "flow": lambda lens: flow.globenc(lens.trace(TEXT), 1),
}


OF_WEIGHTS = {"deberta-v2": ("trace", "batch", "survey")}  # weights alone: nothing else can be computed
CASES = [(f, work) for f in ("bert", "modernbert", "deberta-v2") for work in OF_WEIGHTS.get(f, WORK)]


@pytest.mark.parametrize(("family", "work"), CASES)
def test_no_tensor_waits_for_the_collector(family: str, work: str) -> None:
    made = (tiny.FAMILIES | tiny.OUTSIDE)[family]
    lens = bl.Lens(tiny.shaken(made.model()), made.tokenizer())

    def tensors() -> set[int]:
        return {id(x) for x in gc.get_objects() if issubclass(type(x), torch.Tensor)}

    WORK[work](lens)  # what a model and transformers keep of a first run
    gc.collect()
    gc.disable()
    try:
        before = tensors()
        for _ in range(3):
            WORK[work](lens)
        left = [tuple(x.shape) for x in gc.get_objects() if issubclass(type(x), torch.Tensor) and id(x) not in before]
    finally:
        gc.enable()
    assert left == []
