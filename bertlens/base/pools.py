"""Pools of workers, each behind the same few calls: processes (concurrent.futures, joblib), Dask, Ray.

None of these packages is imported before somebody has, but for client="local".
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ClusterError, InputError, excerpt
from .worker import PULSE, forget, on_actor, work

SENDINGS = 3  # times that what is shared is sent to a cluster
PATIENCE = 60.0  # seconds for a call of a scheduler
LOOK = 5.0  # seconds for its word on who is there and at work
FAILED = ("error", "cancelled", "lost")


class Pool:
    """Workers that share something, and do `work` on chunks of bytes. Futures are those of concurrent.futures, or like
    them."""

    name = ""  # in errors
    _size = 1

    def __init__(self) -> None:
        self.key = uuid.uuid4().hex  # of what is shared

    @property
    def size(self) -> int:
        """Chunks that may be worked at at the same time."""
        return self._size

    def submit(self, chunk: bytes, name: str) -> Any:
        """The future of a chunk's answer. name: of this submission, for `is_at`."""
        raise NotImplementedError

    def is_at(self, future: Any, name: str) -> bool:
        """Whether a worker is at it, as far as anybody knows."""
        raise NotImplementedError

    def mend(self, error: BaseException) -> bool:
        """After a chunk was lost by this error: whether somebody is left. Raises ClusterError where nobody can be."""
        raise NotImplementedError

    def has_failed(self, future: Any) -> bool:
        return future.done() and (future.cancelled() or future.exception() is not None)

    def error(self, future: Any) -> BaseException:
        """Of a future that has failed."""
        return CancelledError() if future.cancelled() else future.exception()

    def is_deadly(self, error: BaseException) -> bool:
        """Whether the pool itself has tried its best with this chunk."""
        return False

    def cancel(self, futures: list[Any]) -> None:
        for future in futures:
            future.cancel()

    def close(self) -> None:
        forget(self.key)  # workers may be threads of this process


class _Pulsing(Pool):
    """Workers that may see a folder of this machine."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="bertlens-", ignore_cleanup_errors=True)

    def pulse(self, name: str) -> str:
        return os.path.join(self._folder.name, name)

    def is_at(self, future: Any, name: str) -> bool:
        with suppress(OSError):
            return time.time() - os.stat(self.pulse(name)).st_mtime < 10 * PULSE
        return False

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


class Processes(_Pulsing):
    """An executor of this machine, or a function that makes one: it is called again where one is broken."""

    def __init__(self, client: Any, content: bytes):
        super().__init__()
        self._maker = None if isinstance(client, Executor) else client
        self._executor: Any = client if self._maker is None else self._made()
        self._source = self.pulse("shared")
        Path(self._source).write_bytes(content)
        self.name = f"the {type(self._executor).__name__}"
        self._size = getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1

    def _made(self) -> Any:
        assert self._maker is not None
        executor = self._maker()
        if not isinstance(executor, Executor):
            raise InputError(f"the function of client= makes an Executor, not {excerpt(executor, 60)}")
        return executor

    def submit(self, chunk: bytes, name: str) -> Any:
        return self._executor.submit(work, self.key, self._source, chunk, self.pulse(name))

    def mend(self, error: BaseException) -> bool:
        if not isinstance(error, RuntimeError):  # as BrokenExecutor is, and what a closed one raises
            return True
        if self._maker is not None:
            self._executor.shutdown(wait=False)
            self._executor = self._made()
        return self._maker is not None

    def close(self) -> None:
        super().close()
        if self._maker is not None:
            self._executor.shutdown(wait=False)


class Dask(Pool):
    """The workers of a Dask cluster: they are sent bytes, which any of them can hand to another, whatever runs."""

    def __init__(self, client: Any, content: bytes):
        super().__init__()
        self.client, self._content, self.name = client, content, f"the Dask cluster at {client.scheduler.address}"
        self._workers: dict[str, int] = {}
        self._counted = -PATIENCE
        self._source: Any = None
        self._send(SENDINGS)

    def _send(self, attempts: int) -> None:
        for attempt in range(1, attempts + 1):
            try:
                [self._source] = self._call(
                    self.client.scatter, [self._content], broadcast=True, hash=False, asynchronous=True
                )
            except Exception as error:
                if attempt == attempts:
                    raise ClusterError(
                        f"the model could not be sent to {self.name} ({type(error).__name__}: {str(error)[:200]}): "
                        "look whether its workers live and have room for it"
                    ) from error
            else:
                return

    def _resend(self) -> None:
        self._source = None
        try:
            self._send(1)
        except ClusterError:
            self._workers = {}  # until they are counted again

    @property
    def size(self) -> int:
        if time.monotonic() - self._counted > LOOK:  # workers come and go
            with suppress(Exception):  # a scheduler that does not answer at the moment
                self._workers = self._call(self.client.scheduler.ncores, patience=LOOK)
            self._counted = time.monotonic()
        return max(1, sum(self._workers.values()))

    def submit(self, chunk: bytes, name: str) -> Any:
        if self._source is None and self._workers:
            self._resend()
        if self._source is None:
            return Future()  # that nobody is at
        return self.client.submit(work, self.key, self._source, chunk, pure=False)

    def is_at(self, future: Any, name: str) -> bool:
        with suppress(Exception):  # a worker that does not answer, or has just died
            return bool(self._call(self.client.scheduler.call_stack, keys=[future.key], patience=LOOK))
        return False

    def mend(self, error: BaseException) -> bool:
        deadline = time.monotonic() + PATIENCE
        while self.client.status == "connecting" and time.monotonic() < deadline:
            time.sleep(0.1)
        if self.client.status != "running":
            raise ClusterError(f"the scheduler of {self.name} is gone ({type(error).__name__}: {str(error)[:200]})")
        self._resend()
        return True

    def has_failed(self, future: Any) -> bool:
        return super().has_failed(future) if isinstance(future, Future) else future.status in FAILED

    def error(self, future: Any) -> BaseException:
        if isinstance(future, Future):
            return super().error(future)
        try:
            future.result(LOOK)
        except Exception as error:  # noqa: BLE001  whatever it is
            return error
        return CancelledError()

    def is_deadly(self, error: BaseException) -> bool:
        return type(error).__name__ == "KilledWorker"

    def cancel(self, futures: list[Any]) -> None:
        with suppress(Exception):  # of a cluster that is no longer there
            ours = [future for future in futures if not isinstance(future, Future)]
            self._call(self.client.cancel, ours, asynchronous=True, patience=LOOK)

    def close(self) -> None:
        from distributed import fire_and_forget

        super().close()
        with suppress(Exception):
            for worker in self._workers:
                at = {"workers": [worker], "allow_other_workers": True, "pure": False}
                fire_and_forget(self.client.submit(forget, self.key, **at))

    def _call(self, call: Callable[..., Any], *arguments: Any, patience: float = PATIENCE, **options: Any) -> Any:
        """What a call of the client gives, which has so many seconds for it."""
        return self.client.sync(partial(call, *arguments, **options), callback_timeout=patience)


class Ray(_Pulsing):
    """Ray's workers, or given actors, whose class does not matter."""

    def __init__(self, ray: Any, actors: list[Any] | None, content: bytes):
        super().__init__()
        self._ray, self._actors, self.name = ray, actors, "Ray"
        self._refs: dict[Any, Any] = {}
        self._loads: Counter[Any] = Counter()
        self._source = ray.put(np.frombuffer(content, np.uint8))
        self._work = ray.remote(work)

    @property
    def size(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)) if self._actors is None else len(self._actors))

    def submit(self, chunk: bytes, name: str) -> Any:
        arguments = self.key, self._source, chunk, self.pulse(name)
        actor = None
        if self._actors is None:
            ref = self._work.remote(*arguments)
        else:
            actor = min(self._actors, key=self._loads.__getitem__)
            ref = actor.__ray_call__.remote(on_actor, *arguments)
        self._loads[actor] += 1
        future = ref.future()
        self._refs[future] = ref
        future.add_done_callback(partial(self._over, actor))
        return future

    def _over(self, actor: Any, future: Any) -> None:
        self._loads[actor] -= 1
        self._refs.pop(future, None)
        if self._actors and isinstance(future.exception(), self._ray.exceptions.ActorDiedError):
            self._actors = [other for other in self._actors if other != actor]

    def mend(self, error: BaseException) -> bool:
        if not self._ray.is_initialized():
            raise ClusterError(f"Ray is gone ({type(error).__name__}: {str(error)[:200]})")
        return self._actors != []

    def cancel(self, futures: list[Any]) -> None:
        for future in futures:
            with suppress(Exception):
                self._ray.cancel(self._refs[future])


@contextmanager
def connected(client: Any, content: bytes) -> Iterator[Pool]:
    """The pool of a client, whose workers share this content.

    client: a dask.distributed.Client, or "local" for a LocalCluster of this machine that is closed afterwards; an
    Executor of this machine (ProcessPoolExecutor, joblib's), or a function that makes one, which is called again where
    a worker's death has broken it; the module ray, or a list of Ray's actors.
    Raises InputError for anything else, where dask is not installed, and for "local" in a script outside
    `if __name__ == "__main__":`; ClusterError where workers cannot be sent the content.
    """
    with ExitStack() as stack:
        if isinstance(client, str) and client == "local":
            client = stack.enter_context(_local_cluster())
        pool = _pool(client, content)
        stack.callback(pool.close)
        yield pool


def _pool(client: Any, content: bytes) -> Pool:
    distributed, ray = sys.modules.get("distributed"), sys.modules.get("ray")
    if distributed is not None and isinstance(client, distributed.Client):
        return Dask(client, content)
    if ray is not None and client is ray:
        return Ray(ray, None, content)
    if isinstance(client, list | tuple) and client and ray is not None:
        if all(isinstance(actor, ray.actor.ActorHandle) for actor in client):
            return Ray(ray, [*client], content)
    elif isinstance(client, Executor) or callable(client):
        return Processes(client, content)
    raise InputError(
        'client is a dask.distributed.Client or "local", an Executor (ProcessPoolExecutor, joblib\'s) or a function '
        f"that makes one, the module ray or a list of its actors, not {excerpt(client, 60)}"
    )


@contextmanager
def _local_cluster() -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError('client="local" needs dask: pip install "dask[distributed]"') from None
    _check_main_guard()
    with LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def _check_main_guard() -> None:
    """Raises InputError where a script asks for processes outside `if __name__ == "__main__":`.

    Each new process reads the script again, and would start processes of its own: hundreds of lines of errors.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None:
        return  # a notebook or a prompt, which nothing reads again
    frame = sys._getframe()
    while frame and not (frame.f_globals is vars(main) and frame.f_code.co_name == "<module>"):
        frame = frame.f_back  # type: ignore[assignment]
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):  # no source to read
        return
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)]
    if frame and not any(node.lineno <= frame.f_lineno <= (node.end_lineno or 0) for node in guards):
        raise InputError(
            f'client="local" starts processes that read {Path(file).name} again: put the call, or what leads to it, '
            'under if __name__ == "__main__":'
        )
