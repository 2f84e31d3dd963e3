"""The shipped lessons in a page that carries its model, opened from a file: every step guessed wrong, or shown."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens.lessons.lesson import one_of
from browser.views import Seen


@pytest.mark.long
@pytest.mark.parametrize("name", ["row-of-weights", "who-is-it", "heads-off"])
def test_a_shipped_lesson_is_walked_in_a_live_page(page_of, tmp_path, name):
    lesson, lens = one_of(name), bl.Lens.embedded(mlm=name == "heads-off")
    page = bl.classroom(lens, lesson=name).to_html(tmp_path / "class.html", progress=False)
    seen = Seen(page_of(page, width=1280))
    expect(seen.root).to_have_attribute("data-state", "live")
    here = seen.root.locator(".bl-lesson")
    for n, step in enumerate(lesson.steps, 1):
        expect(here).to_contain_text(f"step {n} of {len(lesson.steps)}")
        told = here.get_by_role("status")
        if step.act == "predict" and step.predict == "key":
            here.get_by_role("group", name="Your guess: a word").get_by_role("button").last.click()
            expect(told).to_contain_text(" got ")
        elif step.act == "predict" and step.predict == "head":
            seen.thumb(0, 2).click()
            here.get_by_role("button", name="L0·H2 is my guess").click()
            expect(told).to_contain_text("L0·H2 has")
        elif step.act == "predict":
            here.get_by_label("Your guess").fill("7" if step.predict == "number" else "zebra")
            here.get_by_role("button", name="Guess").click()
            expect(told).to_contain_text("Your guess")
        elif step.act in ("find", "change"):
            if step.act == "change" and step.show is None:
                here.get_by_role("button", name="skip").click()
                continue
            here.get_by_role("button", name="Show me").click()
            expect(here.locator('[data-holds="true"]')).to_be_visible()
        elif step.act == "write":
            here.get_by_label("Your answer").fill("Something.")
            here.get_by_role("button", name="Done").click()
            expect(told).to_be_visible()
        if n < len(lesson.steps):
            here.get_by_role("button", name="Next step").click()
    expect(here.get_by_role("button", name="Copy my result")).to_be_visible()
    acting = [step for step in lesson.steps if step.act != "read"]
    expect(here.locator("option", has_text="✓")).to_have_count(len(acting))
