"""Values come in the order of the chunks and are those of one process, whoever dies, hangs or says nothing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bertlens.base import chunks, pools, worker
from bertlens.errors import ClusterError, InputError, ModelError
from unit.deaths import die

CALLS: list[Any] = []  # by threads of this process
END = threading.Event()


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"QUIET": 0.3, "LONGEST": 1.0, "LOOK": 0.1, "POLL": 0.02}.items():
        monkeypatch.setattr(chunks, name, seconds)


def square(shared: int, chunk: int) -> tuple[int, int]:
    return shared + chunk**2, os.getpid()


def squares(client: Any, n: int = 30) -> list[int]:
    return [value for _, (value, _) in chunks.ordered(client, square, 5, range(n))]


class Faults(ThreadPoolExecutor):
    """An executor whose submissions of these numbers are lost, or never come back."""

    def __init__(self, faults: dict[int, Exception | None]) -> None:
        super().__init__(2)
        self.faults, self.count = faults, 0

    def submit(self, *arguments: Any, **options: Any) -> Any:
        self.count += 1
        if self.count not in self.faults:
            return super().submit(*arguments, **options)
        future: Future[Any] = Future()
        if error := self.faults[self.count]:
            future.set_exception(error)
        return future


def uneven(_: None, number: int) -> int:
    time.sleep(0.02 if number % 3 else 0)
    return -number


def test_order_and_what_is_under_way() -> None:
    """However long a chunk takes; no more than a few chunks are read ahead."""
    ahead, size = [], 2

    def read() -> Iterator[int]:
        for number in range(40):
            ahead.append(number)
            yield number

    with ThreadPoolExecutor(size) as client:
        for at, (chunk, value) in enumerate(chunks.ordered(client, uneven, None, read())):
            assert (chunk, value) == (at, -at) and len(ahead) <= at + size * chunks.SHARE
    assert at == 39


MEMORY = """
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from bertlens.base.chunks import ordered

def large(size, number):
    return bytes(size)

def memory(n):
    texts = (["a text"] * 1000 for _ in range(n))
    assert sum(len(value) for _, value in ordered(client, large, 10**6, texts)) == n * 10**6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as client:
        print(memory(20), memory(400))
"""


def test_memory_does_not_grow_with_the_chunks(tmp_path: Path) -> None:
    (tmp_path / "memory.py").write_text(MEMORY)
    command = [sys.executable, str(tmp_path / "memory.py")]
    before, after = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert after <= 1.05 * before


@pytest.mark.parametrize("places", [[1], [2], [15], [30], [1, 31], [7, 8], [*range(1, 60, 4)]])
def test_what_is_lost_is_given_to_others(places: list[int]) -> None:
    expected = [5 + number**2 for number in range(30)]
    assert squares(Faults({place: OSError("a transfer") for place in places})) == expected
    pool = Faults({place: BrokenProcessPool("a death") for place in places})
    makers = iter([pool, *(ThreadPoolExecutor(2) for _ in range(9))])
    assert squares(lambda: next(makers)) == expected


def test_a_pool_that_cannot_be_mended_leaves_the_work_here() -> None:
    with pytest.warns(
        UserWarning, match=r"the Faults is broken \(BrokenProcessPool: a death\): this process does the r"
    ):
        assert squares(Faults({9: BrokenProcessPool("a death")})) == [5 + number**2 for number in range(30)]
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.warns(UserWarning, match="the ThreadPoolExecutor is broken"):
        assert len(squares(closed)) == 30


def test_work_that_is_lost_again_and_again_is_an_error() -> None:
    losses: dict[int, Exception | None] = {place: OSError("no room") for place in range(4, 99)}
    with pytest.raises(ClusterError, match=r"the Faults has lost the same work 3 times \(OSError: no room\)"):
        squares(Faults(losses))


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("places", [[1], [4, 5], [30], [*range(1, 200)]])
def test_what_never_comes_back_is_done_here(places: list[int]) -> None:
    with pytest.warns(
        UserWarning, match=r"nothing has come back from the Faults for 0 s: until something does, this pr"
    ):
        assert squares(Faults(dict.fromkeys(places))) == [5 + number**2 for number in range(30)]


def slow(hang: float, number: int) -> int:
    CALLS.append(threading.current_thread() is threading.main_thread())
    if number == 1 and not CALLS[-1]:
        END.wait(hang)
    return number


@pytest.mark.usefixtures("impatient")
def test_a_slow_chunk_is_not_a_dead_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker gives signs of life: it is waited for, until it hangs for longer than any chunk has taken."""
    monkeypatch.setattr(worker, "PULSE", 0.02)
    CALLS.clear()
    END.clear()
    with ThreadPoolExecutor(1) as client:
        assert [*chunks.ordered(client, slow, 0.8, range(4))] == [(n, n) for n in range(4)]
    assert not any(CALLS)
    with ThreadPoolExecutor(1) as client:
        began = time.monotonic()
        stream = chunks.ordered(client, slow, 60.0, range(3))
        with pytest.warns(UserWarning, match="nothing has come back"):
            assert [next(stream), next(stream)] == [(0, 0), (1, 1)]
        assert 1.0 <= time.monotonic() - began < 60
        END.set()


def fail(shared: Any, chunk: int) -> int:
    if chunk == 3:
        raise shared
    return chunk


class Odd(Exception):
    """It cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("no")


def test_errors_of_the_work_are_raised_as_they_are() -> None:
    for error, kind, text in (
        (InputError("item 3: too long"), InputError, "^item 3: too long$"),
        (ZeroDivisionError("by 0"), ZeroDivisionError, "^by 0$"),
    ):
        with ProcessPoolExecutor(1) as client, pytest.raises(kind, match=text):
            [*chunks.ordered(client, fail, error, range(9))]
    with ThreadPoolExecutor(1) as client, pytest.raises(ClusterError, match=r"^Odd: 1 and 2$"):
        [*chunks.ordered(client, odd, None, range(9))]


def odd(_: None, chunk: int) -> int:
    raise Odd("1 and 2")


class Closed:
    def __reduce__(self) -> Any:
        raise ModelError("the hook f cannot be pickled")


def test_bad_input() -> None:
    with pytest.raises(ModelError, match=r"^the hook f cannot be pickled$"):
        [*chunks.ordered(ThreadPoolExecutor(1), square, Closed(), range(3))]
    with pytest.raises(InputError, match=r"workers are sent what is pickled, and this cannot be \(\w+: .*lock"):
        [*chunks.ordered(ThreadPoolExecutor(1), square, threading.Lock(), range(3))]  # type: ignore[misc]
    for client in ("cluster", [], [1], multiprocessing.Queue, None):
        with pytest.raises(InputError, match="Executor"):
            squares(client)


def hang(_: None, number: int) -> None:
    CALLS.append(number)
    END.wait(20)


def test_ctrl_c_ends_the_wait_and_what_waits(ctrl_c: None) -> None:
    """Also where only whoever watches can interrupt."""

    def interrupt() -> None:
        if len(CALLS) == 2:
            raise KeyboardInterrupt

    for tick in (lambda: None, interrupt):
        CALLS.clear()
        END.clear()
        with ThreadPoolExecutor(2) as client:
            if tick is not interrupt:
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                [*chunks.ordered(client, hang, None, range(50), tick)]
            assert time.monotonic() - began < 5
            END.set()
        assert len(CALLS) == 2


# --- processes that are killed ---

PLACES = ("first", "load", "middle", "work", "answer", "last", "twice", "both", "new", "idle")


class Deadly:
    """Reading it kills so many processes."""

    def __init__(self, place: str, folder: str) -> None:
        self.place, self.folder = place, folder

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.place in ("load", "new"):
            die(self.folder, 1 if self.place == "load" else 2)


class Answer(int):
    folder = ""

    def __reduce__(self) -> Any:
        die(self.folder, 1)
        return int, (int(self),)


def deadly(shared: Deadly, chunk: int) -> int:
    place = shared.place
    at = {"first": 0, "middle": 14, "twice": 14, "both": 1, "answer": 20, "last": 29}
    if at.get(place) == chunk and place != "answer":
        die(shared.folder, 2 if place in ("twice", "both") else 1)
    if place == "work" and chunk == 7:
        threading.Timer(0.05, die, (shared.folder, 1)).start()
        time.sleep(0.2)
    if place == "idle" and chunk == 29:  # not all is done when the worker is killed
        while not (Path(shared.folder) / "killed").exists():
            time.sleep(0.01)
    if at.get(place) == chunk and place == "answer":
        value = Answer(chunk * 3)
        value.folder = shared.folder
        return value
    return chunk * 3


def wait_until_broken(pool: ProcessPoolExecutor) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            pool.submit(int).result()
        except BrokenProcessPool:
            return
        time.sleep(0.01)
    pytest.fail("a pool works on without its worker")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", PLACES)
def test_a_worker_is_killed(tmp_path: Path, place: str) -> None:
    """At ten places: no number changes, and nobody waits."""
    pools_made: list[Any] = []

    def maker() -> Executor:
        pools_made.append(ProcessPoolExecutor(2))
        return pools_made[-1]

    began, values = time.monotonic(), []
    for chunk, value in chunks.ordered(maker, deadly, Deadly(place, str(tmp_path)), range(30)):
        values.append(value)
        if chunk == 5 and place == "idle":
            next(iter(pools_made[-1]._processes.values())).kill()
            wait_until_broken(pools_made[-1])  # else all may be done before the pool sees it
            (tmp_path / "killed").touch()
    assert values == [3 * number for number in range(30)] and time.monotonic() - began < 60
    assert len(pools_made) > 1


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of workers on another machine, which cannot read what is shared."""
    monkeypatch.setattr(pools.Processes, "pulse", lambda self, name: str(tmp_path / name))
    with ThreadPoolExecutor(1) as client:
        stream = chunks.ordered(client, square, 0, range(30))
        monkeypatch.setattr(Path, "read_bytes", partial(_missing))
        with pytest.raises(ClusterError, match=r"has lost the same work 3 times \(FileNotFoundError: no such file"):
            next(stream)


def _missing(*_: Any) -> bytes:
    raise FileNotFoundError("no such file")
