"""A device that is not there: tensors that lie "elsewhere", with numbers, so that a run can be tried without a GPU.

They say that they lie on torch's device "meta" and compute on the CPU. What a GPU refuses they refuse: operands on two
devices, and `numpy()`. What leaves the device or comes to it is written down (`Elsewhere.moved`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("meta")
_aten = torch.ops.aten
_MOVES = (_aten._to_copy.default, _aten.copy_.default)
_INDEXED = (_aten.index.Tensor, _aten.index_put.default, _aten.index_put_.default, _aten._index_put_impl_.default)
_NUMBERS = {torch.Tensor.tolist, torch.Tensor.item, torch.Tensor.__float__, torch.Tensor.__int__, torch.Tensor.__bool__,
            torch.Tensor.__index__}  # fmt: skip


_PLACES = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)


class There(Tensor):
    """A tensor of the pretended device; its numbers are `held`."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> There:
        made = Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=DEVICE,
        )
        made.held = held
        return made

    def __repr__(self) -> str:
        return f"There({self.held})"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _NUMBERS:
            _moved.append(tuple(args[0].shape))
            return func(args[0].held)
        if func is torch.Tensor.numpy:
            raise TypeError("can't convert a tensor of another device to numpy. Use Tensor.cpu() first")
        if func in _PLACES:
            at = tuple(map(_listed, args[1])) if isinstance(args[1], tuple) else _listed(args[1])
            args = (args[0], at, *args[2:])
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


_moved: list[tuple[int, ...]] = []


def _held(x: Any) -> Any:
    return x.held if isinstance(x, There) else x


def _listed(index: Any) -> Any:
    """A list as a tensor on the device: torch would make it where no number is kept."""
    if not isinstance(index, list | range):
        return index
    return There(torch.tensor(index, device="cpu") if len(index) else torch.zeros(0, dtype=torch.long, device="cpu"))


def _there(x: Any) -> Any:
    # a conjugate as numbers: the bit that stands for it is not looked at here
    return There(x.resolve_conj()) if type(x) in (Tensor, nn.Parameter) else x


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """One operation: on the pretended device where its operands lie there, or where it is asked for there."""
    tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
    ours = [isinstance(x, There) for x in tensors]
    assert not any(x.is_meta and not isinstance(x, There) for x in tensors), f"numbers were lost: {func}"
    device = kwargs.get("device")
    to = any(ours) if device is None else torch.device(device) == DEVICE
    if func in _MOVES:
        if len(set(ours)) > 1 or to != ours[0]:
            _moved.append(tuple(tensors[-1].shape))
    elif any(ours):
        checked = tree_flatten((args[0], args[2:]))[0] if func in _INDEXED else tensors
        if any(isinstance(x, Tensor) and not isinstance(x, There) and x.ndim for x in checked):
            raise RuntimeError(f"Expected all tensors to be on the same device: {func}")
    if device is not None:
        kwargs = kwargs | {"device": "cpu"}
    result = func(*tree_map(_held, args), **tree_map(_held, kwargs))
    if func is _aten.copy_.default or (func._schema.name.endswith("_") and isinstance(args[0], There)):
        return args[0]
    return tree_map(_there, result) if to else result


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _FromData(TorchFunctionMode):
    """torch.tensor(numbers, device="meta") keeps no numbers, before any operation is run."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if func not in (torch.tensor, torch.as_tensor) or device is None or torch.device(device) != DEVICE:
            return func(*args, **kwargs)
        if isinstance(args[0], Tensor):
            return args[0].to(**kwargs)
        made = func(*args, **kwargs | {"device": "cpu"})
        _moved.append(tuple(made.shape))
        return There(made)


@contextmanager
def elsewhere() -> Iterator[list[tuple[int, ...]]]:
    """Where tensors of the device can be made; yields the shapes of what is moved to it or from it meanwhile."""
    _moved.clear()
    with _Mode(), _FromData():
        yield _moved


def sent(model: nn.Module) -> nn.Module:
    """The model with its weights on the device."""
    for module in model.modules():
        for name, weight in module._parameters.items():
            if weight is not None:
                module._parameters[name] = nn.Parameter(There(weight.detach()), weight.requires_grad)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = There(buffer)
    return model
