"""Questions about labelled examples: table and scores, one example as the run shown, and work that takes minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import BertLensError, InputError
from ...tasks import Against, Errors, Heads, Task, Turned, expected
from ...tasks.slices import slices_said
from ...trace.provenance import visible
from ...trace.trace import Trace
from ..jobs import Job, Stopped
from . import Answer

if TYPE_CHECKING:
    import pandas as pd

    from ..questions import Asked

KEPT = 200  # examples that a page without a kernel holds
RUN = 10  # of them, those with the largest loss, whose runs it holds
CHARACTERS = 4_000_000  # of all texts of a table: beyond it each is cut
CUT = 200  # characters of a text then
PATIENCE = 0.2  # s
WORKS = ("heads", "pruning", "errors", "slices", "turned")
WAYS = ("heads", "turned")  # that have a measure and an ablation, named before they begin
SLICES = 40
PART = ("part", "layer", "head", "estimate", "chosen", "effect", "low", "high", "p_holm", "finding")
TURNED = ("part", "layer", "head", "distance", "low", "high")
BESIDE = ("part", "layer", "head", "before", "after", "difference", "low", "high", "p_holm", "finding")
CURVE = ("order", "off", "left", "value", "low", "high")
QUALITIES = {"accuracy": "the accuracy", "Spearman": "Spearman’s correlation"}  # what a pruning curve may be of
EXPLAINED = ("row", "words", "comprehensiveness", "random", "beats", "nearest", "nearest_text", "similarity", "twin")
SLICE = ("kind", "slice", "n", "wrong", "rate", "low", "high", "rate_outside", "p_holm", "finding")


class Tasked:
    """A task in a view: its table, what has been found, what is at work. The model is run where it was not yet.

    against: what changed from another model to the task's.
    Raises InputError for what is no task, or found of another one.
    """

    def __init__(
        self, task: Task, heads: Heads | None = None, errors: Errors | None = None, against: Against | None = None
    ) -> None:
        if not isinstance(task, Task):
            raise InputError(f"task is what bl.task(lens, examples) gives, not {type(task).__name__}")
        if heads is not None and (not isinstance(heads, Heads) or heads.task is not task):
            raise InputError("heads is what task.heads() of the same task gives")
        if errors is not None and not isinstance(errors, Errors):
            raise InputError("errors is what task.errors() gives")
        if against is not None and (not isinstance(against, Against) or against.after is not task):
            raise InputError("against is what task.against(other_lens) of the same task gives")
        self.task, self.against = task, against
        self.table = worst_first(task.table if against is None else _with_changes(task.table, against))
        self.metrics = task.metrics()
        self._opened: tuple[int, tuple[str | None, str | None]] | None = None  # a row, and the texts of its run
        self._texts = task.examples.shown()
        self._found: dict[str, Any] = {
            name: one for name, one in (("heads", heads), ("errors", errors)) if one is not None
        }
        self._jobs: dict[str, Job[Any]] = {}
        self._lock = threading.Lock()

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
        return next((row for row, own in enumerate(self._texts) if tuple(own) == texts), None)

    def before(self, trace: Trace) -> Trace:
        """The run of the same text by the model before. Raises InputError in a view without one."""
        if self.against is None:
            raise InputError("this view knows of no model before this one: task.against(other_lens).explore()")
        row = self.row_of(trace)
        if row is not None:
            return self.against.trace_before(row)
        return self.against.before.lens.trace(trace.text or "", trace.text_pair, truncation=self.task.truncation)

    def why_not(self, trace: Trace) -> str:
        """Why the examples cannot stand beside a trace; "" where they can: it is of the same model."""
        lens: Any = trace.lens
        if lens is not None and lens.borrowed.runner is self.task.lens.borrowed.runner:
            return ""
        return "the task is of another model than this trace: trace with task.lens"

    def check(self, trace: Trace) -> None:
        """Raises InputError where `why_not` says why."""
        if reason := self.why_not(trace):
            raise InputError(reason)

    def found(self, work: str, patience: float, **way: Any) -> Any:
        """What a piece of work found, which is begun if need be; its Job while it is at it. way: how it is to begin."""
        with self._lock:
            if work in self._found:
                return self._found[work]
            job = self._jobs.get(work)
            if job is None:
                job = self._jobs[work] = Job(self._work(work, way))
        try:
            made = job.made(patience)
        except BaseException:
            self._end(work, job)
            raise
        if not made:
            return job
        self._found[work] = made[0]
        self._end(work, job)
        return made[0]

    def held(self) -> list[str]:
        """The work whose results are here."""
        return [work for work in WORKS if work in self._found]

    def stop(self, work: str | None = None) -> None:
        """End a piece of work, or all of it."""
        for name, job in list(self._jobs.items()):
            if work in (None, name):
                job.stop()

    def _end(self, work: str, job: Job[Any]) -> None:
        with self._lock:
            if self._jobs.get(work) is job:
                del self._jobs[work]

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
            heads = self._found.get("heads")
            if heads is None:
                raise InputError("the curve needs an order of the heads: ask for these first")
            return lambda: heads.pruning()
        begins: dict[str, Callable[[], Any]] = {"errors": task.errors, "slices": task.slices}
        return begins[work]


def tasked(asked: Asked) -> Tasked:
    found: Tasked | None = asked.shown.tasked
    assert found is not None  # the questions need it
    return found


def task(asked: Asked) -> Answer:
    """What is known at once: scores, counts, the examples that matter most. Columns and arrays: see `columns_of`."""
    own = tasked(asked)
    task = own.task
    first = own.table.head(KEPT)
    fields, arrays = columns_of(first)
    wrong = int((~own.table["right"]).sum()) if "right" in own.table else None
    fields |= {
        "source": visible(task.examples.columns.source),
        "examples": len(task),
        "wrong": wrong,
        "opened": own.row_of(asked.shown.trace),
        "metrics": _rows(own.metrics, ("measure", "label", "value", "low", "high", "n", "note")),
        "confusion": _confusion(task),
        "rated": task.kind.has_right,
        "against": None if own.against is None else _against(own.against),
        "held": own.held(),
        "batch": len(first),
    }
    return fields, arrays


def task_table(asked: Asked) -> Answer:
    """All examples, the largest loss first. Columns and arrays: see `columns_of`."""
    return columns_of(tasked(asked).table)


def task_open(asked: Asked, row: Any) -> Answer:
    """An example is run and shown."""
    asked.show(tasked(asked).open(row))
    return {"row": row}, {}


def opens(row: int | None) -> dict[str, Any] | None:
    """The question that shows an example."""
    return None if row is None else {"op": "task_open", "row": row}


def task_work(asked: Asked, work: str, **way: Any) -> Answer:
    """A piece of work, which is begun if need be: "again" with "doing", "done" (its share) and "said" while it is at
    it, "stopped" where it was ended with nothing to keep; then what it found, as fields.

    way: effect_of (a measure) and ablation, which are named when it begins.
    """
    try:
        given = {"measure": way["effect_of"]} if "effect_of" in way else {}
        given |= {"ablation": way["ablation"]} if "ablation" in way else {}
        found = tasked(asked).found(work, PATIENCE, **(given if work in WAYS else {}))
    except Stopped:
        return {"stopped": True}, {}
    if isinstance(found, Job):
        return {"again": True, "doing": found.doing, "done": found.share, "said": found.said}, {}
    return TOLD[work](found), {}


def task_cost(asked: Asked, work: str, ablation: str) -> Answer:
    """What a piece of work will take, in a sentence, before it begins."""
    return {"said": tasked(asked).cost(work, ablation)}, {}


def task_stop(asked: Asked, work: str) -> Answer:
    """A piece of work is to end."""
    tasked(asked).stop(work)
    return {}, {}


def saved_work(asked: Asked, _layers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The arguments of `task_work` that a page without a kernel holds: what was found, and slices, which run no
    model."""
    yield from ({"work": work} for work in dict.fromkeys((*tasked(asked).held(), "slices")))


def worst_first(table: pd.DataFrame) -> pd.DataFrame:
    if "loss" in table:
        table = table.sort_values("loss", ascending=False, kind="stable")
    return table.reset_index(drop=True)


def _with_changes(table: pd.DataFrame, against: Against) -> pd.DataFrame:
    """With the guess of the model before, and what came of it."""
    changes = against.table.set_index("row").loc[table["row"]]
    place = table.columns.get_loc("guess")
    table.insert(place + 1, "change", changes["change"].to_numpy())
    table.insert(place, "before", changes["before"].to_numpy())
    return table


def columns_of(table: pd.DataFrame) -> Answer:
    """Columns as the page reads them: [{name, kind, values or names}]; kind "text": values; "class": names, array
    `name` of their numbers; "flag" and "number": array `name`. Texts of very many examples are cut, and `cut` says to
    how many characters (0: whole)."""
    columns: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    text_names = [name for name in table.columns if name.startswith("text")]
    whole = sum(len(_said(value)) for name in text_names for value in table[name])
    cut = CUT if whole > CHARACTERS else 0
    for name in table.columns:
        values = table[name]
        kind = getattr(values.dtype, "kind", "O")
        if kind == "b":
            columns.append({"name": name, "kind": "flag"})
            arrays[name] = values.to_numpy(np.uint8)
        elif kind in "iuf":
            columns.append({"name": name, "kind": "number"})
            arrays[name] = values.to_numpy(np.int32 if kind in "iu" else np.float32)
        elif name in text_names:
            said = [_said(value) for value in values]
            columns.append({"name": name, "kind": "text", "values": [one[:cut] for one in said] if cut else said})
        else:
            said = [_said(value) for value in values]
            names = list(dict.fromkeys(said))
            place = {one: n for n, one in enumerate(names)}
            columns.append({"name": name, "kind": "class", "names": names})
            arrays[name] = np.array([place[one] for one in said], np.int32)
    return {"columns": columns, "cut": cut}, arrays


def _said(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(map(str, value)) if np.ndim(value) else str(value)


def _confusion(task: Task) -> dict[str, Any] | None:
    """Counts, None of a task that has none."""
    try:
        table = task.confusion()
    except (BertLensError, AttributeError):
        return None
    return {"names": [str(name) for name in table.index], "counts": table.to_numpy().tolist()}


def _rows(table: pd.DataFrame, names: Iterable[str]) -> list[dict[str, Any]]:
    """Records of the columns that there are."""
    rows: list[dict[str, Any]] = table[[name for name in names if name in table]].to_dict("records")
    return rows


def _heads(found: Heads) -> dict[str, Any]:
    return {"said": found.said, "measure": found.measure, "rows": _rows(found.table, PART)}


def _against(found: Against) -> dict[str, Any]:
    return {
        "said": found.said,
        "note": found.note,
        "model": visible(found.before.lens.model_name),
        "counts": list(found.counts.items()),
        "texts": found.texts,
        "heads": _rows(found.heads, TURNED),
    }


def _turned(found: Turned) -> dict[str, Any]:
    return {"said": found.said, "measure": found.after.measure, "rows": _rows(found.table, BESIDE)}


def _pruning(table: pd.DataFrame) -> dict[str, Any]:
    quality = quality_of(table)
    return {
        "said": pruning_said(table),
        "quality": quality,
        "rows": _rows(table.rename(columns={quality: "value"}), CURVE),
    }


def quality_of(table: pd.DataFrame) -> str:
    """What a pruning curve is of: "accuracy" or "Spearman"."""
    return next(name for name in QUALITIES if name in table)


def pruning_said(table: pd.DataFrame) -> str:
    """How many heads are needed, in a sentence."""
    n, least = int(table["off"].max()), table.attrs["least"]
    said = (
        f"{least['estimate']} of {n} heads keep 95 % of {QUALITIES[quality_of(table)]} where those with the smallest "
        "estimates are switched off first"
    )
    return f"{said}; {least['random']} where they are taken at random (mean of 3 orders)."


def _errors(found: Errors) -> dict[str, Any]:
    return {"said": found.said, "rows": _rows(found.table, EXPLAINED)}


def _slices(table: pd.DataFrame) -> dict[str, Any]:
    return {"said": slices_said(table), "rows": _rows(table.head(SLICES), SLICE)}


TOLD: dict[str, Callable[[Any], dict[str, Any]]] = {
    "heads": _heads,
    "turned": _turned,
    "pruning": _pruning,
    "errors": _errors,
    "slices": _slices,
}
