"""A survey on processes of this machine begins at once, holds no corpus in memory, and ends at Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bertlens import Lens
from bertlens.base import text_lines
from bertlens.survey import head_stats, survey_run
from unit import tiny


class Begun(Exception):
    """The first texts are counted."""


@pytest.mark.parametrize("client", [None, ThreadPoolExecutor])
def test_a_large_corpus_is_begun_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: Any) -> None:
    """Of a file of 10⁶ lines a window of 8 is read, and a few more for the workers; its lines are counted for a bar."""
    lines: list[str] = []
    following = text_lines.Lines.__next__

    def counted(file: Any) -> str:
        lines.append(following(file))
        return lines[-1]

    def begun(*_: Any) -> None:
        raise Begun

    small, path = Lens(tiny.bert(), tiny.wordpiece()), tmp_path / "corpus.txt"
    path.write_text("the cat sat on the mat\n" * 10**6)
    head_stats(small, ["the cat"], progress=False)

    @contextmanager
    def at_once(*_: Any) -> Iterator[Any]:
        yield begun

    monkeypatch.setattr(survey_run, "checkpoints", at_once)
    monkeypatch.setattr(text_lines.Lines, "__next__", counted)
    with pytest.raises(Begun):
        head_stats(small, path, batch_size=1, progress=False, client=client and client(2))
    assert 8 <= len(lines) <= 100, len(lines)


MEMORY = """
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
sys.path[:0] = [{tests!r}]
from bertlens import Lens
from bertlens.survey import head_stats
from unit import tiny

def memory(n):
    texts = (" ".join(tiny.WORDS[i % 7 : i % 7 + 2]) for i in range(n))
    assert head_stats(lens, texts, batch_size=32, client=client, progress=False).n_texts == n
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

if __name__ == "__main__":
    lens = Lens(tiny.bert(num_hidden_layers=1), tiny.wordpiece())
    with ProcessPoolExecutor(2) as client:
        print(memory(1_000), memory(100_000))
"""


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """test_chunks.py has the schedule alone."""
    script = tmp_path / "memory.py"
    script.write_text(MEMORY.format(tests=str(Path(__file__).parents[2])))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert after <= 1.05 * before


FORKED = """
import itertools
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import set_start_method
import torch
from bertlens import Lens
from bertlens.survey import head_stats

def texts():
    for number in itertools.count():
        if number == 60:
            print("begun", flush=True)
        yield "The cat sat on the mat. " * 10

if __name__ == "__main__":
    set_start_method("fork")
    torch.randn(2000, 2000) @ torch.randn(2000, 2000)  # in two threads, which a forked process has not
    with ProcessPoolExecutor(2) as client:
        stats = head_stats(Lens.embedded(), texts(), batch_size=1, progress=False, client=client)
    print(stats.n_texts > 0)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_forked_processes_lack_the_threads_of_their_parent_and_hear_ctrl_c(tmp_path: Path) -> None:
    """They would wait for these for ever; Ctrl-C reaches all processes of a terminal, and ends all of them at once."""
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    threads = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    with subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | threads,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "begun\n"
            began = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert out == "True\n" and "texts are counted" in err and time.monotonic() - began < 30, err
