"""Files of arrays: whole, damaged, of something else; saved now and then."""

from __future__ import annotations

import random
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens import ExportError, InputError
from bertlens.base import arrays_file
from bertlens.base.arrays_file import ArraysFile, Autosave, difference, write

pytestmark = pytest.mark.usefixtures("ctrl_c")
FILE = ArraysFile("sums of a run", [2, "a", "b"], "run it again")
OF = {"model": "m", "texts": [1, 2], "seed": 0}
ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "1/b": np.array(["x", "yz"]), "c": np.array(True)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    FILE.write(tmp_path / "f.npz", {"n": 3, "loss": [0.1, float("inf")]}, ARRAYS, OF)
    return tmp_path / "f.npz"


def refusal(file: ArraysFile, path: Path, of: dict[str, Any] | None = None) -> str:
    with pytest.raises(InputError) as caught, file.open(path, of):
        pass
    return str(caught.value)


@pytest.mark.parametrize("compressed", [False, True])
def test_what_was_written_is_read(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "f.npz"
    FILE.write(path, {"n": 3}, ARRAYS, OF | {"texts": (1, 2)}, compressed)
    with FILE.open(path, OF) as (about, arrays):
        assert about == {"n": 3, "kind": "sums of a run", "version": [2, "a", "b"], "of": OF}
        assert arrays.keys() == ARRAYS.keys()
        assert all(np.array_equal(arrays[name], values) for name, values in ARRAYS.items())
    with np.load(path, allow_pickle=False) as plain:
        assert {*plain.files} == {*ARRAYS, "about"}


def test_what_is_of_something_else_is_refused_by_name(path: Path) -> None:
    assert refusal(FILE, path, OF | {"seed": 1}) == f"{path} is of another run (what differs: seed): run it again"
    assert "(what differs: data)" in refusal(FILE, path, OF | {"data": None})
    other = ArraysFile("sums of a run", [2, "a"], "run it again")
    assert refusal(other, path) == f"{path} was written by another version of bertlens: run it again"
    other = ArraysFile("history", 1, "delete it")
    assert refusal(other, path) == f"{path} holds no history (it holds sums of a run): delete it"
    assert difference({"a": 1, "b": None}, {"b": None}) == "a" and not difference(OF, dict(reversed(OF.items())))


def test_what_is_damaged_is_refused_in_one_line(path: Path) -> None:
    """Any byte flipped, cut off, of another kind: an error of one line, or the very arrays."""
    whole, draw, errors = path.read_bytes(), random.Random(0), []
    damaged = [b"", b"PK", b"no archive", whole[:-30], whole[: len(whole) // 2]]
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << draw.randrange(8)
        damaged.append(bytes(flipped))
    for data in damaged:
        path.write_bytes(data)
        try:
            with FILE.open(path, OF) as (about, arrays):
                assert about["loss"] == [0.1, float("inf")] and about["n"] == 3 and arrays.keys() == ARRAYS.keys()
                assert all(np.array_equal(arrays[name], values) for name, values in ARRAYS.items())
        except InputError as error:
            errors.append(str(error))
    assert len(errors) > len(whole) / 2
    sentence = re.escape(f"{path} ") + r"(holds no sums of a run|was written by|is of another)[^\n]+: run it again"
    assert all(re.fullmatch(sentence, error) for error in errors)


def test_pickles_and_what_is_missing(path: Path, tmp_path: Path) -> None:
    np.savez(path, about=np.array([{"kind": FILE.name}], dtype=object))
    assert "holds no sums of a run (it is no .npz file): run it again" in refusal(FILE, path)
    np.save(path.with_suffix(".npy"), np.zeros(3))
    write(tmp_path / "plain.npz", {"tokens": 3}, {"a": np.zeros(2)})
    for other in (path.with_suffix(".npy"), tmp_path / "plain.npz", tmp_path):
        assert "holds no sums of a run (" in refusal(FILE, other)
    assert f"{tmp_path}/none holds no sums of a run (No such file or directory)" in refusal(FILE, tmp_path / "none")


def test_what_the_block_cannot_read_is_an_error_of_the_file(path: Path) -> None:
    message = r"f.npz holds no sums of a run \('weights'\): run it again"
    with pytest.raises(InputError, match=message), FILE.open(path, OF) as (_, arrays):
        arrays["weights"]
    with pytest.raises(ExportError, match="mine"), FILE.open(path, OF):
        raise ExportError("mine")


def test_arrays_are_read_and_written_in_one_place() -> None:
    """But for the differences of the shipped model, which are compressed otherwise and known by their hash, and files
    that another program made."""
    package = Path(bl.__file__).parent
    texts = {path.relative_to(package).as_posix(): path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    found = {name for name, text in texts.items() if re.search(r"np\.(load|savez?)\b|torch\.(load|save)\b", text)}
    assert found == {"base/arrays_file.py", "training/differences.py", "conformance/vector_array.py"}


def test_saved_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every 30 s of work, and of what takes 10 s to save every 200 s."""
    clock, saves = [0.0], []
    monkeypatch.setattr(arrays_file.time, "monotonic", lambda: clock[0])

    def save(took: float) -> None:
        saves.append(clock[0])
        clock[0] += took
        if len(saves) == 2:
            raise ExportError("the disk is full")

    for took, until in ((0, 100), (10, 500)):
        autosave = Autosave(save)
        start = clock[0]
        while clock[0] < start + until:
            clock[0] += 1
            autosave(took)
    assert saves == [31, 62, 93, 131, 342, 553]


def test_a_signal_waits_for_the_save(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_file, "EVERY", -1)
    done = []

    def save() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("saved")

    with pytest.raises(KeyboardInterrupt):
        Autosave(save)()
    assert done == ["saved"]
