"""What a worker of a pool does: a chunk, with what all chunks share, which it reads once; its answer is bytes.

So a pool moves bytes alone, in both directions: nothing of it pickles a model that runs.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import BertLensError, ClusterError, InputError
from .interrupts import Stop

PULSE = 1.0  # seconds between two signs of life

_shared: dict[str, Any] = {}  # of the last run
_lock = threading.Lock()


def pickled(content: Any) -> bytes:
    """Raises InputError for what cannot be pickled; BertLensErrors of its own as they are."""
    writer: Any = sys.modules.get("cloudpickle", pickle)  # Dask brings it along: for what a notebook defines
    try:
        packed: bytes = writer.dumps(content)
    except BertLensError:
        raise
    except Exception as error:
        raise InputError(
            f"workers are sent what is pickled, and this cannot be ({type(error).__name__}: {str(error)[:200]})"
        ) from error
    return packed


def work(key: str, source: Any, content: bytes, pulse: str | None = None) -> bytes:
    """The chunk's value, or the error that its work raised, for `answer`.

    source: what is shared, pickled, or the file that holds it; key: by which it is remembered. pulse: a file that is
    touched as long as this goes on. Raises what has gone wrong before the work began.
    """
    with _pulse(pulse):
        call, shared = _loaded(key, source)
        chunk = pickle.loads(content)
        began = time.monotonic()
        try:
            value, error = call(shared, chunk), None
        except Exception as raised:  # noqa: BLE001  raised where the chunk was sent from
            value, error = None, raised
        return _packed(value, error, time.monotonic() - began)


def on_actor(_: object, *arguments: Any) -> bytes:
    """`work`, by an actor of Ray."""
    return work(*arguments)


def answer(content: bytes) -> tuple[Any, float]:
    """The value, and the seconds that the work took. Raises the work's error."""
    value, error, seconds = pickle.loads(content)
    if error is not None:
        raise error
    return value, seconds


def forget(key: str) -> None:
    """What is shared is no longer needed."""
    _shared.pop(key, None)


def _packed(value: Any, error: Exception | None, seconds: float) -> bytes:
    try:
        content = pickle.dumps((value, error, seconds))
        if error is not None:
            pickle.loads(content)
    except Exception as why:  # noqa: BLE001  errors of other packages may be of any shape
        raised = error or why
        content = pickle.dumps((None, ClusterError(f"{type(raised).__name__}: {raised}"), seconds))
    return content


def _loaded(key: str, source: Any) -> Any:
    with _lock:
        if key not in _shared:
            _shared.clear()
            if multiprocessing.parent_process() is not None:
                _settle()
            _shared[key] = pickle.loads(Path(source).read_bytes() if isinstance(source, str) else source)
        return _shared[key]


def _settle() -> None:
    """A forked process hears signals as another does, and starts no threads where its parent's are lost."""
    if threading.current_thread() is threading.main_thread():
        for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            if isinstance(signal.getsignal(number), Stop):
                signal.signal(number, handler)
    if multiprocessing.get_start_method(allow_none=True) == "fork" and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@contextmanager
def _pulse(path: str | None) -> Iterator[None]:
    """In the block a thread touches the file, which is gone after it."""
    if path is None:
        yield
        return
    end, file = threading.Event(), Path(path)

    def beat() -> None:
        with suppress(OSError):  # of a folder on another machine, or of a run that is over
            file.touch()
            while not end.wait(PULSE):
                file.touch()
            file.unlink()

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        end.set()
