"""Whoever waits for torch reads why, at once; what a program reads has no word of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bertlens.base import lazy as lazy_module
from bertlens.base.lazy import LOADING, lazy

pty = pytest.importorskip("pty")
BLANK = f"\r{' ' * len(LOADING.format('transformers'))}\r"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a name that needs "torch", one that needs nothing, and a torch that says when it is imported."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\nfrom bertlens.base.lazy import lazy\n"
        "if TYPE_CHECKING:\n    from .slow import slow as slow\n    from .quick import quick as quick\n"
        "__getattr__, __dir__, __all__ = lazy(__name__, __file__)\n"
    )
    (tmp_path / "toy" / "slow.py").write_text("import torch\nimport transformers\nslow = 1\n")
    (tmp_path / "toy" / "quick.py").write_text("quick = 2\n")
    (tmp_path / "torch.py").write_text("import sys\nprint('[torch]', end='', file=sys.stderr, flush=True)\n")
    (tmp_path / "transformers.py").write_text("")
    return tmp_path


def told(package: Path, code: str, printed: str) -> str:
    """What a terminal reads beside what is printed."""
    ours, theirs = pty.openpty()
    assert run(package, code, theirs) == printed
    os.close(theirs)
    text = os.read(ours, 1000).decode()
    os.close(ours)
    return text


def run(package: Path, code: str, stderr: int) -> str:
    path = os.pathsep.join([str(package), str(Path(lazy_module.__file__).parents[2])])
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=stderr, env={**os.environ, "PYTHONPATH": path}, text=True, check=True
    ).stdout


def test_a_terminal_is_told_before_torch_is_loaded_and_the_line_goes(package: Path) -> None:
    said = told(package, "import toy; print(toy.quick, toy.slow, toy.slow)", "2 1 1\n")
    assert said == f"{BLANK}{LOADING.format('torch')}[torch]{BLANK}{LOADING.format('transformers')}{BLANK}"


def test_so_is_who_imports_torch_itself_or_a_module_of_ours_that_needs_it(package: Path) -> None:
    alone = f"{BLANK}{LOADING.format('torch')}[torch]{BLANK}"
    assert told(package, "import toy, torch; print(1)", "1\n") == alone
    also = f"{BLANK}{LOADING.format('transformers')}{BLANK}"
    assert told(package, "from toy import slow; print(1)", "1\n") == alone.removesuffix(BLANK) + also
    assert told(package, "import toy.slow; print(toy.slow.slow)", "1\n") == alone + also


def test_who_only_asks_whether_torch_is_there_is_told_nothing(package: Path) -> None:
    asks = "import toy, importlib.util as util, sys; print(util.find_spec('torch').name); print('!', file=sys.stderr)"
    assert told(package, asks, "torch\n") == "!\r\n"


def test_a_program_that_reads_is_told_nothing(package: Path, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b") as log:
        assert run(package, "import toy; print(toy.slow)", log.fileno()) == "1\n"
        log.seek(0)
        assert log.read() == b"[torch]"


def test_a_notebook_shows_the_line_until_it_is_loaded(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(data: dict[str, str], **_: object) -> object:
        shown.append(data["text/plain"])
        return SimpleNamespace(update=display)

    import IPython
    import IPython.display

    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=1))
    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(lazy_module, "SLOW", ("toy_torch",))
    (package / "toy_torch.py").write_text("")
    (package / "toy" / "slow.py").write_text("import toy_torch\nslow = 1\n")
    monkeypatch.syspath_prepend(str(package))
    get, _, _ = lazy("toy", str(package / "toy" / "__init__.py"))
    assert get("quick") == 2 and shown == []
    loading = ["", LOADING.format("toy_torch"), ""]
    assert get("slow") == 1 and shown == loading
    assert get("slow") == 1 and shown == loading
