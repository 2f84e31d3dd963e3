"""One collection for all processes: `--workers N` runs what was collected in N processes forked from the one that did.

A process takes one file after another, those of the browser first and of each kind the longest (`tests/durations.txt`),
and sends each report to the first, which prints it and counts. What lives as long as a session (the embedded model, a
browser, a server) lives once in each process. What drives a browser leaves a loop in its process, in which nothing else
can start one: behind its last file of the browser another process goes on. Where a system cannot fork, everything runs
in one process.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import re
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe, Value
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

import pytest

DURATIONS = Path(__file__).with_name("durations.txt")
LINE = re.compile(r"^ *([\d.]+) s +\d+ cases +(tests/\S+\.py)$", re.MULTILINE)
COUNTER = "q"  # ctypes' code of 64 bits
BROWSER = "tests/browser/"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="run in so many processes, forked after one collection")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    config = session.config
    if not config.option.workers or not hasattr(os, "fork") or session.testsfailed or config.option.collectonly:
        return None
    Run(session, files(session.items)).go(config.option.workers)
    return True


def seconds() -> dict[str, float]:
    """Of each test file, as it was measured last."""
    text = DURATIONS.read_text(encoding="utf-8") if DURATIONS.exists() else ""
    return {path: float(number) for number, path in LINE.findall(text)}


def files(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    """The tests of each file in their order: files of the browser first, of these and of others the longest first, what
    was never measured before all."""
    of_file: dict[str, list[pytest.Item]] = {}
    for item in items:
        of_file.setdefault(item.nodeid.split("::")[0], []).append(item)
    known = seconds()
    order = sorted(of_file, key=lambda name: (not name.startswith(BROWSER), -known.get(name, float("inf"))))
    return [of_file[name] for name in order]


def of_browser(file: list[pytest.Item]) -> bool:
    return file[0].nodeid.startswith(BROWSER)


@dataclass
class Worker:
    """A process: what it took and has not run, of which the first is under way, comes with its messages."""

    name: str
    pid: int
    messages: Connection
    left: list[pytest.Item] = field(default_factory=list)
    rest: list[pytest.Item] = field(default_factory=list)  # for the process after it


class Run:
    """The tests of a session in processes."""

    def __init__(self, session: pytest.Session, queue: list[list[pytest.Item]]) -> None:
        self.session, self.queue = session, queue
        self.place: Any = Value(COUNTER, 0)  # in the queue, of the file that is taken next
        self.workers: list[Worker] = []

    def go(self, size: int) -> None:
        """Until all have run. Raises as pytest's own loop where it is to stop."""
        self.session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # made once, for all
        gc.collect()
        gc.freeze()  # no collection in a worker looks at what is there for good, nor copies its pages
        try:
            for number in range(min(size, len(self.queue))):
                self._start(f"worker{number}", [])
            while self.workers:
                for ready in wait([worker.messages for worker in self.workers]):
                    self._hear(next(worker for worker in self.workers if worker.messages is ready))
                if self.session.shouldfail:
                    raise self.session.Failed(self.session.shouldfail)
                if self.session.shouldstop:
                    raise self.session.Interrupted(self.session.shouldstop)
        finally:
            for worker in self.workers:
                os.kill(worker.pid, signal.SIGTERM)
                os.waitpid(worker.pid, 0)
            gc.unfreeze()

    def _start(self, name: str, first: list[pytest.Item]) -> None:
        """A process that runs these and then what it takes from the queue."""
        ours, theirs = Pipe(duplex=False)
        if pid := os.fork():
            theirs.close()
            self.workers.append(Worker(name, pid, ours, list(first)))
            return
        for connection in (ours, *(worker.messages for worker in self.workers)):
            connection.close()
        work(self.session, name, self._items(first, theirs), theirs)

    def _items(self, first: list[pytest.Item], messages: Connection) -> Iterator[pytest.Item]:
        yield from first
        file = first
        while True:
            with self.place.get_lock():
                place = self.place.value
                self.place.value += 1
            if place >= len(self.queue):
                return
            before, file = file, self.queue[place]
            if before and of_browser(before) != of_browser(file):
                messages.send(("rest", place))
                return
            messages.send(("file", place))
            yield from file

    def _hear(self, worker: Worker) -> None:
        """One message of a process; without one it has ended."""
        config = self.session.config
        try:
            kind, data = worker.messages.recv()
        except (EOFError, OSError):
            kind, data = "over", None
        if kind == "over":
            self._end(worker)
        elif kind == "file":
            worker.left += self.queue[data]
        elif kind == "rest":
            worker.rest = self.queue[data]
        elif kind == "begin":
            config.hook.pytest_runtest_logstart(nodeid=worker.left[0].nodeid, location=worker.left[0].location)
        elif kind == "report":
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            config.hook.pytest_runtest_logreport(report=report)
        elif kind == "warning":
            message, *where = data
            given = dict(zip(("when", "nodeid", "location"), where, strict=True))
            config.hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": warnings.WarningMessage(*message), **given}
            )
        elif kind == "end":
            item = worker.left.pop(0)
            config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        else:
            raise RuntimeError(f"{worker.name}: {data}")

    def _end(self, worker: Worker) -> None:
        """A process is through, or died in a test: that one has failed, and another process goes on."""
        self.workers.remove(worker)
        _, status = os.waitpid(worker.pid, 0)
        if not worker.left:
            if worker.rest:
                self._start(worker.name, worker.rest)
            return
        item, *others = (*worker.left, *worker.rest)
        file, line, name = item.location
        error = f"{worker.name} died in this test: {os.waitstatus_to_exitcode(status)}"
        report = pytest.TestReport(item.nodeid, (file, line or 0, name), {}, "failed", error, "call")
        self.session.config.hook.pytest_runtest_logreport(report=report)
        self._start(worker.name, others)


def work(session: pytest.Session, name: str, items: Iterator[pytest.Item], messages: Connection) -> NoReturn:
    """What a process does. Nothing that it prints, captures or writes is mixed with what others do."""
    atexit._clear()  # the first process cleans up after itself
    status = 1
    try:
        manager = session.config.pluginmanager
        if capture := manager.get_plugin("capturemanager"):
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()
        # pytest has no other way to make a terminal's writer silent
        session.config.get_terminal_writer()._file = io.StringIO()
        folders = session.config._tmp_path_factory  # type: ignore[attr-defined]
        folders._basetemp = folders.getbasetemp() / name
        folders._basetemp.mkdir(exist_ok=True)
        manager.register(teller := Teller(session.config))
        teller.messages = messages  # now: what pytest tells a new plugin of before was told already
        for item, following in with_next(items):
            messages.send(("begin", None))
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            messages.send(("end", None))
        atexit._run_exitfuncs()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the first process tells it
        messages.send(("error", traceback.format_exc()))
    finally:
        messages.close()
        os._exit(status)


class Teller:
    """Sends the first process what pytest tells its plugins in another."""

    messages: Connection | None = None

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def _tell(self, kind: str, data: Any) -> None:
        if self.messages is not None:
            self.messages.send((kind, data))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tell("report", self.config.hook.pytest_report_to_serializable(config=self.config, report=report))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: tuple[str, int, str] | None
    ) -> None:
        kind, text = warning_message.category, str(warning_message.message)
        if kind.__module__ != "builtins":  # the first process need not have it
            kind, text = UserWarning, f"{kind.__name__}: {text}"
        self._tell("warning", ((text, kind, warning_message.filename, warning_message.lineno), when, nodeid, location))


def with_next(items: Iterator[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Each with the one behind it: pytest takes down what that one does not need."""
    item = next(items, None)
    while item is not None:
        following = next(items, None)
        yield item, following
        item = following
