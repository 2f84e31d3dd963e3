"""A page that carries its model: its size, when it is there, what a typed text takes; beside it onnxruntime-web, on the
same graph in the same page."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import torch
from playwright.sync_api import Page, sync_playwright

from benchmarks.browser import CACHE, PROBE, peak, renderers, served
from benchmarks.models import small_lens, text
from benchmarks.rows import Row, mb, ms, ratio
from bertlens.base.wire import pack
from bertlens.export import bundle, live, page_tokenizer, page_weights
from bertlens.widgets.overview import with_overview
from bertlens.widgets.view_record import ViewRecord
from tests.browser.harness import CHROMIUM_ARGS, chromium

PEER = "onnxruntime-web@1.30.0"
BUDGETS = {20: 150, 64: None, 128: 500, 512: None}  # ms
NINE = 400  # ms
ROUNDS = {"rounds": 9, "warm": 3}
OWN = "The cat sat on the mat because it was tired."
TYPED = "A dog lay on the rug, since she was sleepy."
LOADED = "document.getElementById('bertlens-says')?.textContent.includes('stays on it')"
TIMES = 3  # that a page is opened


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        yield from opened(Path(folder))
    with TemporaryDirectory() as folder:
        yield from texts(Path(folder))


def opened(folder: Path) -> Iterator[Row]:
    """The whole page, from a file."""
    path = folder / "live.html"
    small_lens().trace(OWN).explore(layer=1, head=8, settings={"all_heads": True}).to_html(
        path, live=True, progress=False
    )
    size = path.stat().st_size
    yield Row("live page of the embedded model, one file", "≤ 55 MB", mb(size), ok=size <= 55e6)
    found = [_opened(path) for _ in range(TIMES)]
    painted, there, answered, memory, most = (median(one[n] for one in found) for n in range(5))
    yield Row("live page: first picture; model there", "–", f"{ms(painted)}; {ms(there)} from navigation")
    yield Row("live page: first typed text, Enter to painted", "–", ms(answered))
    yield Row(
        "live page: memory 5 s after the first typed text",
        "≤ 350 MB (PSS)",
        f"{mb(memory)}; most so far {mb(most)} (RSS)",
        ok=memory <= 350e6,
    )


def _opened(path: Path) -> tuple[float, ...]:
    """Seconds to the first picture, to the model, of the first typed text; bytes held 5 s later, most bytes."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.add_init_script(f"""{PROBE}
                bench.painted = bench.first(() => document.querySelector('.bl-row-label'));
                bench.there = bench.first(() => {LOADED});""")
            page.goto(path.as_uri())
            painted, there = (page.evaluate(f"bench.{name}") / 1e3 for name in ("painted", "there"))
            answered = _typed(page)
            page.wait_for_timeout(5000)
            process = renderers(browser)[0]
            return painted, there, answered, float(psutil.Process(process).memory_full_info().pss), peak(process)
        finally:
            browser.close()


def _typed(page: Page) -> float:
    """Seconds from Enter until a typed text is painted."""
    box = page.get_by_label("Sentence A")
    box.fill(TYPED)
    there = "[...document.querySelectorAll('.bl-row-label')].some((one) => one.textContent.includes('sleepy'))"
    enter = "new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })"
    act = f"document.querySelector('[aria-label=\"Sentence A\"]').dispatchEvent({enter})"
    spent: float = page.evaluate(f"bench.change(() => {act}, () => {there})")
    return spent / 1e3


def texts(folder: Path) -> Iterator[Row]:
    """Texts of several lengths, by the engine and by its peer."""
    lens = small_lens()
    own = lens.trace(OWN)
    carried = {**live.live(own).about, "header": with_overview(ViewRecord(own), "self", 1, 8).overview["header"]}
    carried["tokenizer"] = page_tokenizer.tokenizer_files(lens.tokenizer)
    given = {n: {"text": text(n), "ids": list(lens.encoding(text(n)).input_ids)} for n in BUDGETS}
    (folder / "live.json").write_text(json.dumps({"carried": carried, "texts": given}))
    for n, arrays in enumerate(page_weights.parts(own.model)):
        index, blob = pack(arrays)
        (folder / f"{n}.json").write_text(json.dumps(index))
        (folder / f"{n}.bin").write_bytes(blob)
    _graph(lens.model, folder / "model.onnx")
    (folder / "node_modules").symlink_to(_peer())
    (folder / "engine.js").write_text(bundle.text("engine.js"))
    shutil.copy(Path(__file__).with_suffix(".js"), folder)
    scripts = '<script src="engine.js"></script><script type="module" src="live.js"></script>'
    (folder / "index.html").write_text(f"<!doctype html><meta charset='utf-8'><title>live</title>{scripts}")
    with served(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            page = browser.new_page()
            page.goto(f"{address}/index.html")
            page.wait_for_function("() => globalThis.measured")
            found = page.evaluate("([rounds, warm]) => measured(rounds, warm)", list(ROUNDS.values()))
        finally:
            browser.close()
    for tokens, budget in BUDGETS.items():
        whole, bare, theirs, nine = ([times[n] / 1e3 for times in found[str(tokens)]] for n in range(4))
        by = ratio(bare, theirs)
        yield Row(
            f"a typed text of {tokens} tokens in a page, with all pictures",
            f"≤ {budget} ms" if budget else "–",
            ms(median(whole)),
            ok=None if budget is None else median(whole) <= budget / 1e3,
        )
        yield Row(
            f"a pass of {tokens} tokens in a page",
            "≤ 1 × the peer" if tokens <= 128 else "–",
            f"{ms(median(bare))}, {by:.2f} ×",
            f"onnxruntime-web: {ms(median(theirs))}",
            None if tokens > 128 else by <= 1,
        )
        yield Row(
            f"the answer at nine loudnesses of a head of layer 0, {tokens} tokens in a page",
            f"≤ {NINE} ms" if tokens == min(BUDGETS) else "–",
            f"{ms(median(nine))}, {ratio(nine, bare):.1f} × one pass",
            ok=median(nine) <= NINE / 1e3 if tokens == min(BUDGETS) else None,
        )


def _peer() -> Path:
    modules = CACHE / "node_modules"
    if not (modules / "onnxruntime-web").exists():
        CACHE.mkdir(exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", CACHE, PEER], check=True)
    return modules


class _Last(torch.nn.Module):
    """The vectors of the last layer alone."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        found = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return found.last_hidden_state


def _graph(model: Any, path: Path) -> None:
    """The model as onnxruntime reads it."""
    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.tensor([[101, 2002, 2003, 102]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Last(model),
            (ids, torch.ones_like(ids), torch.zeros_like(ids)),
            str(path),
            input_names=names,
            output_names=["vectors"],
            dynamic_axes={name: {1: "tokens"} for name in names},
            dynamo=False,
        )
