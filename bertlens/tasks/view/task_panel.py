"""Questions about labelled examples: table and scores, one example as the run shown, and work that takes minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import TypedDict

from ...base.jobs import Job, Stopped, Works
from ...errors import BertLensError, InputError
from ...trace.provenance import visible
from ...trace.trace import Trace
from ...widgets.messages.arguments import ARGUMENTS, Argument, choice
from ...widgets.messages.records import Again, Arrays, Message, Nothing, WorkEnd
from ...widgets.messages.turns import at_work
from ...widgets.panels.panel import RUNS, Panel
from ...widgets.request import Request
from .. import ABLATIONS, MEASURES, Against, Errors, Heads, Task, TaskWords, expected
from .task_fields import (
    TOLD,
    AgainstFields,
    Confusion,
    TableColumns,
    TaskMetric,
    WorkFields,
    against_fields,
    columns_of,
    confusion,
    records,
    with_changes,
    worst_first,
)

KEPT = 200  # examples that a page without a kernel holds
PATIENCE = 0.2  # s
WORKS = ("heads", "pruning", "layers", "errors", "slices", "words", "turned")
WAYS = ("heads", "turned")  # that have a measure and an ablation, named before they begin
ARGUMENTS |= {
    "work": Argument(choice("work", WORKS)),
    "effect_of": Argument(choice("measure", MEASURES)),
    "ablation": Argument(choice("ablation", ABLATIONS)),
}


class TaskPanel(Panel):
    """A task in a view: its table, what has been found, what is at work. The model is run where it was not yet.

    against: what changed from another model to the task's.
    Raises InputError for what is no task, or found of another one.
    """

    needs: ClassVar = {"task": "this view was made without labelled examples: pass task= of bl.task(lens, examples)"}
    parts = ("examples", "task")
    no_model = "a live page holds no labelled examples: save the view without live=True"

    def __init__(
        self,
        task: Task,
        heads: Heads | None = None,
        errors: Errors | None = None,
        against: Against | None = None,
        words: TaskWords | None = None,
    ) -> None:
        if not isinstance(task, Task):
            raise InputError(f"task is what bl.task(lens, examples) gives, not {type(task).__name__}")
        if heads is not None and (not isinstance(heads, Heads) or heads.task is not task):
            raise InputError("heads is what task.heads() of the same task gives")
        if errors is not None and not isinstance(errors, Errors):
            raise InputError("errors is what task.errors() gives")
        if words is not None and (not isinstance(words, TaskWords) or words.task is not task):
            raise InputError("words is what task.words() of the same task gives")
        if against is not None and (not isinstance(against, Against) or against.after is not task):
            raise InputError("against is what task.against(other_lens) of the same task gives")
        self.task, self.against = task, against
        self.table = worst_first(task.table if against is None else with_changes(task.table, against))
        self.metrics = task.metrics()
        self._opened: tuple[int, tuple[str | None, str | None]] | None = None  # a row, and the texts of its run
        self._texts = task.examples.shown()
        given = {"heads": heads, "errors": errors, "words": words}
        self._works = Works({name: outcome for name, outcome in given.items() if outcome is not None})

    @property
    def corpus(self) -> str:
        return self.task.examples.columns.source or "labelled examples"

    @property
    def worst(self) -> int:
        """The row with the largest loss."""
        return int(self.table["row"].iloc[0])

    def trace(self, row: Any) -> Trace:
        """The run of an example. Raises InputError for a row that there is not, ModelError once the model changed."""
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < len(self.task):
            raise InputError(f"no example {str(row)[:40]}: there are 0 to {len(self.task) - 1}")
        task = self.task
        task.check()
        return task.lens.run([task.examples.encoding(task.lens, int(row), task.truncation)])[0]

    def open(self, row: Any) -> Trace:
        """The run of an example that is to be shown. Raises as `trace` does."""
        trace = self.trace(row)
        self._opened = int(row), (trace.text, trace.text_pair)
        return trace

    def row_of(self, trace: Trace) -> int | None:
        """The example that a trace is the run of, by its texts: the one that was opened last, where several have
        them; None of another text."""
        if self._opened is not None and self._opened[1] == (trace.text, trace.text_pair):
            return self._opened[0]
        texts = tuple(text for text in (trace.text, trace.text_pair) if text)
        return next((row for row, row_texts in enumerate(self._texts) if tuple(row_texts) == texts), None)

    def before(self, trace: Trace) -> Trace:
        """The run of the same text by the model before. Raises InputError in a view without one."""
        if self.against is None:
            raise InputError("this view knows of no model before this one: task.against(other_lens).explore()")
        row = self.row_of(trace)
        if row is not None:
            return self.against.trace_before(row)
        self.against.before.check()
        return self.against.before.lens.trace(trace.text or "", trace.text_pair, truncation=self.task.truncation)

    def why_not(self, trace: Trace) -> str:
        """Why the examples cannot stand beside a trace; "" where they can: it is of the same model."""
        lens: Any = trace.lens
        if lens is not None and lens.borrowed.runner is self.task.lens.borrowed.runner:
            return ""
        return "the task is of another model than this trace: trace with task.lens"

    def title(self, model: str, parts: Sequence[str]) -> str:
        return f"{model}: its task" if "examples" in parts else ""

    def shown_by(self, trace: Trace) -> Message | None:
        row = self.row_of(trace)
        return None if row is None else _opening(row)

    def runs(self, trace: Trace) -> Iterator[tuple[Message, Trace]]:
        """Of the examples with the largest loss, but for the one shown and those that cannot be run."""
        for row in self.table["row"].head(RUNS).tolist():
            try:
                run = self.trace(row)
            except BertLensError:
                continue
            if row != self.row_of(trace):
                yield _opening(row), run

    def close(self) -> None:
        self.stop()

    def outcome(self, work: str, patience: float, **way: Any) -> Any:
        """What a piece of work found, which is begun if need be; its Job while it is at it. way: how it is to begin."""
        return self._works.outcome(work, self._work(work, way), patience)

    def held(self) -> list[str]:
        """The work whose results are here."""
        return [work for work in WORKS if work in self._works.outcomes]

    def stop(self, work: str | None = None) -> None:
        """End a piece of work, or all of it."""
        self._works.stop(work)

    def cost(self, work: str, ablation: str) -> str:
        """What it will take, in a sentence."""
        return expected(self.task, ablation=ablation, models=2 if work == "turned" else 1)

    def _work(self, work: str, way: dict[str, Any]) -> Callable[[], Any]:
        task = self.task
        if work == "turned":
            against = self.against
            if against is None:
                raise InputError("this view was made without another model: task.against(other_lens).explore()")
            return lambda: against.effects(**way)
        if work == "heads":
            return lambda: task.heads(**way)
        if work == "pruning":
            heads = self._works.outcomes.get("heads")
            if heads is None:
                raise InputError("the curve needs an order of the heads: ask for these first")
            return lambda: heads.pruning()
        begins: dict[str, Callable[[], Any]] = {"layers": task.layers, "errors": task.errors, "slices": task.slices}
        begins |= {"words": task.words}
        return begins[work]


class TaskFields(TableColumns):
    source: str
    examples: int  # of the task; `batch` of them are here
    wrong: int | None
    opened: int | None
    metrics: list[TaskMetric]
    notes: list[str]  # how labels were read, and what the scores count
    confusion: Confusion | None
    rated: bool  # answers are right or wrong
    layered: bool  # its layers can be told apart
    against: AgainstFields | None
    held: list[str]  # work that was done
    batch: int


class OpenRow(TypedDict):
    row: int


class WorkCost(TypedDict):
    said: str


def task(request: Request) -> tuple[TaskFields, Arrays]:
    """What is known at once: scores, counts, the examples that matter most. Arrays: see `columns_of`."""
    panel = request.panel(TaskPanel)
    task = panel.task
    batch = panel.table.head(KEPT)
    columns, arrays = columns_of(batch)
    wrong = int((~panel.table["right"]).sum()) if "right" in panel.table else None
    fields: TaskFields = {
        **columns,
        "source": visible(task.examples.columns.source),
        "examples": len(task),
        "wrong": wrong,
        "opened": panel.row_of(request.view.trace),
        "metrics": records(panel.metrics, TaskMetric),
        "notes": [visible(sentence) for sentence in task.notes],
        "confusion": confusion(task),
        "rated": task.kind.has_right,
        "layered": task.has_layers,
        "against": None if panel.against is None else against_fields(panel.against),
        "held": panel.held(),
        "batch": len(batch),
    }
    return fields, arrays


def task_table(request: Request) -> tuple[TableColumns, Arrays]:
    """All examples, the largest loss first: see `columns_of`."""
    return columns_of(request.panel(TaskPanel).table)


def task_open(request: Request, row: Any) -> tuple[OpenRow, Nothing]:
    """An example is run and shown."""
    request.show(request.panel(TaskPanel).open(row))
    return {"row": row}, {}


def _opening(row: int) -> Message:
    """The question that shows an example."""
    return {"op": "task_open", "row": row}


def task_work(request: Request, work: str, **way: Any) -> tuple[WorkFields | WorkEnd | Again, Nothing]:
    """A piece of work, which is begun if need be: "again" with "doing", "done" (its share) and "said" while it is at
    it; then what it found.

    way: effect_of (a measure) and ablation, which are named when it begins.
    """
    try:
        options = {"measure": way["effect_of"]} if "effect_of" in way else {}
        options |= {"ablation": way["ablation"]} if "ablation" in way else {}
        outcome = request.panel(TaskPanel).outcome(work, PATIENCE, **(options if work in WAYS else {}))
    except Stopped:
        return {"stopped": True}, {}
    if isinstance(outcome, Job):
        return at_work(outcome), {}
    return TOLD[work](outcome), {}


def task_cost(request: Request, work: str, ablation: str) -> tuple[WorkCost, Nothing]:
    """What a piece of work will take, in a sentence, before it begins."""
    return {"said": request.panel(TaskPanel).cost(work, ablation)}, {}


def task_stop(request: Request, work: str) -> tuple[Nothing, Nothing]:
    """A piece of work is to end."""
    request.panel(TaskPanel).stop(work)
    return {}, {}


def saved_work(request: Request, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The arguments of `task_work` that a page without a kernel holds: what was found, and slices, which run no
    model."""
    yield from ({"work": work} for work in dict.fromkeys((*request.panel(TaskPanel).held(), "slices")))
