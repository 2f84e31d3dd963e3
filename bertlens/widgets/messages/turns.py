"""Long work in steps, so that a page's other questions have their turn in between: heads of a layer, or any steps."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import ref

from ...base.generators import Steps
from ...base.jobs import Job
from ...measures.received import is_known, of_heads
from ...measures.rows import Here, head_groups
from ...trace.trace import Trace
from .records import Again

PATIENCE = 0.1  # s that a page's question may take before the others have their turn
IDLE = 10.0  # s after which what nobody went on with is forgotten when something else begins
T = TypeVar("T")


def by_heads(
    trace: Trace, layer: int, work: Callable[[Here, slice], Steps[T]], of: Hashable, patience: float = math.inf
) -> list[T] | None:
    """What `work` makes of a layer's heads, group by group, in steps; None where it takes longer than `patience` (s).

    What is done by then is kept under `of`: the same call again goes on from there.
    """
    memo = trace.kept("heads begun", dict[Hashable, _Groups])
    trace_ref, until = weakly(trace), time.monotonic() + patience
    groups = head_groups(trace, layer)
    state = memo.setdefault((of, layer), _Groups())
    for n in range(len(groups)):
        if n in state.products:
            continue
        steps = state.steps.pop(n, None) or work(trace_ref, groups[n])  # who takes them goes on: two threads may ask
        while True:
            try:
                next(steps)
            except StopIteration as end:
                state.products[n] = end.value
                break
            if time.monotonic() > until:
                state.steps[n] = steps
                return None
    memo.pop((of, layer), None)
    return [state.products[n] for n in range(len(groups))]


@dataclass(eq=False)
class _Groups:
    """Of the groups of a layer's heads: what is made, and the steps of what was begun."""

    products: dict[int, Any] = field(default_factory=dict)
    steps: dict[int, Steps[Any]] = field(default_factory=dict)


def weakly(trace: Trace) -> Here:
    """Gives the trace, without keeping it: who asks for a step has it."""
    weak = ref(trace)

    def here() -> Trace:
        referent = weak()
        assert referent is not None
        return referent

    return here


def passed(trace: Trace, patience: float) -> bool:
    """Whether all rows of all heads have been looked at, once that has been tried for so many seconds."""
    until = time.monotonic() + patience
    groups = ((layer, heads) for layer in range(trace.n_layers) for heads in head_groups(trace, layer))
    missing = [group for group in groups if not is_known(trace, *group)]
    for group in missing:
        if group is not missing[0] and time.monotonic() > until:
            return False
        of_heads(trace, *group)
    return True


def advanced(advance: Callable[[], bool], patience: float) -> bool:
    """Whether something is done, after steps (`advance` makes one and says so) for so many seconds."""
    until = time.monotonic() + patience
    while not (is_complete := advance()) and time.monotonic() < until:
        pass
    return is_complete


@dataclass(eq=False)
class _SteppedWork:
    steps: Generator[float | None, None, Any]
    asked_at: float = 0.0
    share: float | None = None  # 0 to 1, where its steps yield it
    lock: threading.Lock = field(default_factory=threading.Lock)


class SteppedWorks(dict[Hashable, _SteppedWork]):
    """Work in steps that was begun and has not ended, by what it is of."""

    def advance(
        self, of: Hashable, begin: Callable[[], Generator[Any, None, T]], patience: float = math.inf
    ) -> T | None:
        """What `begin` returns, which yields after every step; None where it takes longer than `patience` (s).

        The same call again goes on from there.
        """
        now = time.monotonic()
        for key, idle in list(self.items()):
            if key != of and now - idle.asked_at > IDLE:
                self.pop(key, None)
        work = self.get(of) or self.setdefault(of, _SteppedWork(begin()))
        with work.lock:
            work.asked_at = now
            try:
                while True:
                    work.share = next(work.steps)
                    if time.monotonic() - now > patience:
                        return None
            except StopIteration as end:
                self.pop(of, None)
                return end.value
            except BaseException:
                self.pop(of, None)
                raise

    def again(self, of: Hashable = None) -> Again:
        """The answer to a page that has to ask once more, with the share of `of` that is made, where its steps say
        it."""
        share = self[of].share if of in self else None
        return Again(again=True) if share is None else Again(again=True, done=share)


def unfinished(trace: Trace) -> SteppedWorks:
    """Of a trace."""
    return trace.kept("work in steps", SteppedWorks)


def in_steps(
    trace: Trace, of: Hashable, begin: Callable[[Here], Generator[Any, None, T]], patience: float = math.inf
) -> T | None:
    """See `SteppedWorks.advance`."""
    return unfinished(trace).advance(of, lambda: begin(weakly(trace)), patience)


def ask_again(trace: Trace | None = None, of: Hashable = None) -> tuple[Any, Any]:
    """See `SteppedWorks.again`; whatever the question."""
    return (SteppedWorks() if trace is None else unfinished(trace)).again(of), {}


def at_work(job: Job[Any]) -> Again:
    """The answer to a page that waits for work of minutes."""
    return {"again": True, "doing": job.doing, "done": job.share, "said": job.said}
