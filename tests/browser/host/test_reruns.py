"""A cell that runs again and again keeps nothing of the runs before, neither in the kernel nor in the page."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.long

SETUP = """
import gc, os, torch, bertlens as bl
lens = bl.Lens.embedded()
text = "The cat sat on the mat because it was tired. " * 50

def resident():
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

def traces():
    gc.collect()
    return sum(type(one) is bl.Trace for one in gc.get_objects())
"""
BARE = """
import anywidget, os, traitlets

class Bare(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.className = el.textContent = 'bare' } }"
    data = traitlets.Bytes().tag(sync=True)
"""
RUNS = 100
CELL = "lens.trace(text, truncation=True).explore(layer=1, head=8)"


def run_again(notebook, cell: int, count: int, wanted: str) -> None:
    """Run a cell, as the count-th of the kernel, until what it shows is there."""
    notebook.run_cell(cell)
    notebook.page.wait_for_function(
        """([cell, count]) => {
            const { execution_count, executionState } = jupyterapp.shell.currentWidget.model.sharedModel.cells[cell];
            return execution_count === count && executionState !== 'running';
        }""",
        arg=[cell, count],
    )
    notebook.page.locator(wanted).first.wait_for()


@pytest.mark.timeout(1200)
def test_memory_of_a_cell_that_runs_again(open_notebook, capsys):
    notebook = open_notebook([SETUP, CELL], run=False)
    notebook.run_cell(0)
    notebook.finished(0)
    session = notebook.page.context.new_cdp_session(notebook.page)

    def heap() -> float:
        session.send("HeapProfiler.collectGarbage")
        return session.send("Runtime.getHeapUsage")["usedSize"] / 1e6

    def measured() -> tuple[float, float, int]:
        return float(notebook.kernel("resident()")), heap(), int(notebook.kernel("traces()"))

    seen = []
    for run in range(RUNS):
        run_again(notebook, 1, run + 2, ".bertlens")
        if run in (9, RUNS - 1):
            seen.append(measured())
    with capsys.disabled():
        print(f"\n{RUNS} runs of one cell: kernel, page in MB, traces: {seen[0]} … {seen[-1]}")
    wait = time.monotonic() + 10  # an answer to the view before may be on its way
    while (alive := int(notebook.kernel("traces()"))) > 1 and time.monotonic() < wait:
        time.sleep(0.5)
    assert alive == 1
    assert seen[-1][0] <= 1.10 * seen[0][0]


def test_a_run_leaves_no_more_in_the_page_than_a_bare_widget(open_notebook, capsys):
    """JupyterLab keeps the model of every widget that a cell made, as long as the kernel lives; ours keep few bytes."""
    notebook = open_notebook([SETUP + BARE, CELL, "Bare(data=os.urandom(212_000))"], run=False)
    notebook.run_cell(0)
    notebook.finished(0)
    session = notebook.page.context.new_cdp_session(notebook.page)

    def kept(cell: int, first: int, wanted: str, runs: int = 8) -> dict[str, float]:
        """kB per run that stay: of objects, and of array buffers; without the first runs, which compile code."""
        sizes = []
        for run in range(runs + 3):
            run_again(notebook, cell, first + run, wanted)
            if run in (2, runs + 2):
                time.sleep(3)  # answers on their way
                session.send("HeapProfiler.collectGarbage")
                session.send("HeapProfiler.collectGarbage")
                sizes.append(session.send("Runtime.getHeapUsage"))
        fields = {"objects": "usedSize", "buffers": "backingStorageSize"}
        return {name: (sizes[1][field] - sizes[0][field]) / runs / 1e3 for name, field in fields.items()}

    ours, bare = kept(1, 2, ".bertlens"), kept(2, 13, ".bare")
    with capsys.disabled():
        print(f"\nkB that a run leaves in the page: an Explorer {ours}, a bare widget of as many bytes {bare}")
    assert bare["buffers"] > 200 and ours["buffers"] < 40
    assert sum(ours.values()) < sum(bare.values())
