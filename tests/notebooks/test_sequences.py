"""What notebooks say that draw sequences or sentences by a number holds for other numbers, too."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import nbclient
import nbformat
import pytest

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "notebooks"
SARS, WHAT_IF = FOLDER / "05_sars_cov_2.ipynb", FOLDER / "08_what_if.ipynb"
pytestmark = [pytest.mark.notebook, pytest.mark.long, pytest.mark.timeout(900)]


def run(path: Path, folder: Path, seed: int, data: str) -> None:
    notebook = nbformat.read(path, as_version=4)
    [at] = [at for at, cell in enumerate(notebook.cells) if "sequences" in cell.metadata.get("tags", [])]
    assert "SEED = 0" in notebook.cells[at].source
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell(f"SEED = {seed}"))
    spec = importlib.util.spec_from_file_location("checking", HERE / "checking.py")  # there are no packages here
    assert spec is not None and spec.loader is not None
    checking = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checking)
    notebook = checking.with_checks(notebook, path.stem)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    with pytest.MonkeyPatch.context() as environment:  # the kernel inherits it
        environment.setenv("BERTLENS_DATA", data)
        client.execute()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("path", [SARS, WHAT_IF], ids=lambda path: path.stem)
def test_it_holds_for_other_drawn_texts(path, seed, tmp_path):
    run(path, tmp_path, seed, "")


@pytest.mark.data
@pytest.mark.parametrize("seed", [0, 1])
def test_it_holds_for_the_test_split(seed, tmp_path, data):
    run(SARS, tmp_path, seed, str(data))
