"""A cell that runs again and again keeps nothing of the runs before, neither in the kernel nor in the page."""

from __future__ import annotations

import time

import pytest

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
CELL = "lens.trace(text, truncation=True).explore(layer=1, head=8)"


@pytest.mark.parametrize("runs", [6, pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(1200)])])
def test_memory_of_a_cell_that_runs_again(open_notebook, runs, capsys):
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
    for run in range(runs):
        notebook.run_cell(1)
        notebook.page.wait_for_function(
            """count => {
                const cell = jupyterapp.shell.currentWidget.model.sharedModel.cells[1];
                return cell.execution_count === count && cell.executionState !== 'running';
            }""",
            arg=run + 2,
        )
        notebook.page.locator(".bertlens").wait_for()
        if run in (9, runs - 1) or runs < 20:
            seen.append(measured())
    with capsys.disabled():
        print(f"\n{runs} runs of one cell: kernel, page in MB, traces: {seen[0]} … {seen[-1]}")
    wait = time.monotonic() + 10  # an answer to the view before may be on its way
    while (alive := int(notebook.kernel("traces()"))) > 1 and time.monotonic() < wait:
        time.sleep(0.5)
    assert alive == 1
    if runs == 100:
        assert seen[-1][0] <= 1.10 * seen[0][0]
