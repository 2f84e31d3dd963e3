"""What differs on Windows and macOS, as far as it can be had on this system: encodings, open files, names of paths."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
import layers
from bertlens.base import atomic
from bertlens.base.shards import Shard
from bertlens.cli import command_line as cli
from bertlens.errors import ExportError
from bertlens.search import vector_shards, vectors, vectors_file
from unit import tiny

ROOT = Path(__file__).resolve().parents[2]
# A system whose files are not in UTF-8 where nobody says so, and whose output knows few letters: open() then takes
# ASCII, which has fewer letters than cp1252, so whoever forgets to name an encoding fails here too.
WINDOWS = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "cp1252:strict"}
ON_WINDOWS = """
import locale, sys
assert locale.getpreferredencoding(False).upper() not in ("UTF-8", "UTF8"), locale.getpreferredencoding(False)
from pathlib import Path
import bertlens as bl
from bertlens.cli import command_line as cli
from bertlens.export import space
from unit import tiny

folder = Path(sys.argv[1])
lens = bl.Lens(tiny.bert(), tiny.wordpiece())
trace = lens.trace("the cat − Кот 猫")
page = trace.explore().to_html(folder / "page.html", progress=False)
assert cli.main(["publish", str(page), "--to", str(folder / "web"), "--title", "Кот"]) == 0
assert "猫" in (folder / "web" / "README.md").read_text(encoding="utf-8")
(folder / "texts.csv").write_bytes("text\\nthe cat − Кот\\n".encode("utf-8-sig"))
stats = bl.survey.head_stats(lens, folder / "texts.csv", progress=False)
stats.save(folder / "stats.npz")
assert bl.survey.HeadStats.load(folder / "stats.npz").n_texts == 1
print("a sign of its own: −")  # of a sentence; cp1252 has none
assert cli.main(["skill"]) == 0
assert cli.main(["publish", "Кот.html", "--to", str(folder / "other")]) == 2
"""


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny.bert(), tiny.wordpiece())


@pytest.mark.sampled(5, of="processes")
@pytest.mark.slow
def test_a_system_that_is_not_in_utf_8(tmp_path):
    (tmp_path / "script.py").write_text(ON_WINDOWS, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path)]
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    done = subprocess.run(command, capture_output=True, cwd=ROOT, env=os.environ | WINDOWS | paths)
    assert done.returncode == 0, done.stderr.decode("cp1252", "replace")[-2000:]
    assert b"a sign of its own: ?\n" in done.stdout
    assert "‖αf(x)‖".encode() in done.stdout  # the skill is a file, in UTF-8 wherever it goes
    assert done.stderr.startswith(b"bertlens: ") and b"???.html" in done.stderr  # which such a system cannot name


def test_text_files_are_opened_with_an_encoding_that_is_named():
    """Else the system's own is taken: on Windows another one in each country."""
    sources = [*(ROOT / "notebooks").rglob("*.py"), ROOT / "hatch_build.py"]
    trees = layers.trees() | {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in sources}
    places = [
        f"{name}:{node.lineno} {ast.unparse(node)[:60]}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and takes_the_systems(node)
    ]
    assert len(trees) > 300 and places == []


def takes_the_systems(call: ast.Call) -> bool:
    """Whether it opens a text file, or a process whose output is text, without an encoding."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    named = {word.arg: word.value for word in call.keywords}
    if "encoding" in named or ast.unparse(call.func) == "archive.open":  # of a ZipFile, which takes bytes
        return False
    if name in ("run", "Popen", "check_output"):
        return "text" in named
    if name == "read_text":
        return not call.args
    if name == "write_text":
        return len(call.args) < 2
    modes = [*call.args[:2], *([named["mode"]] if "mode" in named else [])]
    words = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return name == "open" and (words == ["w"] or words == ["r"] or ast.unparse(call) in ("open(path)", "path.open()"))


@pytest.mark.parametrize("line", ["path.read_text()", "path.open('w')", "open(path)", "subprocess.run([], text=True)"])
def test_one_without_is_seen(line: str):
    [statement] = ast.parse(line).body
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    assert takes_the_systems(statement.value)


def test_paths_with_blanks_and_umlauts(lens, tmp_path, capsys):
    folder = tmp_path / "Prüfung 1 – Übung %20#a"
    folder.mkdir()
    page = lens.trace("the cat sat").explore().to_html(folder / "Ägypten & Käse.html", progress=False)
    web = folder / "meine Seite"
    assert cli.main(["publish", str(page), "--to", str(web)]) == 0
    assert f"python -m http.server -d {web}" in capsys.readouterr().out.replace("'", "").replace('"', "")
    (folder / "texte ä.txt").write_text("the cat sat\nit was warm\n", encoding="utf-8")
    stats = bl.survey.head_stats(lens, folder / "texte ä.txt", save=folder / "zahlen ö.npz", progress=False)
    assert bl.survey.HeadStats.load(folder / "zahlen ö.npz").n_texts == stats.n_texts == 2


def test_a_file_that_another_program_has_open(tmp_path, monkeypatch):
    """Windows refuses to replace it, though the folder can be written in."""
    target, busy = tmp_path / "page.html", [3]
    target.write_text("before")
    replace = os.replace

    def replaced(draft: Any, path: Any) -> None:
        busy[0] -= 1
        if busy[0] >= 0:
            raise PermissionError(13, "Access is denied")
        replace(draft, path)

    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(atomic.time, "sleep", lambda _: None)
    atomic.text_file("after", target)  # a scanner that looks at it for a moment
    assert target.read_text() == "after"
    busy[0] = 100
    with pytest.raises(
        ExportError, match=r"page\.html cannot be replaced \(Access is denied\): if another program has it"
    ):
        atomic.text_file("again", target)
    assert target.read_text() == "after" and [path.name for path in tmp_path.iterdir()] == ["page.html"]


def is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text(encoding="utf-8")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not say which files are mapped")
def test_a_file_that_is_mapped_is_neither_replaced_nor_removed(lens, tmp_path, monkeypatch):
    """Windows refuses both."""
    replace, unlink = os.replace, Path.unlink

    def replaced(draft: Any, path: Any) -> None:
        if is_mapped(Path(path)):
            raise OSError(22, "The requested operation cannot be performed on a file with a user-mapped section open")
        replace(draft, path)

    def removed(path: Path, missing_ok: bool = False) -> None:
        if is_mapped(path):
            raise PermissionError(13, "Access is denied")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(Path, "unlink", removed)
    monkeypatch.setattr(vectors, "IS_WINDOWS", True)
    monkeypatch.setattr(vectors_file, "MAPPED", 0)
    texts, file = ["the cat sat", "it was warm", "the mat", "a cat on it"], tmp_path / "vectors.safetensors"
    for n in (2, 3, 4):
        mapped = vectors.encoded(lens, texts[:n], None, file=file, progress=False)
        assert len(mapped) == n and is_mapped(file)
        del mapped
    vector_shards.run_shard(lens, texts, tmp_path / "1.npz", Shard(1, 1), int8=False, batch_size=1)
    assert {path.name for path in tmp_path.iterdir()} == {"1.npz", file.name}


def test_line_ends_are_those_of_the_repository():
    """Files of text are written as bytes: else Windows puts its own ends into them."""
    written = [
        f"{name}:{node.lineno}"
        for name, tree in layers.trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "write_text"
    ]
    assert written == []
    rules = (ROOT / ".gitattributes").read_text(encoding="utf-8")
    assert "* text=auto eol=lf\n" in rules
    listing = subprocess.run(["git", "ls-files", "--eol"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    assert [line for line in listing.stdout.splitlines() if line.startswith(("i/crlf", "i/mixed"))] == []
