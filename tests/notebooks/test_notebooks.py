"""Every shipped notebook runs from top to bottom in a kernel, and is stored without outputs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.notebook


@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()  # raises CellExecutionError with the cell and its traceback
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [output for cell in codes for output in cell.outputs if "data" in output]
    # A view, not only a progress bar: our widgets bring their still picture along.
    assert any({"application/vnd.jupyter.widget-view+json", "image/png"} <= set(output.data) for output in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs(path):
    # As git has it: `make demo` works on the checkout's notebooks, and JupyterLab saves what it shows.
    stored = subprocess.run(["git", "show", f":notebooks/{path.name}"], cwd=path.parent, capture_output=True, text=True)
    notebook = nbformat.reads(path.read_text(encoding="utf-8") if stored.returncode else stored.stdout, as_version=4)
    nbformat.validate(notebook)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert codes
    assert not [cell for cell in codes if cell.outputs or cell.execution_count]
