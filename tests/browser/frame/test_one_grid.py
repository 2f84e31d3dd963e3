"""Every kind of page has one left edge, one h1, landmarks, five sizes, figures of one width, and no scroll bar but the
list's; so it is with all heads, a leaf, Present and print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import bertlens as bl
from browser.frame.test_sizes import (
    LETTERS,
    OF_THE_TEXT,
    SIZES,
    class_page,
    others,
    report_page,
    search_page,
    task_page,
)
from browser.views import AXE, Seen

TEXT = "The cat did not drink the milk because the [MASK] was tired."
WIDTHS = {390: 32, 962: 40, 1400: 84}  # px of the window, where all that stands at the left begins
LEFT = """() => {
    const blocks = ".bl-title, .bl-search-head, .bl-search-tabs, .bl-sentence, .bl-claim, .bl-leaf, .bl-heads-here, " +
        ".bl-cases, .bl-work > .bl-main > .bl-column > *, .bl-work > .bl-panel, #bertlens-says, body > footer, " +
        "body > .labelled, #report, #live";
    // what begins with its own edge
    const boxes = ".bl-marker, [data-n], .place span, summary, .bl-brand, td, th, button, select, input";
    const lefts = (block) => {
        const found = [];
        const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const parent = node.parentElement;
            if (!node.data.trim() || !parent.checkVisibility()) continue;
            if (parent.closest(".bl-hidden, script, style, option, svg")) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            const box = parent.closest(boxes);
            for (const { left, width } of box ? [box.getBoundingClientRect()] : range.getClientRects())
                if (width > 1) found.push(left);
        }
        return found;
    };
    return [...document.querySelectorAll(blocks)].flatMap((one) => {
        const isAside = !one.checkVisibility() || one.closest(".bl-the-case"); // the list stands at the edge
        const found = isAside ? [] : lefts(one);
        return found.length ? [[one.className || one.id || one.tagName, Math.round(Math.min(...found))]] : [];
    });
}"""
NUMBERS = """() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (!/\\d[.]\\d/.test(node.data) || !parent.checkVisibility()) continue;
        if (parent.closest("script, style, code, svg")) continue;
        if (!getComputedStyle(parent).fontVariantNumeric.includes("tabular-nums")) found.push(node.data.trim());
        const front = parent.closest(".bl-front") && !parent.closest(".bl-set-sizes, .bl-hidden");
        const digits = parent.closest(".bl-leaf") ? 3 : 2;
        if (front) for (const [number, places] of node.data.matchAll(/\\d+[.](\\d+)/g))
            if (places.length !== digits) found.push(`${number} with ${places.length}: ${node.data.trim()}`);
    }
    return found;
}"""
SCROLLERS = """() => [...document.querySelectorAll("body *")].filter((one) => {
    const { overflowX, overflowY } = getComputedStyle(one);
    const scrolls = (overflow, size, room) => /auto|scroll/.test(overflow) && size > room + 1;
    const isAny = scrolls(overflowX, one.scrollWidth, one.clientWidth) ||
        scrolls(overflowY, one.scrollHeight, one.clientHeight);
    return isAny && one.checkVisibility() && !one.matches("textarea, .bl-case-rows");
}).map((one) => one.className || one.tagName)"""
ALL_FINDINGS = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
    .map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 160)])"""


def saved_page(folder: Path) -> Path:
    view = bl.Lens.embedded(mlm=True).trace(TEXT).explore(layer=5, head=7)
    return view.to_html(folder / "saved.html", progress=False)


def similarity_page(folder: Path) -> Path:
    view = bl.similarity(bl.Lens.embedded(), "The old key is here.", "A new cabinet stands there.").explore()
    return view.to_html(folder / "similarity.html", progress=False)


KINDS = [saved_page, class_page, task_page, search_page, report_page, similarity_page]


def settled(page: Page) -> None:
    expect(page.locator("main *").first).to_be_attached(timeout=60_000)
    expect(page.get_by_text("computing …")).to_have_count(0, timeout=60_000)
    page.wait_for_load_state("networkidle")


def looked_over(page: Page, edge: int) -> None:
    assert {name: left for name, left in page.evaluate(LEFT) if abs(left - edge) > 1} == {}
    assert others(page) == {}
    assert page.evaluate(NUMBERS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")


@pytest.mark.sampled(2, of="kinds of page")
@pytest.mark.parametrize("write", KINDS)
def test_one_left_edge_five_sizes_and_figures_of_one_width(
    write: Callable[[Path], Any], page_of: Any, tmp_path: Path
) -> None:
    page = page_of(write(tmp_path).read_text("utf8"), width=1400, height=900)
    settled(page)
    page.evaluate(AXE.read_text("utf8"))
    for width, edge in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("() => new Promise(requestAnimationFrame)")
        looked_over(page, edge)
        if width > 390:
            assert page.evaluate(SCROLLERS) == []
    assert page.locator("h1").count() == page.locator("main").count() == 1
    assert page.evaluate(ALL_FINDINGS) == []


def test_so_it_is_with_a_leaf_all_heads_present_and_print(show: Callable[..., Seen], language_model: bl.Lens) -> None:
    seen = show(language_model.trace(TEXT).explore(layer=5, head=7), folded=True, width=962, height=900)
    expect(seen.part("claim")).to_contain_text("falls from", timeout=60_000)
    edge = round(seen.root.bounding_box()["x"]) + 28  # type: ignore[index]
    looked_over(seen.page, edge)
    seen.root.locator(".bl-open-heads").click()
    expect(seen.part("heads-leaf").locator("li .bl-number").first).to_be_visible()
    looked_over(seen.page, edge)
    assert seen.page.evaluate(SCROLLERS) == []
    seen.root.get_by_role("button", name="all heads in full").click()
    expect(seen.root.locator(".bl-atlas")).to_be_visible()
    seen.settled()
    looked_over(seen.page, edge)
    assert seen.page.evaluate(SCROLLERS) == []
    seen.root.locator(".bl-open-heads").click()
    seen.page.emulate_media(media="print")
    looked_over(seen.page, edge)
    seen.page.emulate_media(media="screen")
    seen.root.get_by_role("button", name="Present").click()
    expect(seen.page.locator(".bl-slide")).to_be_visible()
    of_slide = f"{OF_THE_TEXT}, .bl-slide"  # its letters are as large as the room lets them be
    assert {float(size.removesuffix("px")) for size in seen.page.evaluate(LETTERS, of_slide)} <= SIZES
