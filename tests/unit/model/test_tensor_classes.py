"""Weights in tensors of other classes, as quantisation makes them: traced, told apart, and refused where they are read.

The first class holds its numbers in other tensors and refuses to be viewed, as torchao's do; the second tells nobody
what it holds.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_map

import bertlens as bl
from bertlens.errors import ModelError
from bertlens.measures import norms, sources
from unit import tiny

SCALE = 2.0**-12


class Halves(torch.Tensor):
    """int16 numbers and a scale. Every use but a product and what copies need is refused."""

    integers: torch.Tensor
    scale: torch.Tensor

    @staticmethod
    def __new__(cls, integers: torch.Tensor, scale: torch.Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, integers.shape, dtype=torch.float32, device=integers.device)

    def __init__(self, integers: torch.Tensor, scale: torch.Tensor):
        self.integers, self.scale = integers, scale

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["integers", "scale"], None

    def __repr__(self) -> str:  # type: ignore[override]
        return "Halves"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in ("detach", "alias", "clone"):
            return cls(args[0].integers.clone() if name == "clone" else args[0].integers, args[0].scale)
        if name in ("t", "mm", "addmm", "linear"):
            plain = tree_map(lambda x: x.integers.float() * x.scale if isinstance(x, Halves) else x, args)
            return func(*plain, **(kwargs or {}))
        raise NotImplementedError(f"Halves dispatch: {func}")


class Closed(torch.Tensor):
    """Tells nobody what it holds."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.view, torch.Tensor.flatten, torch.Tensor.contiguous):
            raise NotImplementedError(f"Closed: attempting to run aten.view, {func}")
        return super().__torch_function__(func, types, args, kwargs or {})


def quantised(seed: int = 0) -> Any:
    model = tiny.bert(seed=seed) if seed else tiny.bert()
    for name, module in [*model.named_modules()]:
        if isinstance(module, nn.Linear):
            integers = (module.weight.detach() / SCALE).round().to(torch.int16)
            module.weight = nn.Parameter(Halves(integers, torch.tensor(SCALE)), requires_grad=False)
            assert type(module.weight) is Halves, name
    return model.eval()


def lens_of(model: Any) -> bl.Lens:
    return bl.Lens(model, tiny.wordpiece())


def test_a_quantised_model_is_traced_with_its_own_numbers() -> None:
    model, plain = quantised(), tiny.bert().eval()
    with torch.no_grad():
        for module, other in zip(model.modules(), plain.modules(), strict=True):
            if isinstance(module, nn.Linear):
                other.weight.copy_(module.weight.integers.float() * SCALE)  # type: ignore[union-attr, operator]
    ours, theirs = lens_of(model).trace("the cat sat"), lens_of(plain).trace("the cat sat")
    torch.testing.assert_close(ours.attention(1), theirs.attention(1))
    torch.testing.assert_close(ours.output.last_hidden_state, theirs.output.last_hidden_state)


def test_what_such_tensors_hold_is_part_of_the_model() -> None:
    model = quantised()
    lens = lens_of(model)
    trace, before = lens.trace("the cat sat"), lens.borrowed.fingerprint()
    assert lens.borrowed.change(before, whole=True) == ""
    assert lens.borrowed.identity()["weights"] == lens_of(quantised()).borrowed.identity()["weights"]
    model.encoder.layer[1].output.dense.weight.integers.data[3, 3] += 500
    assert lens.borrowed.change(before, whole=True) == "weights of encoder.layer.1.output.dense.weight.integers"
    with pytest.raises(ModelError, match=r"weights of encoder.layer.1.output.dense.weight.integers\): trace again"):
        trace.rerun(bl.whatif.off(0, 0))
    assert lens.borrowed.identity()["weights"] != lens_of(quantised()).borrowed.identity()["weights"]


def test_measures_that_read_such_weights_are_refused_by_name() -> None:
    trace = lens_of(quantised()).trace("the cat sat")
    said = r"encoder.layer.0.attention.output.dense is a Linear of quantised weights \(Halves\): dequantise the model"
    with pytest.raises(ModelError, match=said):
        norms.transformed_norm(trace, 0)
    with pytest.raises(ModelError, match=r"a Linear of quantised weights \(Halves\)"):
        sources.score(trace, 1, 0, 1, 2)


def test_a_tensor_that_cannot_be_read_is_one_sentence() -> None:
    model = tiny.bert().eval()
    dense = model.encoder.layer[0].output.dense
    dense.weight = nn.Parameter(dense.weight.detach().as_subclass(Closed), requires_grad=False)
    assert type(dense.weight) is Closed
    said = r"^weights of encoder.layer.0.output.dense.weight are of a class whose numbers cannot be read, Closed \("
    for call in (lambda: lens_of(model).trace("the cat"), lambda: lens_of(model).encode("the cat")):
        with pytest.raises(ModelError, match=said):
            call()


def test_a_harmless_class_of_tensors_is_a_tensor() -> None:
    class Mine(torch.Tensor):
        pass

    model = tiny.bert().eval()
    own = lens_of(copy.deepcopy(model)).trace("the cat").attention(0)
    dense = model.encoder.layer[0].attention.output.dense
    dense.weight = nn.Parameter(dense.weight.detach().as_subclass(Mine), requires_grad=False)
    trace = lens_of(model).trace("the cat")
    torch.testing.assert_close(trace.attention(0), own)
    assert norms.transformed_norm(trace, 0).isfinite().all()
