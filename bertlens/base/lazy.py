"""The names of a package, each imported when it is first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy(package: str, file: str, *own: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, read off what its file imports `if TYPE_CHECKING`.

    So each name stands once, where type checkers look. `from .module import name as name` is a name of the package,
    `from . import module as module` is in dir() alone, a name `as` another an old one, which is not listed.
    own: names that the file itself has.
    """
    homes: dict[str, tuple[str | None, str]] = {}  # name -> module (None: itself one), its name there
    for block in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        for line in block.body if isinstance(block, ast.If) else ():
            if isinstance(line, ast.ImportFrom):
                homes |= {alias.asname or alias.name: (line.module, alias.name) for alias in line.names}

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        module = import_module(f".{home or name}", package)
        value = module if home is None else getattr(module, original)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted([*own, *(name for name, (_, original) in homes.items() if name == original)])
    return attribute, lambda: names, [name for name in names if name in own or homes[name][0] is not None]
