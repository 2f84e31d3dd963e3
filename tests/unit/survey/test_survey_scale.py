"""A survey on two workers of Dask, of Ray, or on two processes equals that of one, also when one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bertlens import InputError, Lens, ModelError
from bertlens.base import chunks, pools
from bertlens.errors import ClusterError
from bertlens.survey import HeadStats, corpus, head_stats, scale
from unit import deaths, tiny
from unit import survey_naive as naive

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.sampled(5, of="processes")]
WORDS = tiny.WORDS[:9]


@contextmanager
def cluster_of_two() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster_of_two() as client:
        yield client


@pytest.fixture
def mortal() -> Iterator[Any]:
    """Of a cluster of its own: a worker that is killed as it begins is not begun again by Dask."""
    with cluster_of_two() as client:
        yield client


@pytest.fixture(scope="module")
def small() -> Lens:
    """In float64: another process may round float32 otherwise, and `same` looks for what is not rounding."""
    return Lens(tiny.bert().double(), tiny.wordpiece())


@pytest.fixture
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "WINDOW", 2)


def texts(n: int) -> list[Any]:
    draw = np.random.default_rng(0)
    found: list[Any] = [" ".join(draw.choice(WORDS, draw.integers(1, 12))) for _ in range(n)]
    found[3], found[4] = ("the cat", "it was warm."), ["the", "unbelievable", "cats"]
    return found


def same(a: HeadStats, b: HeadStats) -> None:
    """What counts equals, sums are the same but for the rounding of another order."""
    assert (a.n_texts, a.n_tokens, a.corpus, a.ahead) == (b.n_texts, b.n_tokens, b.corpus, b.ahead)
    ours, theirs = naive.arrays(a), naive.arrays(b)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=1e-12, atol=0, err_msg=name)
    for reading in (lambda stats: stats.counts(), lambda stats: stats.distribution("next")[1]):
        np.testing.assert_array_equal(reading(a), reading(b))
    pd.testing.assert_frame_equal(a.texts("next", 0, 1), b.texts("next", 0, 1), rtol=1e-12, atol=0)


@pytest.mark.usefixtures("short_windows")
def test_equals_one_process(client: Any, small: Lens, tmp_path: Path) -> None:
    given = texts(50)
    alone = head_stats(small, given, batch_size=4, progress=False)
    found = head_stats(small, given, batch_size=4, progress=False, client=client, save=tmp_path / "stats.npz")
    same(found, alone)
    same(HeadStats.load(tmp_path / "stats.npz"), alone)
    part = head_stats(small, given, batch_size=4, progress=False, limit=21)
    rest = head_stats(small, given, batch_size=4, progress=False, resume=part)  # other texts share a batch
    same(head_stats(small, given, batch_size=4, progress=False, client=client, resume=part), rest)


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("engine", ["processes", pytest.param("joblib", marks=pytest.mark.long)])
def test_processes_equal_one(small: Lens, engine: str) -> None:
    """Also where one of them is killed, and where the pool cannot be made again."""
    given = texts(60)
    alone = head_stats(small, given, batch_size=4, progress=False)
    processes: list[Any] = []

    def client() -> Any:
        if engine == "joblib":
            processes.append(pytest.importorskip("joblib.externals.loky").get_reusable_executor(2))
        else:
            processes.append(ProcessPoolExecutor(2))
        return processes[-1]

    def killing() -> Iterator[Any]:
        for number, text in enumerate(given):
            if number == 50:
                os.kill(next(iter(processes[-1]._processes)), signal.SIGKILL)
            yield text

    same(head_stats(small, given, batch_size=4, progress=False, client=client), alone)
    same(head_stats(small, killing(), batch_size=4, progress=False, client=client), alone)
    assert len(processes) == 3
    with pytest.warns(UserWarning, match="is broken"):
        same(head_stats(small, killing(), batch_size=4, progress=False, client=client()), alone)


PLACES = ("first", "load", "pass", "inner", "batch", "idle", "last", "twice", "both", "new")


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("place", PLACES)
def test_a_worker_is_killed(mortal: Any, tmp_path: Path, place: str) -> None:
    """At ten places, without a word: what it had and what it was at is done again, and nobody waits for ever."""
    model = tiny.bert()
    lens, given = Lens(model, tiny.wordpiece()), texts(200)
    module = model.encoder.layer[1] if place == "inner" else model
    alone = head_stats(lens, given, batch_size=4, progress=False)
    calls = {"pass": 1, "inner": 1, "batch": 9, "twice": 9, "load": 0, "new": 0}
    if place in calls:
        death = deaths.Death(str(tmp_path), calls[place], 2 if place in ("twice", "new") else 1)
        module.register_forward_pre_hook(death)
    victims = list(mortal.run(os.getpid).values())[: 2 if place == "both" else 1]

    def killing() -> Iterator[Any]:
        for number, text in enumerate(given):
            if number == {"first": 0, "idle": 100, "both": 100}.get(place):
                for victim in victims:
                    os.kill(victim, signal.SIGKILL)
            yield text
        if place == "last":
            os.kill(victims[0], signal.SIGKILL)

    began = time.monotonic()
    stats = head_stats(lens, killing(), batch_size=4, progress=False, client=mortal)
    print(f"{place}: {time.monotonic() - began:.0f} s")
    assert time.monotonic() - began < 300
    same(stats, alone)
    assert len([*tmp_path.iterdir()]) == (0 if place not in calls else 2 if place in ("twice", "new") else 1)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("actors", [0, 2])
@pytest.mark.usefixtures("short_windows")
def test_ray_equals_one_process(small: Lens, actors: int) -> None:
    """Also where one of its actors is killed."""
    ray = pytest.importorskip("ray")
    given = texts(120)
    alone = head_stats(small, given, batch_size=4, progress=False)

    class Worker:
        """Of any class."""

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        client = [ray.remote(Worker).remote() for _ in range(actors)] or ray
        same(head_stats(small, given, batch_size=4, progress=False, client=client), alone)

        def killing() -> Iterator[Any]:
            for number, text in enumerate(given):
                if number == 70 and actors:
                    ray.kill(client[0])
                yield text

        same(head_stats(small, killing(), batch_size=4, progress=False, client=client), alone)
        if actors:
            ray.kill(client[1])
            with pytest.warns(UserWarning, match="Ray is broken"):
                same(head_stats(small, given, batch_size=4, progress=False, client=client), alone)
    finally:
        ray.shutdown()


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """A worker that reads it dies."""

    def __reduce__(self) -> Any:
        return kill, ()

    def __deepcopy__(self, memo: Any) -> Deadly:
        return self


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_work_that_kills_every_worker(mortal: Any) -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    lens.notes = (Deadly(),)  # type: ignore[assignment]
    with pytest.raises(
        ClusterError,
        match=r"the Dask cluster at \S+ has lost the same work 3 times \((KilledWorker|FutureCancelledError): ",
    ):
        head_stats(lens, texts(20), progress=False, client=mortal)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of one worker in this process; a wait ends soon."""
    for name, seconds in {"QUIET": 0.5, "LONGEST": 1.0, "LOOK": 0.2}.items():
        monkeypatch.setattr(chunks, name, seconds)
    monkeypatch.setattr(pools, "LOOK", 0.5)
    with (
        distributed.LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, timeout=0.3) as client,
    ):
        yield client


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("trouble", ["no worker is left", "a worker hangs"])
def test_a_wait_has_an_end(impatient: Any, small: Lens, monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    """What does not come back is done here."""
    given, hung, count = texts(120), threading.Event(), scale.batch_stats
    calls: list[int] = []

    def counting(*arguments: Any) -> HeadStats:
        calls.append(1)
        if len(calls) > 9 and trouble == "a worker hangs" and threading.current_thread() is not threading.main_thread():
            hung.wait(60)
        return count(*arguments)

    def corpus_of() -> Iterator[Any]:
        for number, text in enumerate(given):
            if number == 80 and trouble == "no worker is left":
                impatient.cluster.scale(0)
                while impatient.cluster.workers:
                    time.sleep(0.05)
            yield text

    alone = head_stats(small, given, batch_size=4, progress=False)
    monkeypatch.setattr(scale, "batch_stats", counting)
    try:
        with pytest.warns(UserWarning, match=r"nothing has come back from the Dask cluster at \S+ for \d+ s: until"):
            same(head_stats(small, corpus_of(), batch_size=4, progress=False, client=impatient), alone)
    finally:
        hung.set()


@pytest.mark.usefixtures("short_windows")
def test_a_scheduler_that_goes_is_an_error_with_what_was_counted(impatient: Any, small: Lens, tmp_path: Path) -> None:
    given, path = texts(120), tmp_path / "stats.npz"

    def corpus_of() -> Iterator[Any]:
        for number, text in enumerate(given):
            if number == 80:
                impatient.cluster.close()
            yield text

    with pytest.raises(ClusterError, match=r"the scheduler of the Dask cluster at \S+ is gone .* in this e") as caught:
        head_stats(small, corpus_of(), batch_size=4, progress=False, client=impatient, save=path)
    stats = caught.value.stats
    assert 0 < stats.n_texts < 120 and HeadStats.load(path).n_texts == stats.n_texts
    alone = head_stats(small, given, batch_size=4, progress=False)
    same(head_stats(small, given, batch_size=4, progress=False, resume=stats), alone)


def test_a_cluster_without_workers(impatient: Any, small: Lens) -> None:
    impatient.cluster.scale(0)
    with pytest.raises(ClusterError, match=r"the model could not be sent to the Dask cluster at \S+ \(\w+: .*: look"):
        head_stats(small, ["cat"], progress=False, client=impatient)


def test_bad_input(client: Any, small: Lens) -> None:
    with pytest.raises(InputError, match="item 1 of the corpus: 102 tokens"):
        head_stats(small, ["cat", "cat " * 100], progress=False, client=client)
    with pytest.raises(InputError, match="traces stay"):
        head_stats(small, ["cat", small.trace("cat")], progress=False, client=client)
    with pytest.raises(InputError, match="traces stay"):
        head_stats(None, [small.trace("cat")], progress=False, client=client)
    handle = small.model.register_forward_hook(lambda *_: None)
    with pytest.raises(ModelError, match=r"the hook \S+<lambda> on the model cannot be pickled"):
        head_stats(small, ["cat"], progress=False, client=client)
    handle.remove()
    with pytest.raises(InputError, match="client is a"):
        head_stats(small, ["cat"], progress=False, client="cluster")


SCRIPT = """
import sys
sys.path[:0] = [{tests!r}]
from bertlens import BertLensError, Lens
from bertlens.survey import head_stats
from unit import tiny

def work():
    print(head_stats(Lens(tiny.bert(), tiny.wordpiece()), ["the cat"] * 3, client="local", progress=False).n_texts)

{call}
"""


@pytest.mark.parametrize("call", ["work()", 'if __name__ == "__main__":\n    work()'], ids=["bare", "guarded"])
def test_a_local_cluster_needs_the_main_guard(tmp_path: Path, call: str) -> None:
    """Without it each worker would run the script again: one sentence, before a process is started."""
    script = tmp_path / "survey.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parents[2]), call=call))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=200)
    if call == "work()":
        last = done.stderr.splitlines()[-1]
        assert last.startswith('bertlens.errors.InputError: client="local" starts processes that read survey.py again')
        assert done.returncode == 1 and len(done.stderr.splitlines()) < 40 and done.stdout == ""
    else:
        assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr[-2000:]
