"""Files are whole or not there, and have one writer at a time."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bertlens import ExportError, InputError, Lens, Trace
from bertlens.base.atomic import claimed, replacing
from bertlens.export import save_csv, save_npz
from unit import tiny


@contextmanager
def full_disk(room: int = 1000) -> Iterator[None]:
    """No file may grow beyond `room` bytes: writing fails in the middle, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Lens(tiny.bert(), tiny.wordpiece()).trace("the cat sat on the mat")


WRITERS: dict[str, Callable[[Trace, Path], object]] = {
    "page": lambda trace, path: trace.explore().to_html(path),
    "csv": lambda trace, path: save_csv(trace, 0, 0, path),
    "npz": save_npz,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_disk_that_is_full_leaves_what_was_there(trace: Trace, tmp_path: Path, writer: str) -> None:
    write = WRITERS[writer]
    path = tmp_path / "file.npz"
    with full_disk(), pytest.raises(ExportError, match=r"file\.npz cannot be written \("):
        write(trace, path)
    assert not list(tmp_path.iterdir())
    path.write_text("before")
    with full_disk(), pytest.raises(ExportError):
        write(trace, path)
    assert [file.name for file in tmp_path.iterdir()] == ["file.npz"] and path.read_text() == "before"
    write(trace, path)
    assert path.stat().st_size > 1000 and len(list(tmp_path.iterdir())) == 1
    (tmp_path / "folder.npz").mkdir()
    for wrong in (tmp_path / "folder.npz", tmp_path / "no" / "file.npz"):
        with pytest.raises(ExportError, match="cannot be written"):
            write(trace, wrong)
    assert not list((tmp_path / "folder.npz").iterdir())


def test_a_new_file_has_the_rights_of_others_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with replacing(link) as out:
        out.write(b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_file_that_is_written_again_keeps_its_rights(tmp_path: Path) -> None:
    """And at no moment has what is written meanwhile more."""
    (tmp_path / "page.html").write_text("")
    for mode in (0o600, 0o640, 0o755):
        (tmp_path / "page.html").chmod(mode)
        with replacing(tmp_path / "page.html") as out:
            assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {mode}
            out.write(b"new")
        assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == mode


def test_what_nothing_can_replace_is_written_to(tmp_path: Path) -> None:
    with replacing(os.devnull) as out:
        out.write(b"gone")
    assert not Path(os.devnull).is_file()


def test_interrupted_in_the_middle(tmp_path: Path) -> None:
    def write() -> None:
        with replacing(tmp_path / "file") as out:
            out.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert not list(tmp_path.iterdir())


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """In this process and another; a run that was killed does not keep its claim."""
    path = tmp_path / "stats.npz"
    claim = f"from bertlens.base.atomic import claimed\nwith claimed({str(path)!r}):\n    "
    with claimed(path):
        with pytest.raises(InputError, match="being written by another run"), claimed(path):
            raise AssertionError
        done = subprocess.run([sys.executable, "-c", claim + "pass"], capture_output=True, text=True, timeout=60)
        assert "being written by another run" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())
    killed = subprocess.run([sys.executable, "-c", f"{claim}import os; os.kill(os.getpid(), 9)"], timeout=60)
    assert killed.returncode == -9
    with claimed(path):
        pass
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_claimed(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "is a folder"), (tmp_path / "no" / "a.npz", "no folder .*no to write a.npz in")):
        with pytest.raises(InputError, match=message), claimed(path):
            raise AssertionError
