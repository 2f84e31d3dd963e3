"""The notebooks for marimo as a reader meets them: in a browser, with their cells following the view."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser import harness
from browser.views import Seen
from unit.test_project import ROOT

FOLDER = ROOT / "notebooks" / "marimo"


def opened(page: Page) -> Seen:
    view = page.locator(".bertlens").first
    view.wait_for(timeout=harness.PATIENCE)
    seen = Seen(page, view, folded=True)
    expect(seen.root).to_have_attribute("data-state", "live", timeout=harness.PATIENCE)
    return seen


@pytest.mark.long
def test_the_table_of_the_tour_follows_the_head_that_is_clicked(open_marimo: Callable[..., Any]) -> None:
    page = open_marimo(FOLDER / "tour.py")
    seen = opened(page)
    chip = seen.part("strip").locator("[data-strip-head]").nth(1)
    chip.click(timeout=harness.PATIENCE)
    layer, head = (chip.get_attribute("data-strip-head") or "").split("-")
    title = page.get_by_text(re.compile(rf"L{layer}·H{head}.*: the largest weight of each token"))
    expect(title).to_be_visible(timeout=harness.PATIENCE)
    assert seen.idle_scrollers() == []


@pytest.mark.long
def test_another_model_is_written_and_seen_and_a_wrong_name_is_a_sentence(open_marimo: Callable[..., Any]) -> None:
    page = open_marimo(FOLDER / "own_model.py")
    expect(opened(page).part("sentence")).to_contain_text("cabinet")
    model = page.get_by_label("model", exact=True)
    model.fill("embedded")
    model.press("Enter")
    expect(page.get_by_text("The vectors rest on").or_(page.get_by_text("vector")).first).to_be_visible(
        timeout=harness.PATIENCE
    )
    model.fill("no/such model")
    model.press("Enter")
    expect(page.locator(".bertlens")).to_have_count(0, timeout=harness.PATIENCE)
    expect(page.get_by_text("no/such model").first).to_be_visible()
