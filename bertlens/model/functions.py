"""Functions of the user's on a model (hooks, patched forwards, attention functions, classes): what each holds, as text.

Code that is installed goes by its name; the user's by its instructions and by what they reach: defaults, closure,
globals, the object that a method is of, what a partial was given. What a function only writes to, as a counter or a
log, is none of it.
"""

from __future__ import annotations

import functools
import hashlib
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn

from .function_effects import notes_of
from .modules import plain_tensors

LIBRARIES = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}


def folder_of(package: ModuleType) -> str:
    """Where a package was installed beside others, which may be another environment's folder; of a checkout its own."""
    folder = Path(str(package.__file__)).parent
    return str(folder.parent if any(folder.parent.glob("*.dist-info")) else folder)


BORROWED = {folder_of(torch), folder_of(transformers)}  # by a path file or PYTHONPATH
PATHS = tuple({*LIBRARIES, *site.getsitepackages(), site.getusersitepackages(), *BORROWED, "<frozen"})
PACKAGE = __name__.partition(".")[0]
SCALAR = (int, float, complex, str, bytes, bool, type(None), type(...), torch.dtype, torch.device, torch.Size)
DEPTH = 12  # of what holds what
INSTANCE = frozenset(dir(type("", (), {})))  # what every class has


class Opaque(Exception):
    """Something that a function holds and that nothing tells apart from another; says what."""


def is_users(function: Any) -> bool:
    """Whether a function, or a class, is neither installed nor of this package."""
    if isinstance(function, functools.partial):
        return is_users(function.func) or any(map(is_users, (*function.args, *function.keywords.values())))
    if isinstance(function, MethodType):
        return is_users(function.__func__)
    if isinstance(function, FunctionType):
        name = function.__globals__.get("__name__", "")
        wrapper: Any = vars(function).get("__wrapped__")
        return not (_is_installed(function.__code__) or _is_ours(name)) or (wrapper is not None and is_users(wrapper))
    if isinstance(function, type):
        return any(_is_users_class(kind) for kind in function.__mro__)
    return not isinstance(function, BuiltinFunctionType) and callable(function) and is_users(type(function))


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


@functools.lru_cache(4096)
def _is_installed(code: CodeType) -> bool:
    return code.co_filename.startswith(PATHS)


@functools.lru_cache(1024)
def _is_users_class(kind: type) -> bool:
    """By where it is defined, in a notebook too."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    is_built_in = module is not None and file is None and kind.__module__ != "__main__"
    return not (_is_ours(kind.__module__) or is_built_in or (file or "").startswith(PATHS))


def content(value: Any, of_model: dict[int, str], opaque: Callable[[Any], str]) -> str:
    """A hash of a function and all that it holds. of_model: names of the model's modules, by identity, whose settings
    and weights are looked at elsewhere. opaque: the text of an object that nothing tells apart, or raises."""
    return hashlib.sha256("\n".join(_texts(value, of_model, opaque, {}, 0)).encode("utf-8", "replace")).hexdigest()[:16]


def _texts(
    value: Any, of_model: dict[int, str], opaque: Callable[[Any], str], memo: dict[int, tuple[int, Any]], depth: int
) -> Iterator[str]:
    """The text of a value, piece by piece."""

    def of(*values: Any) -> Iterator[str]:
        for each in values:
            yield from _texts(each, of_model, opaque, memo, depth + 1)

    if isinstance(value, SCALAR):
        yield f"{type(value).__name__} {value!r}"
        return
    if id(value) in of_model:
        yield f"module {of_model[id(value)]}"
        return
    if id(value) in memo or depth > DEPTH:
        yield f"see {memo.get(id(value), ('above',))[0]}"
        return
    memo[id(value)] = len(memo), value  # which lives on: another would have its identity
    yield type(value).__qualname__
    if isinstance(value, Tensor | np.ndarray | np.generic):
        yield numbers(value)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from of(key, each)
    elif isinstance(value, list | tuple):
        yield from of(*value)
    elif isinstance(value, set | frozenset):
        yield from sorted(" ".join(of(each)) for each in value)
    elif isinstance(value, functools.partial):
        yield from of(value.func, value.args, value.keywords)
    elif isinstance(value, MethodType):
        notes = notes_of(value.__func__)
        yield from of(value.__func__)
        if id(value.__self__) in of_model:
            yield f"module {of_model[id(value.__self__)]}"
        elif is_users(value.__func__):
            yield from _object(value.__self__, notes, of)
        else:
            yield from of(value.__self__)
    elif isinstance(value, nn.Module):  # beside the model
        yield from of(type(value), {**value.state_dict()}, value.training)
    elif isinstance(value, ModuleType | BuiltinFunctionType) or (callable(value) and not is_users(value)):
        yield from _name(value, of)
    elif isinstance(value, FunctionType):
        yield from _function(value, of)
    elif isinstance(value, type):
        for kind in filter(_is_users_class, value.__mro__):
            members = {name: each for name, each in vars(kind).items() if name not in INSTANCE and name[:2] != "__"}
            calls = {name: vars(kind)[name] for name in ("__call__", "__init__") if name in vars(kind)}
            for name, each in (members | calls).items():
                if isinstance(each, (FunctionType, Tensor, *SCALAR)):
                    yield name
                    yield from of(each)
    elif hasattr(value, "__dict__") and is_users(type(value)):
        yield from of(type(value))
        notes = notes_of(type(value).__call__) if callable(value) else frozenset[str]()
        yield from _object(value, notes, of)
    else:
        yield opaque(value)


def _name(value: Any, of: Callable[..., Iterator[str]]) -> Iterator[str]:
    yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))}"
    if not isinstance(value, type | FunctionType | BuiltinFunctionType | ModuleType) and hasattr(value, "__dict__"):
        yield from of({name: each for name, each in vars(value).items() if isinstance(each, SCALAR)})


def _object(value: Any, notes: frozenset[str], of: Callable[..., Iterator[str]]) -> Iterator[str]:
    """The attributes of an object, those apart that its method only writes to."""
    for name, each in [*vars(value).items()]:
        if f"self.{name}" not in notes:
            yield name
            yield from of(each)


def _function(function: FunctionType, of: Callable[..., Iterator[str]]) -> Iterator[str]:
    notes = notes_of(function)
    yield from _code(function.__code__)
    yield from of(function.__defaults__, function.__kwdefaults__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name not in notes:
            yield name
            try:
                yield from of(cell.cell_contents)
            except ValueError:  # an empty cell
                yield "nothing"
    names = sorted(_names(function.__code__))
    for name in names:
        if name in function.__globals__ and name not in notes:
            yield name
            value = function.__globals__[name]
            yield from of(value)
            if isinstance(value, ModuleType):  # functions of a module of the user's
                yield from of([each for each in map(vars(value).get, names) if is_users(each)])


def _code(code: CodeType) -> Iterator[str]:
    yield f"{code.co_code!r} {code.co_names} {code.co_varnames}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        elif isinstance(constant, frozenset):
            yield f"{sorted(map(repr, constant))}"
        else:
            yield repr(constant)


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def numbers(value: Any) -> str:
    """A hash of the numbers of a tensor, an array or a scalar of numpy, their type and shape."""
    if isinstance(value, Tensor):
        of = f"{tuple(value.shape)} {value.dtype}"
        if value.is_meta:
            return of
        plain = [*plain_tensors("its numbers", value)]
        if len(plain) > 1 or plain[0][1] is not value:
            return " ".join([of, *(f"{name} {numbers(tensor)}" for name, tensor in plain)])
        tensor = value.detach()
        tensor = tensor.to_dense() if tensor.layout != torch.strided else tensor
        tensor = tensor.dequantize() if tensor.is_quantized else tensor
        array = tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    else:
        array = np.ascontiguousarray(value)
        of = f"{array.shape} {array.dtype}"
        if array.dtype == object:
            return f"{of} {value!r}"
    return f"{of} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"
