"""Work on batch after batch: what an interrupt leaves counts and is told, and is saved now and then and at the end."""

from __future__ import annotations

import signal
import warnings
from pathlib import Path

import pytest

from bertlens.base import arrays_file
from bertlens.base.batch_work import checkpoints, partial_work
from bertlens.base.notes import Note
from bertlens.base.progress import watched
from bertlens.errors import ClusterError, InputError


def counted(end: BaseException, at: int) -> list[int]:
    """What is done of five numbers where the work ends at one of them."""
    done: list[int] = []
    with partial_work(lambda: f"{len(done)} numbers" if done else "", ClusterError):
        for number in range(5):
            if number == at:
                raise end
            done.append(number)
    return done


@pytest.mark.parametrize(
    ("end", "told"), [(KeyboardInterrupt(), "interrupted: 3 numbers"), (ClusterError("gone"), "gone: 3 numbers")]
)
def test_what_was_done_counts_and_is_told_where_it_was_called(end: BaseException, told: str) -> None:
    with pytest.warns(Note, match=f"^{told}$") as notes:
        assert counted(end, 3) == [0, 1, 2]
    assert notes[0].filename == __file__


def test_too_little_and_other_errors_are_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        counted(KeyboardInterrupt(), 0)
    with pytest.raises(InputError):
        counted(InputError("no"), 3)
    assert counted(InputError("no"), 9) == [0, 1, 2, 3, 4]


def test_nothing_is_told_to_somebody_who_watches() -> None:
    with warnings.catch_warnings(), watched(lambda *_: None):
        warnings.simplefilter("error")
        assert counted(KeyboardInterrupt(), 3) == [0, 1, 2]


def test_it_is_saved_now_and_then_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_file, "EVERY", 0.0)
    monkeypatch.setattr(arrays_file, "PAUSE", 0)
    path, done = tmp_path / "numbers", 0

    def save() -> None:
        path.write_text(str(done))

    def work() -> None:
        nonlocal done
        with checkpoints(path, save) as autosave:
            done = 1
            autosave()
            assert path.read_text() == "1"
            with pytest.raises(InputError, match="is being written by another run"), checkpoints(path, save):
                pass
            done = 2
            raise InputError("no")

    with pytest.raises(InputError, match="no"):
        work()
    assert path.read_text() == "2" and [*tmp_path.iterdir()] == [path]


def test_the_first_ctrl_c_ends_it_and_a_second_does_not_end_the_save(tmp_path: Path, ctrl_c: None) -> None:
    path = tmp_path / "numbers"

    def save() -> None:
        signal.raise_signal(signal.SIGINT)
        path.write_text("saved")

    with pytest.raises(KeyboardInterrupt), checkpoints(path, save):
        signal.raise_signal(signal.SIGINT)
    assert path.read_text() == "saved"


def test_without_a_file_nothing_is_saved() -> None:
    with checkpoints(None, lambda: pytest.fail("saved")) as autosave:
        autosave()


def test_ctrl_c_while_the_end_is_saved_changes_nothing(tmp_path: Path, ctrl_c: None) -> None:
    path = tmp_path / "numbers"

    def save() -> None:
        signal.raise_signal(signal.SIGINT)
        path.write_text("saved")

    with checkpoints(path, save):
        pass
    assert path.read_text() == "saved"
