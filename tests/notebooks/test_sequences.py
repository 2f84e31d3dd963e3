"""What the notebook on SARS-CoV-2 says holds for other sequences than those that it draws."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "05_sars_cov_2.ipynb"
pytestmark = [pytest.mark.notebook, pytest.mark.long, pytest.mark.timeout(900)]


def run(folder: Path, seed: int, data: str) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    [at] = [at for at, cell in enumerate(notebook.cells) if "sequences" in cell.metadata.get("tags", [])]
    assert "SEED = 0" in notebook.cells[at].source
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell(f"SEED = {seed}"))
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    with pytest.MonkeyPatch.context() as environment:  # the kernel inherits it
        environment.setenv("BERTLENS_DATA", data)
        client.execute()


@pytest.mark.parametrize("seed", [1, 2])
def test_it_holds_for_other_written_sequences(seed, tmp_path):
    run(tmp_path, seed, "")


@pytest.mark.data
@pytest.mark.parametrize("seed", [0, 1])
def test_it_holds_for_the_test_split(seed, tmp_path, data):
    run(tmp_path, seed, str(data))
