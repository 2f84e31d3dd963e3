"""What is changed on the user's objects for a while: put back at the end, and not in a copy that is made meanwhile."""

from __future__ import annotations

import copy
import pickle
from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

from ..base.interrupts import SignalHold
from ..errors import ModelError
from . import transformers_private as private

_ABSENT: Any = object()
_loans: list[Loan] = []  # under way, on any thread
_PACKAGE = __name__.partition(".")[0]


class Loan(ExitStack):
    """For the length of a block: attributes with other values, and hooks. Signals wait for the end of the block."""

    def __init__(self) -> None:
        super().__init__()
        self.originals: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Loan:
        self.enter_context(SignalHold())
        _loans.append(self)
        self.callback(_loans.remove, self)
        return self

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Another value in the object's own dictionary."""
        original = vars(owner).get(name, _ABSENT)
        self.originals.append((owner, name, original))
        self.callback(_put, owner, name, original)
        vars(owner)[name] = value

    def hook(self, handle: Any) -> None:
        """A hook of this package that was registered just now."""
        self.callback(handle.remove)


def _put(owner: Any, name: str, value: Any) -> None:
    if value is _ABSENT:
        vars(owner).pop(name, None)
    else:
        vars(owner)[name] = value


def at_rest(state: dict[str, Any], memo: dict[int, Any]) -> dict[str, Any]:
    """A deep copy of an object's state, without what a loan or transformers' recording has put on the modules in it.

    The locks of what is copied are held by the caller. memo: as for `copy.deepcopy`; what it holds is not copied.
    """
    copied = copy.deepcopy(state, memo)
    for owner, name, original in reversed([entry for loan in list(_loans) for entry in loan.originals]):
        if id(owner) in memo:
            _put(memo[id(owner)], name, copy.deepcopy(original, memo))
    for module in [member for member in memo.values() if isinstance(member, nn.Module)]:
        vars(module).pop(private.INSTALLED, None)
        for hooks in _hooks(module):
            for key in [key for key, hook in hooks.items() if is_ours(hook) or private.is_capturing(hook)]:
                for table in _hooks(module):
                    table.pop(key, None)
    return copied


def shared(module: nn.Module) -> dict[int, Any]:
    """A memo by which a copy has the very tensors of the module and its parts."""
    states = [vars(member) for member in module.modules()]
    attributes = [a for s in states for a in (*s.values(), *s["_parameters"].values(), *s["_buffers"].values())]
    return {id(tensor): tensor for tensor in attributes if isinstance(tensor, Tensor)}


def check_hooks(module: nn.Module) -> None:
    """Raises ModelError for a hook of the user's that cannot be pickled."""
    for name, child in module.named_modules():
        for hooks in _hooks(child):
            for hook in hooks.copy().values():
                if is_ours(hook) or private.is_capturing(hook):
                    continue
                try:
                    _Trial(_Nowhere()).dump(hook)
                except Exception as error:
                    called = getattr(hook, "__qualname__", type(hook).__name__)
                    raise ModelError(
                        f"the hook {called} on {name or 'the model'} cannot be pickled, nor can its lens: "
                        "take it off, or make it a function at the top of a module"
                    ) from error


def _hooks(module: nn.Module) -> list[dict[int, Any]]:
    return [value for name, value in vars(module).copy().items() if "_hooks" in name and isinstance(value, dict)]


def is_ours(hook: Any) -> bool:
    """Whether a hook, or another function on a module, is of this package."""
    return str(getattr(hook, "__module__", "")).partition(".")[0] == _PACKAGE


class _Trial(pickle.Pickler):
    """Of what a hook holds beside modules and tensors."""

    def persistent_id(self, value: Any) -> str | None:
        return "" if isinstance(value, nn.Module | Tensor) else None


class _Nowhere:
    def write(self, _: bytes) -> None:
        pass
