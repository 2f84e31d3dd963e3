"""The pictures of README and docs: `make screenshots` takes them from the running thing and puts them in docs/images.

`python docs/screenshots.py docs/gallery.md …` takes those of the snippets in these pages alone, `… sizes` draws the
figure of layers and dimensions alone: some minutes, on the Cranfield collection in the folder that BERTLENS_DATA names.

Wide pictures come from a live JupyterLab, narrow ones from the page that `to_html` writes.
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "notebooks")]

from browser.harness import CHROMIUM_ARGS, Jupyter, chromium, watched  # noqa: E402

FRONT = """import bertlens as bl

view = bl.Lens.embedded(mlm=True).trace("The cat did not drink the milk because the [MASK] was tired.").explore()
view"""

TRACE = """import bertlens as bl

lens = bl.Lens.embedded()
trace = lens.trace("The cat sat on the mat because it was tired.", "The dog lay on the rug.")
view = trace.explore(layer=1, head=8, query=3, key=4, settings={"all_heads": True})
view"""

MASKED = """view.trace = bl.Lens.embedded(mlm=True).trace("The cat sat on the [MASK] because it was tired.")
view.view = 'matter'"""

SENTENCES = (
    "The river froze early that year, and the boats stayed in the harbour.",
    "She asked the clerk for a ticket to the last train.",
    "Nobody had told him that the museum was closed on Mondays.",
    "In the evening the children played chess under the old oak.",
    "The engineer who built the bridge never crossed it himself.",
    "After the storm, the village had no light for three days.",
    "A letter arrived, but it was written in a language he could not read.",
    "The orchestra tuned its instruments while the audience waited.",
    "Most of the bread was gone before noon.",
    "When the bell rang, the dog lifted its head and went back to sleep.",
    "The kettle whistled until somebody took it off the stove.",
    "My brother sold his old car to a neighbour.",
    "Rain had washed the chalk from the pavement by morning.",
    "The doctor said that he would call again after lunch.",
    "Few people remembered the song, but everybody hummed along.",
    "The train was late because a tree lay on the line.",
    "Two boys carried the ladder across the yard.",
    "Her answer was short, and it was the right one.",
    "The shop sells bread, eggs and a little cheese.",
    "He read the letter twice before he put it away.",
)


# What is taken of a snippet's view: of the tab that it opens in, or of its kind; of the others the whole view.
TAKEN = {
    "survey": "[data-testid=survey]",
    "task": ".bl-task",
    "table": "[data-testid=table]",
    "NeuronView": "[data-testid=neurons]",
    "NormView": "[data-testid=norms]",
    "GateView": "[data-testid=gates]",
    "GeometryView": "[data-testid=geometry]",
}
SNIPPET = re.compile(r"^```(?:python|\{bertlens\}[^\n]*)\n((?::[^\n]*\n)*)(.*?)^```", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"^:picture: .*?((?:view|gallery)-\S+)\.png$", re.MULTILINE)


def shoot(page: Page, name: str, selector: str = ".bertlens", height: int = 10_000) -> None:
    """One part of the page, its upper `height` pixels, as a PNG with a small palette: light in a repository."""
    page.mouse.move(0, 0)
    page.wait_for_function("() => !document.querySelector('.bertlens .bl-tip')")
    taken = Image.open(io.BytesIO(page.locator(selector).first.screenshot()))
    taken = taken.crop((0, 0, taken.width, min(height, taken.height)))
    colours = 64 if name.startswith("gallery") else 256  # twenty of them in one page
    light = taken.convert("RGB").quantize(colours, kmeans=4, dither=Image.Dither.NONE)
    light.save(IMAGES / f"{name}.png", optimize=True)
    print(IMAGES.relative_to(ROOT) / f"{name}.png", taken.size)


def live(browser, jupyter: Jupyter) -> None:  # type: ignore[no-untyped-def]
    for theme, cell in (("light", FRONT), ("dark", FRONT), ("light", TRACE)):
        context, page, log = watched(browser, jupyter.url, viewport={"width": 1720, "height": 2300})
        path = jupyter.write([cell], f"{theme}.ipynb")
        notebook = jupyter.open(page, log, path, theme=theme)
        notebook.run_all()
        page.wait_for_selector('.bertlens[data-state="live"]')
        if cell == FRONT:
            page.locator("[data-strip-head]").first.wait_for()
            page.get_by_test_id("heads-to-come").wait_for(state="detached")
            page.wait_for_timeout(1500)  # the view may move to another head, whose arcs are drawn
            shoot(page, f"explorer-{theme}")
        else:
            shoot(page, "matrix", ".bl-head")
            notebook.kernel("view.view = 'neurons'")
            page.wait_for_selector("[data-testid=neurons]")
            shoot(page, "neurons", ".bl-neurons")
            notebook.kernel("view.mode = 'lines'; view.heads = [[0, 2]]")
            page.wait_for_selector(".bl-chip:nth-of-type(2)")
            shoot(page, "lines", ".bl-head")
            for tab in ("why", "norms", "gates", "geometry"):
                notebook.kernel(f"view.view = {tab!r}")
                page.wait_for_selector(f"[data-testid={tab}]")
                if tab == "geometry":
                    page.get_by_role("heading", name="Ranks and symmetry").wait_for()
                if tab == "why":
                    page.locator(".bl-why-pictures button").first.wait_for()
                shoot(page, tab, ".bl-bottom")
            notebook.kernel(MASKED)
            page.locator("[data-testid=matter] caption").wait_for()
            page.locator("[data-testid=matter]").evaluate("one => { one.style.padding = '12px' }")
            shoot(page, "whatif", "[data-testid=matter]")
        context.close()
        jupyter.end_kernels({path.name})


def corpus(browser, folder: Path) -> None:  # type: ignore[no-untyped-def]
    """The corpus tab: a sentence among sentences of its length."""
    import bertlens as bl

    lens = bl.Lens.embedded()
    stats = bl.survey.head_stats(lens, SENTENCES, progress=False)
    distances = bl.survey.head_distances(lens, SENTENCES, progress=False)
    sentence = bl.survey.Sentence(
        ["The", "cat", "sat", "on", "the", "warm", "mat", "because", "it", "was", "tired", "."],
        [1, 2, -1, 6, 6, 6, 2, 10, 10, 10, 2, 2],
        ["det", "nsubj", "root", "case", "det", "amod", "obl", "mark", "nsubj", "cop", "advcl", "punct"],
    )
    path = folder / "corpus.html"
    trace = lens.trace_words(sentence.words)
    corpus = {"stats": stats, "distances": distances, "sentence": sentence}
    trace.explore(layer=1, head=8, view="survey", **corpus).to_html(path)
    context, page, _ = watched(browser, path.as_uri(), viewport={"width": 1400, "height": 2300})
    page.goto(path.as_uri())
    page.wait_for_selector("[data-testid=survey]")
    page.get_by_role("combobox", name="statistic").select_option("next")
    shoot(page, "corpus", ".bl-bottom")
    context.close()


def task(browser, folder: Path) -> None:  # type: ignore[no-untyped-def]
    """Labelled examples: which of two authors wrote a sentence, before a fine-tuning and now."""
    import bertlens as bl
    from studies import authors

    train, test = authors.examples()
    before, after = authors.trained(bl.Lens.embedded(), train)
    asked = bl.task(after, test, progress=False)
    found = asked.heads(chosen=8), asked.errors(5)
    path = folder / "task.html"
    asked.against(before).explore(heads_found=found[0], errors_found=found[1]).to_html(path, progress=False)
    context, page, _ = watched(browser, path.as_uri(), viewport={"width": 1400, "height": 2300})
    page.goto(path.as_uri())
    page.locator(".bl-task").get_by_role("button", name="Heads", exact=True).click()
    page.wait_for_selector("[data-testid=task-heads]")
    page.locator(".bl-task").evaluate("one => { one.style.padding = '12px' }")
    shoot(page, "task", ".bl-task")
    context.close()


def snippets(document: Path) -> Iterator[tuple[str, Any]]:
    """(name of the picture, view) of each snippet that has a picture of its own, as the directive makes it."""
    names: dict[str, Any] = {}
    pieces = SNIPPET.findall(document.read_text(encoding="utf-8"))
    pictures = [PICTURE.search(options) for options, _ in pieces]
    while pictures and pictures[-1] is None:  # what stands below the last one is of no picture
        pictures.pop()
    for (options, code), picture in zip(pieces, pictures, strict=False):
        *lines, last = ast.parse(code).body
        exec(compile(ast.Module(lines if picture else [*lines, last], []), document.name, "exec"), names)
        if picture is not None:
            view = eval(compile(ast.Expression(last.value), document.name, "eval"), names)  # type: ignore[attr-defined]
            state = re.search(r"^:state: (.*)$", options, re.MULTILINE)
            for trait, setting in eval(f"dict({state[1] if state else ''})", {}).items():
                setattr(view, trait, setting)
            yield picture[1], view


def snippet_pages(browser, folder: Path, documents: list[Path]) -> None:  # type: ignore[no-untyped-def]
    """Of each snippet in docs that has a picture of its own what it shows."""
    for document in documents:
        for name, view in snippets(document):
            path = view.to_html(folder / f"{name}.html", progress=False)
            size = {"width": 950, "height": 640}
            context, page, _ = watched(browser, path.as_uri(), viewport=size, device_scale_factor=1)
            page.goto(path.as_uri())
            selector = TAKEN.get(getattr(view, "view", "") or type(view).__name__, ".bertlens")
            if name == "view-present":
                selector = "dialog.bl-present"
                page.get_by_role("button", name="Present", exact=True).click()
                for _ in range(2):
                    page.keyboard.press("ArrowRight")
            page.locator(selector).first.wait_for()
            page.wait_for_function("() => !document.querySelector('.bl-empty, .bl-wait')", timeout=20_000)
            page.wait_for_timeout(1500)  # arcs are drawn, the knob has dipped
            if selector not in (".bertlens", "dialog.bl-present"):
                page.locator(selector).first.evaluate("element => { element.style.padding = '12px' }")
            shoot(page, name, selector, height=640 if name.startswith("gallery") else 900)
            context.close()


def search(browser, folder: Path) -> None:  # type: ignore[no-untyped-def]
    """Of the search view its measures and heads, and a typed question in the page that carries the model."""
    [(_, view)] = snippets(ROOT / "docs" / "retrieval.md")
    path = view.to_html(folder / "search.html", live=True, progress=False)
    context, page, _ = watched(browser, path.as_uri(), viewport={"width": 950, "height": 640})
    page.goto(path.as_uri())
    heads = page.get_by_role("region", name="Heads that matter here")
    heads.get_by_role("button").first.wait_for()
    heads.evaluate("element => { element.style.padding = '12px' }")
    shoot(page, "search-heads", "section[aria-label^='Heads that matter']")
    page.get_by_role("tab", name="How good?").click()
    page.get_by_test_id("table-quality").wait_for()
    shoot(page, "search-measures", height=560)
    page.get_by_role("tab", name="Questions").click()
    field = page.get_by_label("A question of your own")
    field.fill("Does it make a lot of noise?")
    field.press("Enter")
    page.get_by_role("button", name="Back to the questions").wait_for()
    page.wait_for_timeout(5000)  # the passages are compared, the arcs drawn
    shoot(page, "search-typed", height=700)
    context.close()


def sizes() -> None:
    """Layers and dimensions of all of Cranfield, as `plots.sizes` draws them; without it the picture stays."""
    import matplotlib.pyplot as plt

    import bertlens as bl
    from unit.search import cranfield

    folder = os.environ.get("BERTLENS_DATA")
    if not folder:
        print("docs/images/sizes.png stays: BERTLENS_DATA names no folder with cranfield/")
        return
    texts = cranfield.collection(Path(folder))
    passages = dict(zip(texts.passage_ids, texts.passages, strict=True))
    queries = dict(zip(texts.query_ids, texts.queries, strict=True))
    r = bl.retrieval(bl.Lens.embedded(), queries, passages, texts.grades, keep=False)
    figure, places = plt.subplots(1, 2, figsize=(11, 3.74), layout="constrained")
    for axes, found in zip(places, (r.layers(), r.dimensions()), strict=True):
        bl.plots.sizes(found, axes)
        print(found.said)
    figure.savefig(IMAGES / "sizes.png", dpi=100)


def narrow(browser, folder: Path) -> None:  # type: ignore[no-untyped-def]
    import bertlens as bl

    trace = bl.Lens.embedded(mlm=True).trace("The cat did not drink the milk because the [MASK] was tired.")
    path = folder / "page.html"
    trace.explore().to_html(path)
    for theme in ("light", "dark"):
        context, page, _ = watched(
            browser, path.as_uri(), viewport={"width": 480, "height": 900}, color_scheme=theme, device_scale_factor=1.5
        )
        page.goto(path.as_uri())
        page.locator("[data-strip-head]").first.wait_for()
        shoot(page, f"narrow-{theme}")
        context.close()


def main(documents: list[str]) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    if documents in ([], ["sizes"]):
        sizes()
    if documents == ["sizes"]:
        return None
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        paths = [Path(document).resolve() for document in documents]
        os.chdir(folder)  # for what a page writes
        if documents:
            return snippet_pages(browser, Path(folder), paths)
        jupyter = Jupyter(Path(folder) / "jupyter")
        try:
            live(browser, jupyter)
            narrow(browser, Path(folder))
            corpus(browser, Path(folder))
            task(browser, Path(folder))
            search(browser, Path(folder))
            snippet_pages(browser, Path(folder), sorted((ROOT / "docs").rglob("*.md")))
        finally:
            jupyter.stop()
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
