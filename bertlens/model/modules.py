"""The modules and tensors of a model by name, each once, as torch's own walks give them: at each question to a model,
and theirs pass every module through a generator for each level above it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from ..errors import ModelError


def modules_by_name(root: nn.Module) -> dict[str, nn.Module]:
    """As `root.named_modules()`: in the order of their first places."""
    names: dict[nn.Module, str] = {}
    stack = [("", root)]
    while stack:
        name, module = stack.pop()
        if module not in names:
            names[module] = name
            above = f"{name}." if name else ""
            stack += [(above + part, child) for part, child in reversed(module._modules.items()) if child is not None]
    return {name: module for module, name in names.items()}


def tensors_by_name(
    root: nn.Module, tables: tuple[str, ...] = ("_parameters", "_buffers"), modules: dict[str, nn.Module] | None = None
) -> dict[str, Tensor]:
    """As `root.named_parameters()` and behind them `root.named_buffers()`. modules: those of the root, where known."""
    modules = modules or modules_by_name(root)
    tensors: dict[str, Tensor] = {}
    for table in tables:
        identities: set[int] = set()
        for above, module in modules.items():
            for name, tensor in getattr(module, table).items():
                if tensor is not None and id(tensor) not in identities:
                    identities.add(id(tensor))
                    tensors[f"{above}.{name}" if above else name] = tensor
    return tensors


# Attributes that passes set: those that one pass put in place of another's value, with None; those that it put where
# none was, with what it put there.
_tables: WeakKeyDictionary[nn.Module, dict[str, Tensor | None]] = WeakKeyDictionary()


def attribute_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Tensors of a module that are neither parameters nor buffers, by attribute; without what its passes set."""
    attributes = vars(module).copy()
    if Tensor not in map(type, attributes.values()):
        return {}
    tables = _tables.get(module, {})
    return {
        name: value
        for name, value in attributes.items()
        if type(value) is Tensor and (name not in tables or (tables[name] is not None and tables[name] is not value))
    }


def attributes_of_passes(module: nn.Module) -> list[str]:
    """The tensors that each pass sets anew, by attribute."""
    return [name for name, tensor in _tables.get(module, {}).items() if tensor is None]


@contextmanager
def watched_attributes(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Around a pass: the tensors that it sets on modules, as rotary tables for a text of its length, are no weights."""
    before = [(module, attribute_tensors(module)) for module in modules]
    try:
        yield
    finally:
        for module, tensors in before:
            for name, tensor in attribute_tensors(module).items():
                if tensors.get(name) is not tensor:
                    tables = _tables.setdefault(module, {})
                    tables[name] = None if name in tensors or name in tables else tensor


def is_wrapper(tensor: Tensor) -> bool:
    """Whether a tensor holds others, as quantised ones do (torchao): torch's own protocol of such classes."""
    return hasattr(tensor, "__tensor_flatten__")


def plain_tensors(name: str, tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    """A tensor by its name; of a wrapper those that it holds, by theirs.

    Raises ModelError for a tensor of a class of its own whose numbers cannot be read.
    """
    if not is_wrapper(tensor):
        if type(tensor) not in (Tensor, nn.Parameter):
            _check_readable(name, tensor)
        yield name, tensor
        return
    wrapper: Any = tensor
    for part in wrapper.__tensor_flatten__()[0]:
        yield from plain_tensors(f"{name}.{part}", getattr(wrapper, part))


def _check_readable(name: str, tensor: Tensor) -> None:
    try:
        if tensor.layout == torch.strided:
            tensor.detach().contiguous().view(-1)
    except (NotImplementedError, RuntimeError, TypeError) as error:
        reason = [*str(error).strip().splitlines(), type(error).__name__][0][:120]
        raise ModelError(
            f"{name} are of a class whose numbers cannot be read, {type(tensor).__name__} ({reason}): dequantise the "
            "model first, or load it without"
        ) from error
