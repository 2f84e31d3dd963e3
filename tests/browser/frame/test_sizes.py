"""Letters on every kind of page: five sizes, and the sentence's own beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import bertlens as bl
from bertlens.reports import Report
from browser.front.test_leaves import ask, number
from browser.tabs.test_search import search
from browser.tabs.test_task import mixed
from browser.views import Seen
from unit import tiny

SIZES = {12, 13.5, 16, 20, 24}  # px
OF_THE_TEXT = ".bl-stage, .bl-row-text, mark"  # sentences have a size of their own, fitted
LETTERS = """left => {
    const sizes = {};
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const parent = node.parentElement;
        const isOut = parent.closest(`.bl-hidden, option, script, style, ${left}`);
        if (!node.data.trim() || !parent.checkVisibility() || isOut) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const { width, height, top } = range.getBoundingClientRect();
        if (width && height) (sizes[getComputedStyle(parent).fontSize] ??= []).push(node.data.trim().slice(0, 30));
    }
    return sizes;
}"""


def sizes(page: Page) -> dict[float, list[str]]:
    found = page.evaluate(LETTERS, OF_THE_TEXT)
    return {float(size.removesuffix("px")): texts for size, texts in found.items()}


def others(page: Page) -> dict[float, list[str]]:
    """Letters of another size than the five."""
    return {size: texts for size, texts in sizes(page).items() if size not in SIZES}


@pytest.mark.parametrize("width", [390, 962, 1400])
def test_the_first_screen_and_its_leaves_have_five(
    show: Callable[..., Seen], language_model: bl.Lens, width: int
) -> None:
    view = language_model.trace("The cat did not drink the milk because the [MASK] was tired.").explore(layer=5, head=7)
    seen = show(view, folded=True, width=width, height=900)
    expect(seen.part("strip").locator("[data-strip-head]").first).to_be_visible(timeout=60_000)
    expect(seen.part("claim")).to_contain_text("falls from", timeout=60_000)
    assert others(seen.page) == {}
    number(seen).click()
    for name in ("How is", "Why", "Does it matter"):
        if not name.startswith("How"):
            ask(seen, name)
        expect(seen.part("leaf").locator(".bl-leaf-body .bl-number").first).to_be_visible()
        assert others(seen.page) == {}, name


def task_page(folder: Path) -> Path:
    lens, _, examples = mixed()
    return bl.task(lens, examples, progress=False).to_html(folder / "task.html")


def report_page(folder: Path) -> Path:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    texts = [("the cat sat on the mat, it was warm.", f"the mats, unbelievable cats {'it ' * n}") for n in range(9)]
    report: Report = bl.report(lens, texts, progress=False)
    return report.to_html(folder / "report.html")


def class_page(folder: Path) -> Path:
    lens = bl.Lens(tiny.bert(), tiny.wordpiece())
    return bl.classroom(lens, ["the cat sat on the mat"]).to_html(folder / "class.html", progress=False)


def search_page(folder: Path) -> Path:
    return search(300).explore().to_html(folder / "search.html")


@pytest.mark.parametrize("write", [task_page, report_page, class_page, search_page])
def test_every_kind_of_page_has_the_same_five(write: Callable[[Path], Any], page_of: Any, tmp_path: Path) -> None:
    page = page_of(write(tmp_path).read_text("utf8"), width=1400, height=900)
    page.wait_for_timeout(3000)
    assert others(page) == {}
