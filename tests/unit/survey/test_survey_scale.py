"""A survey on two Dask workers equals that of one process, also when one of them is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlens import InputError, Lens, ModelError
from bertlens.errors import ClusterError
from bertlens.survey import HeadStats, corpus, head_stats, scale
from unit import survey_naive as naive
from unit import tiny

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
WORDS = tiny.WORDS[:9]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def small() -> Lens:
    return Lens(tiny.bert(), tiny.wordpiece())


@pytest.fixture
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "WINDOW", 2)


def texts(n: int) -> list[Any]:
    draw = np.random.default_rng(0)
    found: list[Any] = [" ".join(draw.choice(WORDS, draw.integers(1, 12))) for _ in range(n)]
    found[3], found[4] = ("the cat", "it was warm."), ["the", "unbelievable", "cats"]
    return found


def same(a: HeadStats, b: HeadStats) -> None:
    assert (a.n_texts, a.n_tokens, a.corpus, a.ahead) == (b.n_texts, b.n_tokens, b.corpus, b.ahead)
    ours, theirs = naive.arrays(a), naive.arrays(b)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.usefixtures("short_windows")
def test_equals_one_process(client: Any, small: Lens, tmp_path: Path) -> None:
    given = texts(50)
    alone = head_stats(small, given, batch_size=4, progress=False)
    found = head_stats(small, given, batch_size=4, progress=False, client=client, save=tmp_path / "stats.npz")
    same(found, alone)
    same(HeadStats.load(tmp_path / "stats.npz"), alone)
    part = head_stats(small, given, batch_size=4, progress=False, limit=21)
    same(head_stats(small, given, batch_size=4, progress=False, client=client, resume=part), alone)


@pytest.mark.long
@pytest.mark.usefixtures("short_windows")
def test_a_worker_is_killed(client: Any, small: Lens) -> None:
    """Without a word, while it works; what it had and what it was at is done again."""
    given = texts(400)
    alone = head_stats(small, given, batch_size=4, progress=False)
    victim = next(iter(client.run(os.getpid).values()))
    killed = threading.Event()

    def kill() -> None:
        os.kill(victim, signal.SIGKILL)
        killed.set()

    def killing() -> Iterator[Any]:
        for number, text in enumerate(given):
            if number == 200:  # some groups are done, some are under way
                threading.Timer(0.05, kill).start()
            yield text

    found = head_stats(small, killing(), batch_size=4, progress=False, client=client)
    assert killed.wait(5)
    same(found, alone)
    deadline = time.monotonic() + 30
    while len(client.run(os.getpid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert victim not in client.run(os.getpid).values()


@pytest.mark.long
@pytest.mark.usefixtures("short_windows")
def test_all_copies_of_the_model_are_lost(client: Any, small: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both workers die: the model is sent again."""
    given = texts(60)
    alone = head_stats(small, given, batch_size=4, progress=False)
    workers = list(client.run(os.getpid).values())

    def killing() -> Iterator[Any]:
        for number, text in enumerate(given):
            if number == 40:
                for worker in workers:
                    os.kill(worker, signal.SIGKILL)
            yield text

    same(head_stats(small, killing(), batch_size=4, progress=False, client=client), alone)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """A worker that reads it dies."""

    def __reduce__(self) -> Any:
        return kill, ()

    def __deepcopy__(self, memo: Any) -> Deadly:
        return self


@pytest.mark.long
def test_workers_that_die_while_the_model_is_sent(client: Any) -> None:
    lens = Lens(tiny.bert(), tiny.wordpiece())
    lens.notes = (Deadly(),)  # type: ignore[assignment]
    with pytest.raises(ClusterError, match=r"could not be sent to the cluster \(\w+: .*\): look whether its workers"):
        head_stats(lens, texts(20), progress=False, client=client)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of one worker in this process; a wait ends soon."""
    monkeypatch.setattr(scale, "PATIENCE", 1.0)
    monkeypatch.setattr(scale, "LONGEST", 3)
    with (
        distributed.LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, timeout=0.3) as client,
    ):
        yield client


@pytest.mark.usefixtures("short_windows")
@pytest.mark.parametrize("trouble", ["no worker is left", "a worker hangs"])
def test_a_wait_has_an_end_and_what_was_counted_is_kept(
    impatient: Any, small: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    given, hung, count = texts(120), threading.Event(), scale.batch_stats
    calls: list[int] = []

    def counting(*arguments: Any) -> HeadStats:
        calls.append(1)
        if len(calls) > 9 and trouble == "a worker hangs":
            hung.wait(60)
        return count(*arguments)

    def corpus_of() -> Iterator[Any]:
        for number, text in enumerate(given):
            if number == 80 and trouble == "no worker is left":
                impatient.cluster.scale(0)
                while impatient.cluster.workers:
                    time.sleep(0.05)
            yield text

    monkeypatch.setattr(scale, "batch_stats", counting)
    path = tmp_path / "stats.npz"
    try:
        with pytest.raises(ClusterError, match=r"texts are counted, in this error's \.stats") as caught:
            head_stats(small, corpus_of(), batch_size=4, progress=False, client=impatient, save=path)
    finally:
        hung.set()
    stats = caught.value.stats
    assert 0 < stats.n_texts < 120 and HeadStats.load(path).n_texts == stats.n_texts
    alone = head_stats(small, given, batch_size=4, progress=False)
    same(head_stats(small, given, batch_size=4, progress=False, resume=stats), alone)


def test_a_cluster_without_workers(impatient: Any, small: Lens) -> None:
    impatient.cluster.scale(0)
    with pytest.raises(ClusterError, match="could not be sent"):
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


@pytest.mark.sampled(1)
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
