"""Names that stand once, under `if TYPE_CHECKING`, are there when they are asked for and cost nothing before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = """
from typing import TYPE_CHECKING
from bertlens.base.lazy import lazy

if TYPE_CHECKING:
    from . import plots as plots
    from .deep.heads import Head as Head
    from .deep.heads import head as head
    from .deep.heads import head as former

__version__ = "1"
__getattr__, __dir__, __all__ = lazy(__name__, __file__, "__version__")
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a package of that text."""
    name, folder = "lazy_names", tmp_path / "lazy_names"
    (folder / "deep").mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "plots.py").write_text("")
    (folder / "deep" / "__init__.py").write_text("")
    (folder / "deep" / "heads.py").write_text("class Head: ...\n\n\ndef head(): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[module]


def test_names_are_imported_when_they_are_used(package: str) -> None:
    made = __import__(package)
    loaded = lambda: sorted(name for name in sys.modules if name.startswith(f"{package}."))  # noqa: E731
    assert made.__all__ == ["Head", "__version__", "head"]
    assert dir(made) == ["Head", "__version__", "head", "plots"] and loaded() == []
    assert made.head.__name__ == "head" and made.former is made.head and "head" in vars(made)
    assert loaded() == [f"{package}.deep", f"{package}.deep.heads"]
    assert made.plots is sys.modules[f"{package}.plots"]


def test_a_name_that_is_not_there_is_refused_as_python_does(package: str) -> None:
    made = __import__(package)
    with pytest.raises(AttributeError, match="module 'lazy_names' has no attribute 'tail'"):
        made.tail  # noqa: B018
    with pytest.raises(ImportError):
        exec(f"from {package} import tail")
    assert not hasattr(made, "TYPE")
