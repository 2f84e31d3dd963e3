"""A page for a class, in Chromium: the teacher's texts are at hand, and what is typed is run. A small model."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import bertlens as bl
from browser.export.test_live import ALONE, listed, run
from browser.views import Seen

pytestmark = pytest.mark.sampled(10, of="live pages")

TEXTS = ["The cat sat on the mat.", ("A dog lay down.", "It slept."), "The bird flew over the house."]


@pytest.fixture(scope="module")
def page(tiny: bl.Lens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bl.classroom(tiny, TEXTS).to_html(tmp_path_factory.mktemp("class") / "class.html", progress=False)


def test_the_texts_of_the_page_are_at_hand(page, rounded, page_of):
    seen = Seen(page_of(page, width=1280))
    expect(seen.page.locator("#bertlens-says")).to_have_text(ALONE)
    expect(seen.root.locator(".bl-row-label", has_text="mat")).to_be_visible()
    menu = seen.root.locator(".bl-texts")
    menu.locator("summary").click()
    expect(menu).to_contain_text("Texts of this page")
    expect(menu.locator("p")).to_have_text(["Texts of this page"])
    expect(menu.locator("button bdi")).to_have_text([TEXTS[0], " / ".join(TEXTS[1]), TEXTS[2]])
    menu.get_by_role("button", name="A dog lay down. / It slept.").click()
    expect(seen.root.locator(".bl-row-label", has_text="slept")).to_be_visible()
    seen.thumb(1, 1).click()
    seen.root.locator(".bl-row-label").nth(5).click()
    listed(seen, rounded.trace(*TEXTS[1]), 1, 1, 5)
    run(seen, "A horse ran.")
    expect(seen.root.locator(".bl-row-label", has_text="horse")).to_be_visible()
    menu.locator("summary").click()
    expect(menu).not_to_contain_text("Run before")  # what was typed is the text shown, the others are there already
    menu.locator("summary").click()
    run(seen, "A cow ran.")
    expect(seen.root.locator(".bl-row-label", has_text="cow")).to_be_visible()
    menu.locator("summary").click()
    ran = "A horse ran. / It slept."
    expect(menu.locator("button bdi")).to_have_text([TEXTS[0], " / ".join(TEXTS[1]), TEXTS[2], ran])


def test_a_browser_that_cannot_unpack_shows_the_text_that_the_page_carries(page, tiny, browser: Browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script("delete globalThis.DecompressionStream;")
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(page.as_uri())
    expect(opened.locator("#bertlens-says")).to_have_text(
        "This browser has no DecompressionStream to unpack the model: the page shows the text that it carries."
    )
    seen = Seen(opened)
    expect(seen.root.locator(".bl-coming")).to_have_count(0)
    expect(seen.root.get_by_label("Sentence A")).to_be_disabled()
    seen.thumb(1, 0).click()
    seen.root.locator(".bl-row-label").nth(3).click()
    listed(seen, tiny.trace(TEXTS[0]), 1, 0, 3)
    context.close()
    assert errors == []


def test_the_other_texts_are_shown_before_the_model_is_there(page, tiny, browser: Browser):
    """The page carries them: a browser that never gets the model's weights shows them with their own numbers."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(
        "globalThis.Worker = undefined; globalThis.MessageChannel = class {"
        " port1 = { postMessage() {} }; port2 = { postMessage() {} } };"
    )
    opened = context.new_page()
    opened.goto(page.as_uri())
    seen = Seen(opened)
    expect(seen.root.locator(".bl-coming")).to_have_text("loading the model 0 %")
    menu = seen.root.locator(".bl-texts")
    menu.locator("summary").click()
    menu.get_by_role("button", name="A dog lay down. / It slept.").click()
    expect(seen.root.locator(".bl-row-label", has_text="slept")).to_be_visible()
    seen.thumb(1, 1).click()
    seen.root.locator(".bl-row-label").nth(5).click()
    listed(seen, tiny.trace(*TEXTS[1]), 1, 1, 5)
    menu.locator("summary").click()
    menu.get_by_role("button", name=TEXTS[0]).click()
    expect(seen.root.locator(".bl-row-label", has_text="mat")).to_be_visible()
    context.close()


def test_a_change_of_another_text_goes_back_to_what_the_page_carries(page, tiny, page_of):
    seen = Seen(page_of(page, width=1280))
    expect(seen.page.locator("#bertlens-says")).to_have_text(ALONE)
    seen.root.locator(".bl-texts summary").click()
    seen.root.locator(".bl-texts").get_by_role("button", name=TEXTS[2]).click()
    expect(seen.root.locator(".bl-row-label", has_text="house")).to_be_visible()
    seen.thumb(1, 1).click()
    expect(seen.thumb(1, 1)).to_be_focused()
    seen.page.keyboard.press("x")
    chip = seen.root.locator(".bl-changes .bl-change")
    expect(chip).to_contain_text("L1·H1 off")
    seen.page.keyboard.press("x")
    expect(chip).to_have_count(0)
    seen.root.locator(".bl-row-label").nth(5).click()
    listed(seen, tiny.trace(TEXTS[2]), 1, 1, 5)
