"""The notebooks as pages of the site: the build writes docs/notebooks/ from notebooks/*.ipynb.

Run alone (`make docs-notebooks`) it executes them, minutes each, and keeps what came out in docs/_executed/, under the
hash of the notebook, of the studies that it counts by and of bertlens' version. Such a notebook is a page with its
outputs; of its views the pictures, since a widget's own scripts would come from another address. The others have their
text and code. At the top of each stands the live view of a page of the site.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

import bertlens

DOCS = Path(__file__).parent
EXECUTED = DOCS / "_executed"
NOTEBOOKS = sorted((DOCS.parent / "notebooks").glob("*.ipynb"))
# The page of the site whose first view stands at the top.
VIEWS = {
    "01_tour": "attention",
    "02_how_heads_are_computed": "views/neurons",
    "03_attention_is_not_only_a_weight": "views/norms",
    "04_geometry_and_gates": "views/gates",
    "05_sars_cov_2": "sars_cov_2",
    "06_what_does_bert_look_at": "views/corpus",
    "07_why": "views/why",
    "08_what_if": "views/matter",
    "09_compare": "views/compare",
    "10_similarity": "views/similarity",
    "11_task": "views/task",
    "12_search": "retrieval",
    "workshop": "teaching",
}
IMPORT = re.compile(r"from (?:studies|\.)\.?(\w*) import ([\w, ]+)")
WIDGET = "application/vnd.jupyter.widget-view+json"


def _with_studies(path: Path) -> list[Path]:
    """The notebook, the studies that it imports, and those that they do."""
    files = [path]
    for file in files:  # which grow
        for module, names in IMPORT.findall(file.read_text(encoding="utf-8")):
            for name in [module] if module else re.findall(r"\w+", names):
                study = path.parent / "studies" / f"{name}.py"
                files += [study] * (study.is_file() and study not in files)
    return files


def executed(path: Path) -> Path:
    """Where the executed notebook is kept: another text, another study or another version is another file."""
    texts = [file.read_bytes() for file in _with_studies(path)]
    digest = hashlib.sha256(b"".join(texts) + bertlens.__version__.encode()).hexdigest()
    return EXECUTED / f"{path.stem}-{digest[:16]}.ipynb"


def _without_widget(output: Any) -> Any | None:
    """A view's picture, a table, a text; None of bars, which are widgets or stand on the error stream."""
    if output.get("name") == "stderr":
        return None
    bundle = output.get("data", {"text": output.get("text", "")})
    if bundle.pop(WIDGET, None) is not None and "image/png" not in bundle:
        return None
    return output if any(str(text).strip() for text in bundle.values()) else None


def page(path: Path) -> str:
    """The notebook of a page, as Sphinx reads it."""
    ran = executed(path)
    notebook = nbformat.read(ran if ran.exists() else path, as_version=4)
    notebook.metadata = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            continue
        cell.outputs = [output for output in map(_without_widget, cell.outputs) if output is not None]
        hidden = cell.metadata.get("jupyter", {})
        tags = [
            name for name, key in (("hide-input", "source_hidden"), ("hide-output", "outputs_hidden")) if key in hidden
        ]
        cell.metadata = {
            "tags": tags if cell.outputs else tags[:1],
            "mystnb": {"image": {"alt": "what this cell shows"}},
        }
    note = "" if ran.exists() else "\n\nWhat the cells show is in the notebook itself: `bertlens demo` opens it.\n"
    view = f"```{{bertlens}}\n:of: {VIEWS[path.stem]}\n```{note}"
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(view, id="live-view"))
    return nbformat.writes(notebook)


def write_pages(*_: Any) -> None:
    """Write the pages that are not there so; Sphinx reads again what is newer."""
    folder = DOCS / "notebooks"
    folder.mkdir(exist_ok=True)
    for path in NOTEBOOKS:
        text, target = page(path), folder / path.name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    for path in {*folder.glob("*.ipynb")} - {folder / path.name for path in NOTEBOOKS}:
        path.unlink()


def execute(path: Path) -> None:
    """Run it as a reader has it, without test data; raises CellExecutionError with the cell and its traceback."""
    from nbclient import NotebookClient

    os.environ["BERTLENS_DATA"] = ""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    executed(path).parent.mkdir(exist_ok=True)
    nbformat.write(notebook, executed(path))


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        if not executed(notebook).exists() and (not sys.argv[1:] or notebook.stem in sys.argv[1:]):
            print(notebook.stem, flush=True)
            execute(notebook)
