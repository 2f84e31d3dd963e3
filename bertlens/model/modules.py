"""The modules and tensors of a model by name, each once, as torch's own walks give them: at each question to a model,
and theirs pass every module through a generator for each level above it."""

from __future__ import annotations

from torch import Tensor, nn


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
        seen: set[int] = set()
        for above, module in modules.items():
            for name, tensor in getattr(module, table).items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    tensors[f"{above}.{name}" if above else name] = tensor
    return tensors
