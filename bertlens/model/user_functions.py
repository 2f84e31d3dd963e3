"""Which functions of the user's make a model's numbers: hooks that do not only look on, patched forwards, attention
functions, classes.

Hooks of this package and of transformers, and what accelerate puts on a module, are none of them. Whether a hook only
looks on says its source (`function_effects`); where that does not tell, a run of the model on trial texts has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn
from torch.nn.modules import module as of_torch

from . import transformers_private as private
from .function_effects import effect
from .functions import content, is_users
from .loan import is_ours

TABLES = ("_forward_pre_hooks", "_forward_hooks")
OF_ALL = {"_forward_pre_hooks": "_global_forward_pre_hooks", "_forward_hooks": "_global_forward_hooks"}
ATTENTION = {
    "attention function": private.ALL_ATTENTION_FUNCTIONS,
    "mask function": private.ALL_MASK_ATTENTION_FUNCTIONS,
}
ACCELERATE = "accelerate"
_observers: dict[tuple[int, int], tuple[Any, bool]] = {}  # of hook and module, what a run has told; the hook lives on


def digests(modules: dict[str, nn.Module], opaque: Callable[[Any], str]) -> tuple[tuple[str, str], ...]:
    """By name, what each function holds; () for a model without any. opaque: as of `functions.content`."""
    functions = [*functions_on(modules)]
    if not functions:
        return ()
    names = {id(module): name for name, module in modules.items()}
    return tuple((name, content(function, names, opaque)) for name, function in functions)


def functions_on(modules: dict[str, nn.Module]) -> Iterator[tuple[str, Any]]:
    """The functions of the user's that may change an answer, with a name for each."""
    for name, hook, owner, _ in hooks_on(modules):
        if _changes(hook, owner) is not False:
            yield name, hook
    kinds: set[Any] = {*map(type, modules.values())}
    configs: dict[int, Any] = {}
    for name, module in modules.items():
        state = module.__dict__
        if "config" in state:
            configs[id(state["config"])] = state["config"]
        if "forward" in state and not is_ours(state["forward"]) and not _of_accelerate(state["forward"]):
            yield f"forward of {name or 'the model'}", state["forward"]
    for kind in sorted(kinds, key=lambda kind: kind.__qualname__):
        if is_users(kind) or is_users(kind.forward):
            yield f"class {kind.__qualname__}", kind if is_users(kind) else kind.forward
    for implementation in sorted({*map(private.attention_of, configs.values())} - {None}):  # type: ignore[type-var]
        for what, table in ATTENTION.items():
            if is_users(function := table.get(implementation)):
                yield f"{what} {implementation}", function
        if implementation == "eager":
            for place in {kind.__module__ for kind in kinds}:
                if is_users(eager := getattr(sys.modules.get(place), "eager_attention_forward", None)):
                    yield f"attention function of {place}", eager


def hooks_on(modules: dict[str, nn.Module]) -> Iterator[tuple[str, Any, Any, tuple[dict[int, Any], int]]]:
    """Name, hook, its module (None: of all) and where it is, in the order in which they run."""
    for table in TABLES:
        for key, hook in [*getattr(of_torch, OF_ALL[table]).items()]:
            if not (is_ours(hook) or private.is_capturing(hook)):
                yield f"hook {called(hook)} of all modules", hook, None, (getattr(of_torch, OF_ALL[table]), key)
    for name, module in modules.items():
        for table in TABLES:
            if hooks := module.__dict__[table]:
                for key, hook in [*hooks.items()]:
                    if not (is_ours(hook) or private.is_capturing(hook) or _of_accelerate(hook)):
                        yield f"hook {called(hook)} of {name or 'the model'}", hook, module, (hooks, key)


def unclear(modules: dict[str, nn.Module]) -> bool:
    """Whether there is a hook of which neither the source nor a run has told whether it only looks on."""
    return any(_changes(hook, owner) is None for _, hook, owner, _ in hooks_on(modules))


def tell(hook: Any, owner: Any, changes: bool) -> None:
    """What a run has shown of a hook: whether it changed anything."""
    if len(_observers) > 1000:
        _observers.clear()
    _observers[id(hook), id(owner)] = hook, changes


def _changes(hook: Any, owner: Any) -> bool | None:
    changes = effect(hook)
    if changes is None and (known := _observers.get((id(hook), id(owner)))) is not None:
        return known[1]
    return changes


def called(function: Any) -> str:
    """The name of a function in a sentence."""
    function = getattr(function, "func", function)  # of a partial
    return str(getattr(function, "__qualname__", type(function).__qualname__)).rpartition(".<locals>.")[2]


def _of_accelerate(function: Any) -> bool:
    function = getattr(function, "func", function)
    return str(getattr(function, "__module__", "")).partition(".")[0] == ACCELERATE
