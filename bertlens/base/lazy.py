"""The names of a package, each imported when it is first used; who waits for torch and transformers is told so."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

LOADING = "loading torch and transformers …"
SLOW = ("torch", "transformers")  # ten seconds and more, the first time


class _Loading:
    """A finder that finds nothing: it hears which module is imported next, and says so before a slow one."""

    def __init__(self) -> None:
        self.clear: Callable[[], Any] | None = None

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        if name in SLOW and self.clear is None:
            self.clear = _shown(LOADING)


def _shown(text: str) -> Callable[[], Any]:
    """Say it in a notebook's cell or in a terminal, never where a program reads; how to take it away again."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        from IPython.display import display

        handle = display({"text/plain": text}, raw=True, display_id=True)
        return lambda: handle.update({"text/plain": ""}, raw=True)
    stderr = sys.stderr
    if stderr is None or not stderr.isatty():
        return lambda: None
    print(text, end="", file=stderr, flush=True)
    return lambda: print(f"\r{' ' * len(text)}\r", end="", file=stderr, flush=True)


@contextmanager
def _told_of_loading() -> Iterator[None]:
    """What the block imports, for the outermost of such blocks."""
    loading = _Loading()
    if any(isinstance(finder, _Loading) for finder in sys.meta_path) or all(name in sys.modules for name in SLOW):
        yield
        return
    sys.meta_path.insert(0, loading)
    try:
        yield
    finally:
        sys.meta_path.remove(loading)
        if loading.clear is not None:
            loading.clear()


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
        with _told_of_loading():
            module = import_module(f".{home or name}", package)
        value = module if home is None else getattr(module, original)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted([*own, *(name for name, (_, original) in homes.items() if name == original)])
    return attribute, lambda: names, [name for name in names if name in own or homes[name][0] is not None]
