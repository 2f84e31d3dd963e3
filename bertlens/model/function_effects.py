"""What a function does to what it is given, as its source says: whether it only looks on, and what it writes to.

A hook that returns nothing and writes to nothing that it was given is an observer: a counter, a logger. Where the
source does not tell, a run of the model does.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import textwrap
from collections import ChainMap
from collections.abc import Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

# Methods of containers, files and loggers that return nothing, whatever is given to them.
SILENT = frozenset(
    "append extend add update insert write writelines writerow debug info warning error log put record observe "
    "add_scalar add_histogram print".split()
)
# Methods that write to what they are of.
WRITING = SILENT | frozenset("pop popitem clear remove discard sort reverse setdefault fill put itemset".split())
VALUELESS = frozenset(("requires_grad_", "share_memory_"))  # methods in place that change no value
IN_PLACE = frozenset(("setattr", "delattr", "exec", "eval"))


class SourceEffects:
    """Of a function's syntax tree: does it change what it is given? True, False, or None where it does not say.

    notes: names, and attributes `self.x`, that it writes to or calls a silent method of, and that are not given to it.
    """

    def __init__(self, node: ast.AST, parameters: frozenset[str], names: Mapping[str, Any]):
        self.names, self.given, self.notes = names, set(parameters), set[str]()
        self.parameters = parameters
        self.writes: bool | None = False
        self.returns: bool | None = False
        body: Any = getattr(node, "body", [])
        nodes = [child for part in (body if isinstance(body, list) else [body]) for child in _walk(part)]
        for _ in range(3):  # what comes of the arguments is as they are
            for child in nodes:
                self._bind(child)
        returns = [child.value for child in nodes if isinstance(child, ast.Return) and child.value is not None]
        for value in returns if isinstance(body, list) else [body]:
            self._returned(value)
        for child in nodes:
            self._effect(child)
        self.names = {}  # a reading keeps nothing of the user's alive

    @property
    def changes(self) -> bool | None:
        """Whether it writes to what it is given, or may return something."""
        return _worst(self.returns, self.writes)

    def _write_to(self, changes: bool | None) -> None:
        self.writes = _worst(self.writes, changes)

    def _is_given(self, node: ast.AST | None) -> bool:
        return node is not None and any(isinstance(n, ast.Name) and n.id in self.given for n in ast.walk(node))

    def _bind(self, node: ast.AST) -> None:
        values: list[tuple[Any, Any]] = []
        if isinstance(node, ast.Assign):
            values = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            values = [(node.target, node.value)]
        elif isinstance(node, ast.For | ast.comprehension):
            values = [(node.target, node.iter)]
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            values = [(node.optional_vars, node.context_expr)]
        for target, value in values:
            if self._is_given(value):
                self.given |= {
                    n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }

    def _returned(self, value: ast.expr) -> None:
        if isinstance(value, ast.Constant) and value.value is None:
            return
        if isinstance(value, ast.Call):
            name = _method(value.func)
            if isinstance(value.func, ast.Attribute) and name in SILENT and not self._is_given(value.func.value):
                return
            if isinstance(value.func, ast.Name) and value.func.id == "print":
                return
            function = self.names.get(name)
            reading = _reading(function) if isinstance(function, FunctionType) else None
            self.returns = _worst(self.returns, None if reading is None else reading.returns)
        elif isinstance(value, ast.Name) and value.id in self.parameters:
            self.returns = _worst(self.returns, None)  # as it was given, perhaps
        elif isinstance(value, ast.IfExp):
            self._returned(value.body)
            self._returned(value.orelse)
        else:
            self.returns = True

    def _effect(self, node: ast.AST) -> None:
        targets: list[Any] = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = [part for target in node.targets for part in ast.walk(target)]
        elif isinstance(node, ast.AugAssign):
            targets = [*ast.walk(node.target)]
            if isinstance(node.target, ast.Name):
                self._write(node.target)
        for target in targets:
            if isinstance(target, ast.Subscript | ast.Attribute) and isinstance(target.ctx, ast.Store | ast.Del):
                self._write(target)
        if isinstance(node, ast.Call):
            self._call(node)

    def _write(self, target: ast.expr) -> None:
        root, place = _root(target)
        if root in self.given or root is None:
            self._write_to(True)
        else:
            self.notes.add(place)

    def _call(self, call: ast.Call) -> None:
        name = _method(call.func)
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        is_in_place = any(k.arg in ("out", "inplace") for k in call.keywords) and any(map(self._is_given, arguments))
        if name in IN_PLACE or is_in_place:
            self._write_to(True)
        elif isinstance(call.func, ast.Attribute):
            root, place = _root(call.func.value)
            is_library = isinstance(self.names.get(root or ""), ModuleType)
            if name in VALUELESS:
                return
            if root in self.given and name in WRITING:
                self._write_to(True)
            if name.endswith("_") and not name.endswith("__"):
                if self._is_given(call.func.value) or (call.args and self._is_given(call.args[0]) and root is None):
                    self._write_to(True)
                elif is_library:  # torch.relu_(x)
                    self._write_to(any(map(self._is_given, arguments)))
                elif root is not None:
                    self.notes.add(place)
            elif root is not None and root not in self.given and not self._is_given(call.func.value):
                if name in SILENT and not is_library:
                    self.notes.add(place)
                elif any(map(self._is_given, arguments)):
                    self._write_to(None)  # a library's function, which may write, or a method of the user's
        elif isinstance(call.func, ast.Name):
            function = self.names.get(name, getattr(builtins, name, None))
            if any(map(self._is_given, arguments)) and not hasattr(builtins, name) and name not in self.given:
                reading = _reading(function)
                self._write_to(None if reading is None else reading.writes)
        elif any(map(self._is_given, arguments)):
            self._write_to(None)


def _worst(a: bool | None, b: bool | None) -> bool | None:
    """True before None before False."""
    return True if True in (a, b) else None if None in (a, b) else False


def _walk(node: ast.AST) -> list[ast.AST]:
    """A node and those below it, functions within it apart."""
    nodes = [node]
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef):
            nodes += _walk(child)
    return nodes


def _method(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _root(node: ast.expr) -> tuple[str | None, str]:
    """The name that a place begins with, None where it begins with a call; and it, with its attribute of `self`."""
    attributes: list[str] = []
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Starred):
        if isinstance(node, ast.Attribute):
            attributes.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None, ""
    return node.id, f"self.{attributes[-1]}" if node.id == "self" and attributes else node.id


def effect(function: Any) -> bool | None:
    """Whether a function changes what it is given, or may return something: False for an observer, None where its
    source does not tell."""
    reading = _reading(function)
    return None if reading is None else reading.changes


def notes_of(function: Any) -> frozenset[str]:
    """What a function writes to: names of its closure or globals, and `self.x`; nothing where there is no source."""
    reading = _reading(function)
    return frozenset() if reading is None else frozenset(reading.notes)


def _reading(function: Any) -> SourceEffects | None:
    while isinstance(function, functools.partial):
        function = function.func
    bound = isinstance(function, MethodType)
    if not isinstance(function, FunctionType | MethodType):
        function, bound = vars(type(function)).get("__call__"), True
    plain: Any = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        return None
    if plain not in _readings:
        _readings[plain] = None  # of one that calls itself
        _readings[plain] = _read(plain, bound or plain.__code__.co_varnames[:1] == ("self",))
    return _readings[plain]


_readings: WeakKeyDictionary[FunctionType, SourceEffects | None] = WeakKeyDictionary()


def _read(function: FunctionType, bound: bool) -> SourceEffects | None:
    try:
        tree = _tree(function)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if tree is None:
        return None
    arguments: Any = tree.args  # type: ignore[attr-defined]
    parameters = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    parameters += [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]
    names = ChainMap(dict(inspect.getclosurevars(function).nonlocals), function.__globals__)
    return SourceEffects(tree, frozenset(parameters[1:] if bound else parameters), names)


def _tree(function: FunctionType) -> ast.AST | None:
    """The definition, or the lambda, of a function; None where its source holds several alike."""
    text = textwrap.dedent(inspect.getsource(function))
    code = function.__code__
    tree: ast.AST
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a lambda in the middle of an expression
        start = text.find("lambda")
        if start < 0:
            return None
        for end in range(len(text), start, -1):
            try:
                tree = ast.parse(text[start:end].strip().rstrip(","), mode="eval")
                break
            except SyntaxError:
                continue
        else:
            return None
    kinds = (ast.Lambda,) if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [*code.co_varnames[: code.co_argcount]]
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds)
        and [a.arg for a in (*node.args.posonlyargs, *node.args.args)] == names
        and getattr(node, "name", code.co_name) == code.co_name
    ]
    return nodes[0] if len(nodes) == 1 else None
