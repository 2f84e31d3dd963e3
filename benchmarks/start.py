"""How long it is until something is there: the import, a page from the command line, the tour from "Run All".

All of it is a fresh process's own time, on the wall, beside what transformers' own import takes in one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from benchmarks.rows import Row, ms
from tests.browser.harness import CHROMIUM_ARGS, PATIENCE, Jupyter, chromium, watched

ROOT = Path(__file__).parent.parent
MODELS = "from transformers import AutoTokenizer, BertModel"
TIMED = f"import time; {MODELS}; t = time.perf_counter(); {{}}; print(time.perf_counter() - t)"
HTML = "from bertlens.cli import main; main(['html', 'the old man sat', '-o', {!r}])"
VIEW = "from bertlens import Lens; Lens.embedded().trace('the old man sat').explore()._repr_mimebundle_()"
LIVE = "document.querySelector('[data-state=live]') !== null"


def compiled(folder: Path) -> dict[str, str]:
    """An environment in which modules are compiled once, as those of an installed package are."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return environment | {"PYTHONPYCACHEPREFIX": str(folder), "PYTHONPATH": str(ROOT)}


def process(code: str, environment: dict[str, str]) -> tuple[float, str]:
    """Seconds of a fresh interpreter that runs this, and what it says."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True)
    return time.perf_counter() - begun, done.stdout


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        environment = compiled(folder / "compiled")
        names = "from bertlens import Explorer, Lens"
        process(f"{MODELS}; {names}", environment)  # compiles
        added = median(float(process(TIMED.format(names), environment)[1]) for _ in range(3))
        alone = median(float(process(TIMED.format("import bertlens"), environment)[1]) for _ in range(3))
        yield Row(
            "import of Lens and Explorer, over transformers' own",
            "≤ 300 ms",
            f"{ms(added)}; import bertlens alone {ms(alone)}",
            ok=added <= 0.3,
        )
        page = folder / "four.html"
        process(HTML.format(str(page)), environment)
        process(VIEW, environment)
        works = HTML.format(str(page)), VIEW, MODELS
        turns = [[process(code, environment)[0] for code in works] for _ in range(3)]
        whole, view, models = (median(column) for column in zip(*turns, strict=True))
        yield Row(
            "a process from its start to the first view of the embedded model",
            "≤ 5 s",
            f"{view:.1f} s, {view / models:.2f} × a process that only runs “{MODELS}” ({models:.1f} s)",
            ok=view <= 5,
        )
        yield Row(
            "bertlens html, four words, whole command",
            "≤ 6 s",
            f"{whole:.1f} s, {whole - models:.1f} s over a process that only runs “{MODELS}” ({models:.1f} s)",
            ok=whole <= 6,
        )
        yield tour(folder, environment, models)


def tour(folder: Path, environment: dict[str, str], models: float) -> Row:
    """From Run All to an Explorer that answers, the kernel fresh."""
    with sync_playwright() as playwright:
        jupyter = Jupyter(folder / "jupyter", **environment)
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            path = jupyter.notebooks / "01_tour.ipynb"
            shutil.copy(ROOT / "notebooks" / path.name, path)
            _, page, log = watched(browser, jupyter.url, viewport={"width": 1400, "height": 1000})
            notebook = jupyter.open(page, log, path)
            begun = time.perf_counter()
            notebook.run_all()
            page.wait_for_function(f"() => {LIVE}", timeout=PATIENCE)
            spent = time.perf_counter() - begun
        finally:
            browser.close()
            jupyter.stop()
    return Row(
        "the tour in JupyterLab, from Run All to a live Explorer",
        "≤ 4 s",
        f"{spent:.1f} s, of which {models:.1f} s are transformers' own import and the end of a process",
        ok=spent <= 4,
    )
