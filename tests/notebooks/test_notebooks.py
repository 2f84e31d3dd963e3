"""Every shipped notebook runs from top to bottom in a kernel, on any texts, and is stored without outputs."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).resolve().parent
NOTEBOOKS = sorted((FOLDER.parents[1] / "notebooks").glob("*.ipynb"))
COUNTED = sorted((FOLDER.parents[1] / "notebooks" / "studies").glob("*.py"))  # with the notebooks' texts
pytestmark = pytest.mark.notebook


def beside(name: str) -> Any:
    """A module of this folder: there are no packages here, so by its path."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SENTENCES, CHECKING, SILENCE = beside("sentences"), beside("checking"), beside("silence")
SETS: dict[str, list[tuple[str, str]]] = SENTENCES.SETS | SENTENCES.DRAWN


def parameters(notebook: Any) -> int | None:
    """Index of the cell in which a reader puts texts of their own."""
    tagged = [at for at, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) < 2
    return tagged[0] if tagged else None


WITH_TEXTS = [path for path in NOTEBOOKS if parameters(nbformat.read(path, as_version=4)) is not None]


def run(path: Path, folder: Path, data: str, texts: list[tuple[str, str]] | None = None) -> Any:
    """Who executed the notebook; raises CellExecutionError with the cell and its traceback. data "": no test data."""
    notebook = nbformat.read(path, as_version=4)
    if texts is not None:
        at = parameters(notebook)
        assert at is not None and "TEXTS = None" in notebook.cells[at].source
        notebook.cells.insert(at + 1, nbformat.v4.new_code_cell(f"TEXTS = {texts!r}"))
    notebook = CHECKING.with_checks(notebook, path.stem)
    resources = {"metadata": {"path": folder}}
    listener = SILENCE.Listener(notebook, timeout=300, kernel_name="python3", resources=resources)
    with pytest.MonkeyPatch.context() as environment:  # the kernel inherits it
        environment.setenv("BERTLENS_DATA", data)
        listener.execute()
    return listener


@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path):
    """Without test data, as a reader has it: who, in make test-long, is never left without a sign for long."""
    listener = run(path, tmp_path, data="")
    print(f"{path.stem}: {listener}")
    if "BERTLENS_BUDGETS" in os.environ:  # beside other tests a time says nothing
        cells = {cell.id for cell in nbformat.read(path, as_version=4).cells}  # but for the checks'
        assert listener.silent(cells) == {}
    codes = [cell for cell in listener.nb.cells if cell.cell_type == "code"]
    shown = [output for cell in codes for output in cell.outputs if "data" in output]
    # A view, not only a progress bar: our widgets bring their still picture along.
    assert any({"application/vnd.jupyter.widget-view+json", "image/png"} <= set(output.data) for output in shown)


START = datetime(2020, 2, 2, tzinfo=timezone.utc)  # of messages that were sent long before they are heard
STATES = {"busy": "status", "idle": "status"}


def heard(messages: list[tuple[str, float, float]], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A listener that has heard a cell's messages: of each what it is, when it was sent, and the queue by then (s)."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", id="cell")])
    manager = SimpleNamespace(provisioner=SimpleNamespace(pid=1))
    listener = SILENCE.Listener(notebook, km=manager)
    # what nbclient itself does with a message needs a kernel
    monkeypatch.setattr(nbclient.NotebookClient, "process_message", lambda *_: None)
    for kind, sent, queue in messages:
        name = STATES.get(kind, kind)
        monkeypatch.setattr(SILENCE, "queued", lambda _pid, queue=queue: queue)
        message = {"header": {"date": START + timedelta(seconds=sent)}, "msg_type": name}
        listener.process_message(
            message | {"content": {"execution_state": kind} if kind in STATES else {}}, notebook.cells[0], 0
        )
    return listener


SILENT: dict[str, tuple[list[tuple[str, float, float]], float, float]] = {  # and the seconds and the silence
    "throughout": ([("busy", 7, 0), ("execute_input", 8, 0), ("idle", 10, 0)], 3, 3),
    "in the middle": ([("busy", 1, 0), ("stream", 1.5, 0), ("display_data", 4, 0), ("idle", 5, 0)], 4, 2.5),
    "at first": ([("busy", 0, 0), ("stream", 3, 0), ("stream", 4, 0), ("idle", 6, 0)], 6, 3),
    "at the end": ([("busy", 0, 0), ("stream", 1, 0), ("execute_input", 2, 0), ("idle", 6, 0)], 6, 5),
    "while others ran": ([("busy", 0, 2), ("stream", 5, 6), ("idle", 7, 6)], 3, 2),
    "twice": ([("busy", 0, 0), ("idle", 4, 0), ("busy", 60, 0), ("idle", 62, 0)], 2, 4),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_cell_is_silent_from_one_sign_to_the_next(name: str, monkeypatch: pytest.MonkeyPatch):
    messages, seconds, silence = SILENT[name]
    listener = heard(messages, monkeypatch)
    assert listener.seconds == {"cell": pytest.approx(seconds)}
    assert listener.silence == {"cell": pytest.approx(silence)}
    assert listener.queue == messages[-1][2]


def test_a_cell_is_silent_for_too_long_past_the_longest(monkeypatch: pytest.MonkeyPatch):
    listener = heard([("busy", 0, 0), ("idle", SILENCE.LONGEST, 0)], monkeypatch)
    assert listener.silent({"cell", "another"}) == {}
    listener = heard([("busy", 0, 0), ("idle", SILENCE.LONGEST + 1, 0)], monkeypatch)
    assert listener.silent({"cell", "another"}) == {"cell": SILENCE.LONGEST + 1} and listener.silent({"another"}) == {}


def test_the_messages_of_a_kernel_are_heard_by_their_dates(monkeypatch: pytest.MonkeyPatch):
    """Each is an hour after the one before it: whatever the machine does beside."""
    sent: list[tuple[str, str]] = []

    class Hourly(SILENCE.Listener):
        def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
            msg["header"]["date"] = START + timedelta(hours=len(sent))
            sent.append((cell.id, msg["content"].get("execution_state", msg["msg_type"])))
            return super().process_message(msg, cell, cell_index)

    assert SILENCE.queued(os.getpid()) >= 0
    monkeypatch.setattr(SILENCE, "queued", lambda _pid: 0.0)
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, ["a = 1", "print(a)"])))
    listener = Hourly(notebook, timeout=60, kernel_name="python3")
    listener.execute()
    assert list(listener.seconds) == list(listener.silence) == [cell.id for cell in notebook.cells]
    for quiet, cell in zip((True, False), notebook.cells, strict=True):
        kinds = [kind for name, kind in sent if name == cell.id]
        start, end, hour = kinds.index("busy"), kinds.index("idle"), 3600
        signs = [start, *(n for n, kind in enumerate(kinds) if kind == "stream"), end]
        assert quiet == (len(signs) == 2) and kinds[start + 1 : end].count("execute_input") == 1
        assert listener.seconds[cell.id] == (end - start) * hour
        assert listener.silence[cell.id] == max(b - a for a, b in itertools.pairwise(signs)) * hour


@pytest.mark.data
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_with_data(path, tmp_path, data):
    run(path, tmp_path, data=str(data))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("path", WITH_TEXTS, ids=lambda path: path.stem)
def test_what_a_notebook_says_holds_for_other_sentences(path, name, tmp_path):
    """Its assertions are about the model and not about the sentences that we chose."""
    run(path, tmp_path, data="", texts=SETS[name])


def test_notebooks_that_count_take_texts():
    with_texts = {path.stem[:2] for path in WITH_TEXTS}
    assert {"01", "02", "03", "04", "06", "07", "08", "09", "10"} <= with_texts
    for texts in SETS.values():
        assert len(set(texts)) >= 20


def test_other_sentences_are_other_ones():
    for path in [*WITH_TEXTS, *COUNTED]:
        stored = path.read_text(encoding="utf-8")
        assert not [text for pairs in SETS.values() for pair in pairs for text in pair if text in stored]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs(path):
    # As git has it: `make demo` works on the checkout's notebooks, and JupyterLab saves what it shows.
    stored = subprocess.run(["git", "show", f":notebooks/{path.name}"], cwd=path.parent, capture_output=True, text=True)
    notebook = nbformat.reads(path.read_text(encoding="utf-8") if stored.returncode else stored.stdout, as_version=4)
    nbformat.validate(notebook)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert codes
    assert not [cell for cell in codes if cell.outputs or cell.execution_count]
