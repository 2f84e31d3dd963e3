"""The names of a package, each imported when it is first used; who waits for torch and transformers is told so."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

LOADING = "loading {} …"
SLOW = ("torch", "transformers")  # ten seconds and more, the first time


class _Loading:
    """A finder that finds what the others do: who imports a slow module, by our names or alone, reads so at once.

    The line stays until the outermost block is left, since more of the two is imported by a name of ours.
    """

    def __init__(self) -> None:
        self.blocks = 0
        self.line: Callable[[str], Any] | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in SLOW:
            return None
        finders = [finder.find_spec for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        spec = next(filter(None, (find(name, path, target) for find in finders)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                with self.block():
                    self.line = self.line or line()
                    self.line(LOADING.format(name))
                    execute(module)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec

    @contextmanager
    def block(self) -> Iterator[None]:
        self.blocks += 1
        try:
            yield
        finally:
            self.blocks -= 1
            if self.blocks == 0 and self.line is not None:
                self.line("")
                self.line = None


def line() -> Callable[[str], Any]:
    """A line in a notebook's cell or in a terminal, never where a program reads: what to call with its next text."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        from IPython.display import display

        handle = display({"text/plain": ""}, raw=True, display_id=True)
        return lambda text: handle.update({"text/plain": text}, raw=True)
    stderr = sys.stderr
    if stderr is None or not stderr.isatty():
        return lambda text: None
    blank = "\r" + " " * len(LOADING.format(SLOW[-1])) + "\r"
    return lambda text: print(f"{blank}{text}", end="", file=stderr, flush=True)


_loading = _Loading()
sys.meta_path.insert(0, _loading)


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
                home = line.module and "." * line.level + line.module
                homes |= {alias.asname or alias.name: (home, alias.name) for alias in line.names}

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        with _loading.block():
            module = import_module(home or f".{name}", package)
        value = module if home is None else getattr(module, original)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted([*own, *(name for name, (_, original) in homes.items() if name == original)])
    return attribute, lambda: names, [name for name in names if name in own or homes[name][0] is not None]
