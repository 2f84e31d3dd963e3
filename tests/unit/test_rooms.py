"""Core and rooms: what stands on what, what rooms take of the core, and a package without a room of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import pytest

import layers
import rooms

ROOT = layers.PACKAGE.parent
# Names that rooms import of the core though no `__init__` lists them and the reference has them not; it may only fall.
NOT_PUBLIC = 119
PAGE = ROOT / "js" / "src"
# Files of the page that import from a room's folder without being of it: they may only become fewer.
INTO_PAGE_FOLDERS = {
    "survey": {"style/index.css", "tabs/atlastable.tsx", "tabs/tabs.ts"},
    "lessons": {"frame/explorer.tsx", "style/index.css"},
    "similarity": {"frame/explorer.tsx", "front/sentence/field.ts", "style/index.css", "tabs/tabs.ts"},
    "search": set(),
    "tasks": {
        *("frame/explorer.tsx", "style/index.css", "tabs/tabs.ts"),
        *("front/answer.tsx", "front/front.tsx", "front/sentence/sentence.tsx"),  # the first screen of an example
    },
}
# What a copy without rooms leaves behind: data of megabytes, which no import reads.
HEAVY = shutil.ignore_patterns("__pycache__", "*.safetensors", "*.npz", "*.gz")


def test_every_folder_is_of_the_core_or_of_a_room() -> None:
    """A new one is named in tests/rooms.py: as a room, in the order in which they stand on each other, or as core."""
    named = {home.split(".")[0] for home in rooms.ROOMS.values()} | {*rooms.CORE, *rooms.OUTSIDE}
    assert {module.split(".")[0] for module in layers.arrows()} == named
    assert all(home in layers.modules() for home in rooms.ROOMS.values())


def test_rooms_stand_on_rooms_in_one_order() -> None:
    assert rooms.upward() == set()
    assert "survey.treebank" in layers.arrows()["search.edits"]


def test_the_core_knows_no_room() -> None:
    """But for `room` and `registered` of base/registered.py; each import that is left has its reason."""
    assert rooms.into_rooms() == rooms.INTO_ROOMS.keys()
    assert len(rooms.INTO_ROOMS) <= 4


def test_rooms_take_public_names_of_the_core() -> None:
    """Whoever needs one that is not makes it public, in the `__init__` of its package, where it is right for others."""
    names = rooms.not_public()
    assert len(names) <= NOT_PUBLIC, "\n".join(["more than there were:", *names])
    assert {
        "base.amounts.amount",
        "errors.InputError",
        "lens.Lens",
        "measures.norms.weighted_norm",
    } <= rooms.borrowed().keys()
    assert not {"base.amounts.amount", "errors.InputError", "measures.norms.weighted_norm"} & {*names}


def page_imports(folder: str) -> set[str]:
    """The files of js/src outside a folder that import from it."""
    paths = [path for path in PAGE.rglob("*") if path.suffix in (".ts", ".tsx", ".css")]
    return {
        path.relative_to(PAGE).as_posix()
        for path in paths
        if not path.is_relative_to(PAGE / folder)
        for name in re.findall(r'(?:from|import|@import) "(\.[^"]*)"', path.read_text(encoding="utf-8"))
        if (path.parent / name).resolve().is_relative_to((PAGE / folder).resolve())
    }


def test_the_page_knows_its_rooms_where_it_is_listed() -> None:
    assert {room: page_imports(folder) for room, folder in rooms.PAGE_FOLDERS.items()} == INTO_PAGE_FOLDERS


def without(room: str, folder: Path) -> list[str]:
    """Copies the package into a folder without a room and what stands on it; the names of the modules left."""
    gone = rooms.standing_on(room)
    shutil.copytree(layers.PACKAGE, folder / "bertlens", ignore=HEAVY)
    for module in gone:
        path = folder / layers.modules()[module].relative_to(ROOT)
        path.unlink()
    for module in gone:  # a folder that is empty now is no package
        path = (folder / layers.modules()[module].relative_to(ROOT)).parent
        if path.is_dir() and not any(path.rglob("*.py")):
            shutil.rmtree(path)
    return sorted(set(layers.modules()) - gone - ({"sphinxext"} if find_spec("sphinx") is None else set()))


def import_all(folder: Path, modules: list[str]) -> None:
    """In a process of its own, which has torch already: raises what the import of a module raises."""
    for name in [name for name in sys.modules if name.split(".")[0] == "bertlens"]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    for module in modules:
        import_module(f"bertlens.{module}".rstrip("."))
    assert str(sys.modules["bertlens"].__file__).startswith(str(folder))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("room", rooms.ROOMS)
def test_without_a_room_all_others_can_be_imported(room: str, tmp_path: Path) -> None:
    modules = without(room, tmp_path)
    assert not any(rooms.room_of(module) == room for module in modules) and "lens" in modules and "widgets" in modules
    process = get_context("fork").Process(target=import_all, args=(tmp_path, modules))
    process.start()
    process.join()
    assert process.exitcode == 0  # what was raised stands in stderr


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("room", rooms.ROOMS)
def test_without_a_room_types_agree(room: str, tmp_path: Path) -> None:
    """But in commands, which import what they need when they are given, and where the core names a room's types."""
    without(room, tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    if (cache := ROOT / ".mypy_cache").is_dir():  # of torch and transformers, which take minutes
        shutil.copytree(cache, tmp_path / ".mypy_cache")
    mypy = [sys.executable, "-m", "mypy", "--no-error-summary", "-p", "bertlens"]
    done = subprocess.run(mypy, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True)
    known = {
        "bertlens/cli",
        *(f"bertlens/{core.replace('.', '/')}" for core, _ in rooms.INTO_ROOMS),
        "bertlens/__init__.py",
    }
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line for line in errors if not line.startswith(tuple(known))] == []
    assert done.stderr == ""


@pytest.mark.long
@pytest.mark.parametrize("room", [room for room, files in INTO_PAGE_FOLDERS.items() if not files])
def test_without_a_room_the_page_is_bundled(room: str, tmp_path: Path) -> None:
    folder = rooms.PAGE_FOLDERS[room]
    gone = shutil.ignore_patterns(folder)
    shutil.copytree(PAGE, tmp_path / "src", ignore=lambda at, names: gone(at, names) if Path(at) == PAGE else set())
    for name in ("package.json", "tsconfig.json"):
        shutil.copy(PAGE.parent / name, tmp_path)
    (tmp_path / "node_modules").symlink_to((PAGE.parent / "node_modules").resolve())
    for command in (
        ["node_modules/.bin/tsc", "--noEmit"],
        ["node_modules/.bin/esbuild", "src/index.tsx", "--bundle", "--format=iife", "--outfile=page.js"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "page.js").stat().st_size > 300_000 and not (tmp_path / "src" / folder).exists()
