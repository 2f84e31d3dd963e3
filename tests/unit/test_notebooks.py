"""Notebooks are for people: short cells, and a first cell that says what one can do after it and how long it takes."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unit.test_prose import without_code

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CHECKS = ROOT / "tests" / "notebooks" / "checks"
LINES = 12  # of a code cell
READ = 150  # words a minute; and a minute for two code cells, to look at what they show
MINUTES = {"fifteen": 15, "twenty": 20, "twenty-five": 25, "thirty": 30, "thirty-five": 35, "ninety": 90}
ASSERTIONS = {
    "01": 3,
    "02": 29,
    "03": 22,
    "04": 30,
}  # how many there were in the cells themselves, before they stood in checks/


WORDS = 900


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in found]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_code_cell_has_at_most_twelve_lines_and_asserts_nothing(path):
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert {cell["id"]: lines for cell in code if (lines := len(cell["source"].splitlines())) > LINES} == {}
    assert [cell["id"] for cell in code if re.search(r"^\s*assert\b", cell["source"], re.MULTILINE)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_says_what_one_can_do_after_it_and_in_how_many_minutes(path):
    first, *rest = cells(path)
    assert first["cell_type"] == "markdown"
    assert re.search(r"\n\*\*After this notebook you can\*\*\n\n- .*\n(- |  |\n)", first["source"])
    [stated] = re.findall(r"\n\*\*([A-Z][a-z-]+) minutes\*\*|\n\*\*([A-Z][a-z-]+) minutes\.\*\*", first["source"])
    minutes = MINUTES["".join(stated).lower()]
    words = sum(len(cell["source"].split()) for cell in [first, *rest] if cell["cell_type"] == "markdown")
    needed = words / READ + sum(cell["cell_type"] == "code" for cell in rest) / 2
    assert needed <= minutes + 2.5
    assert path.stem == "workshop" or minutes <= 1.5 * needed + 2.5  # a class talks


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_one_will_see_hides_its_set_up_and_has_a_guess_before_a_reveal(path):
    found = cells(path)
    texts = [cell["source"] if cell["cell_type"] == "markdown" else "" for cell in found]
    words = len(without_code("\n\n".join(texts)).split())
    assert words <= WORDS
    first = next(cell for cell in found if cell["cell_type"] == "code")
    assert (
        first["source"].startswith('WHEEL = ""  # On Google Colab: ') and first["metadata"]["jupyter"]["source_hidden"]
    )
    if path.stem == "workshop":  # its lessons ask
        return
    assert re.search(r"^\*\*You will see\*\* ", texts[0], re.MULTILINE)
    folded = [at for at, cell in enumerate(found) if cell["metadata"].get("jupyter", {}).get("outputs_hidden")]
    guesses = [at for at, text in enumerate(texts) if re.search(r"\*\*Guess:\*\*.*click\s+the\s+dots", text, re.DOTALL)]
    assert any(guess < at <= guess + 3 for guess in guesses for at in folded)


def test_the_tour_ends_at_the_view_that_it_began_with():
    *_, text, last = cells(NOTEBOOKS[0])
    assert last["source"] == "first" and text["cell_type"] == "markdown"
    assert any(cell["source"].endswith(".explore()\nfirst") for cell in cells(NOTEBOOKS[0]))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_checks_are_of_cells_that_are_there_and_no_fewer_than_they_were(path):
    checks = CHECKS / f"{path.stem}.py"
    text = checks.read_text(encoding="utf-8") if checks.is_file() else ""
    named = re.findall(r"^# %% after (\S+)", text, re.MULTILINE)
    assert set(named) <= {cell["id"] for cell in cells(path) if cell["cell_type"] == "code"}
    assert len(set(named)) == len(named)
    asserted = sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(text)))
    assert asserted >= ASSERTIONS.get(path.stem[:2], 0)
    assert all(re.search(r"^\s*assert\b", part, re.MULTILINE) for part in text.split("# %% after")[1:])


def test_a_notebook_that_is_opened_alone_finds_its_studies(tmp_path):
    """Its first cell says where they are: as on Colab, where a wheel is installed and nothing lies beside it."""
    codes = {path.stem: [cell["source"] for cell in cells(path) if cell["cell_type"] == "code"] for path in NOTEBOOKS}
    counting = [code[0] for code in codes.values() if any("from studies import" in source for source in code)]
    [ends] = {tuple(first.splitlines()[-4:]) for first in counting}
    assert len(counting) == 12
    run = [sys.executable, "-c", "\n".join(["import sys", *ends, "from studies import texts", "print(texts.__file__)"])]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path)
    assert Path(done.stdout.strip()) == ROOT / "notebooks" / "studies" / "texts.py", done.stderr


@pytest.fixture
def pages() -> Any:
    pytest.importorskip("nbformat")
    spec = importlib.util.spec_from_file_location("notebook_pages", ROOT / "docs" / "notebook_pages.py")
    assert spec is not None and spec.loader is not None
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    return pages


def test_a_notebook_is_to_be_executed_anew_once_a_study_of_it_changed(pages, tmp_path):
    folder = shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    before = {path: pages.executed(path) for path in folder.glob("*.ipynb")}

    def changed(study: str) -> set[str]:
        with open(folder / "studies" / f"{study}.py", "a", encoding="utf-8") as file:
            file.write("# another")
        now = {path: pages.executed(path) for path in before}
        others = {path.stem for path in before if now[path] != before[path]}
        before.update(now)
        return others

    assert changed("genes") == {"05_sars_cov_2"}  # which it imports
    assert changed("masked_sentences") == {"08_what_if"}  # by masked_words
    assert len(changed("finding")) > 8


def test_an_executed_notebook_is_a_page_of_texts_tables_and_pictures(pages, tmp_path, monkeypatch):
    """Without bars, and without what would fetch a widget's scripts; another text or version was not executed."""
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setattr(pages, "EXECUTED", tmp_path)
    path = ROOT / "notebooks" / "07_why.ipynb"
    assert "What the cells show is in the notebook itself" in pages.page(path)
    notebook = nbformat.read(path, as_version=4)
    widget, output = {pages.WIDGET: {"model_id": "x"}}, nbformat.v4.new_output
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"x": {}}}}
    notebook.cells[1].outputs = [
        output("stream", name="stderr", text="  0%|"),
        output("display_data", {**widget, "text/plain": "page: 35%"}),
        output("display_data", {**widget, "image/png": "AAAA", "text/plain": "<Explorer>"}),
        output("display_data", {"text/plain": ""}),
        output("stream", name="stdout", text="twelve heads"),
        output("display_data", {"text/html": "<table></table>"}),
    ]
    nbformat.write(notebook, pages.executed(path))
    cells = json.loads(pages.page(path))["cells"]
    assert "".join(cells[1]["source"]) == "```{bertlens}\n:of: views/why\n```"
    assert [sorted(one.get("data", one.get("text", ""))) for one in cells[2]["outputs"]] == [
        ["image/png", "text/plain"],
        ["twelve heads"],
        ["text/html"],
    ]
    assert "widget" not in pages.page(path)
    monkeypatch.setattr(pages.bertlens, "__version__", "0.0")
    assert not pages.executed(path).exists()
