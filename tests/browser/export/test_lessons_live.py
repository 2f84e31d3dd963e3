"""The shipped lessons in a page that carries its model, opened from a file: each step done wrong or shown, and done."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from bertlens.lessons.checking import truth_of, without_heads
from bertlens.lessons.facts import facts_of, words_of
from bertlens.lessons.language import verdict
from bertlens.lessons.lesson import SHIPPED, Step, one_of
from bertlens.lessons.states import trace_of
from browser import walk as one_lesson
from browser.harness import watched
from browser.views import Seen

pytestmark = pytest.mark.sampled(10, of="live pages")

OWN = "The teacher asked whether anyone had seen the key."


class Walk:
    """A lesson in a page, and the same model here, which knows the truth."""

    def __init__(self, seen: Seen, lens: bl.Lens) -> None:
        self.seen, self.lens = seen, lens
        self.here: Locator = seen.root.locator(".bl-lesson")
        self.told = self.here.get_by_role("status")
        self.state: dict[str, Any] = {}

    def guess(self, text: str) -> None:
        self.here.get_by_label("Your guess").fill(text)
        self.here.get_by_role("button", name="Guess").click()

    def run(self, text: str) -> None:
        box = self.seen.root.get_by_label("Sentence A")
        box.fill(text)
        box.press("Enter")
        self.state["text"] = text

    def write(self) -> None:
        self.here.get_by_label("Your answer").fill("Something.")
        self.here.get_by_role("button", name="Done").click()
        expect(self.told).to_be_visible()

    def wrong(self, step: Step) -> None:
        if step.predict == "key":
            self.here.get_by_role("group", name="Your guess: a word").get_by_role("button").last.click()
            expect(self.told).to_contain_text(" got ")
        elif step.predict == "head":
            self.seen.thumb(0, 3).click()
            self.here.get_by_role("button", name="L0·H3 is my guess").click()
            expect(self.told).to_contain_text("L0·H3 has")
        elif step.act == "predict":
            self.guess("7" if step.predict == "number" else "zebra")
            expect(self.told).to_contain_text("Your guess")
        elif step.show is None and (step.act == "change" or "key is" in step.check):  # nothing to be shown
            expect(self.here.get_by_role("button", name="Show me")).to_have_count(0)
            self.here.get_by_role("button", name="skip").click()
            self.here.get_by_role("button", name="Step before").click()
        elif step.act in ("find", "change"):
            self.here.get_by_role("button", name="Show me").click()
            expect(self.here.locator('[data-holds="true"]')).to_be_visible()
        elif step.act == "write":
            self.write()

    def right(self, step: Step) -> None:
        if step.act == "predict":
            self.predict(step)
        elif step.act == "find":
            self.find(step)
        elif step.act == "change":
            self.change(step)
        elif step.act == "write":
            self.write()
        if step.act in ("predict", "find"):
            expect(self.told.locator("b").first).to_contain_text("✓")

    def predict(self, step: Step) -> None:
        trace = trace_of(self.lens, self.state)
        truth = truth_of(step, trace, self.state)
        assert not isinstance(truth, str)
        label, value = truth
        if step.predict == "key":
            words = [pieces for _, pieces in words_of(trace) if not trace.special_mask[pieces[0]]]
            [at] = [n for n, pieces in enumerate(words) if value in pieces]
            self.here.get_by_role("group", name="Your guess: a word").get_by_role("button").nth(at).click()
        elif step.predict == "head":
            self.seen.thumb(*value).click()
            self.here.get_by_role("button", name=f"L{value[0]}·H{value[1]} is my guess").click()
        else:
            self.guess(label)
        for part in label.split(", "):
            expect(self.told.locator("b").first).to_contain_text(part)

    def find(self, step: Step) -> None:
        if step.state is None or "text" not in step.state:
            self.run(OWN)
        elif step.show and "text" in step.show:
            self.run(step.show["text"])
        trace = trace_of(self.lens, self.state)
        asks_cell = "key is" in step.check
        cells = (
            [(i, j) for i in range(1, trace.n_tokens) for j in range(trace.n_tokens)] if asks_cell else [(None, None)]
        )
        places = ((layer, head, *cell) for layer in range(6) for head in range(12) for cell in cells)
        measure = self.state.get("measure", "weight")
        for layer, head, query, key in places:
            found = verdict(step.tree, facts_of(trace, layer, head, query, key, measure))
            if found.truth == 1:
                break
        self.seen.thumb(layer, head).click()
        if query is not None:
            self.seen.title(f"L{layer}·H{head}")
            self.seen.at_cell(query, key)
        expect(self.told).to_contain_text(f"L{layer}·H{head}")

    def change(self, step: Step) -> None:
        trace = trace_of(self.lens, {**self.state, "changes": []})
        found = next(
            (name for name, facts in without_heads(trace, self.state) if verdict(step.tree, facts()).holds), None
        )
        if found is None:  # no head alone
            self.here.get_by_role("button", name="Show me").click()
            expect(self.here.locator('[data-holds="true"]')).to_be_visible()
            return
        self.seen.thumb(*map(int, re.findall(r"\d+", found))).focus()
        self.seen.page.keyboard.press("x")
        expect(self.told).to_contain_text(found)


@pytest.fixture(scope="module")
def path(tiny, tmp_path_factory):
    """A live page of one lesson, with a small model of random weights."""
    path = tmp_path_factory.mktemp("class") / "class.html"
    return bl.classroom(tiny, lesson=one_lesson.LESSON).to_html(path, progress=False)


@pytest.mark.parametrize("way", ["mouse", "keys", "touch"])
def test_one_lesson_is_walked_in_a_live_page(browser, rounded, path, way):
    touch = {"is_mobile": True, "has_touch": True} if way == "touch" else {}
    context, page, log = watched(browser, path.as_uri(), viewport={"width": 1280, "height": 800}, **touch)
    page.goto(path.as_uri())
    seen = Seen(page)
    expect(seen.root).to_have_attribute("data-state", "live")
    one_lesson.walk(seen, way, rounded)
    context.close()
    assert log.problems() == []


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_lesson_is_walked_in_a_live_page(page_of, tmp_path, name):
    lesson, lens = one_of(name), bl.Lens.embedded(mlm=name in ("heads-off", "who-is-it"))
    assert lesson.model == lens.model_name
    page = bl.classroom(lens, lesson=name).to_html(tmp_path / "class.html", progress=False)
    for how in (Walk.wrong, Walk.right):
        walk = Walk(Seen(page_of(page, width=1280)), lens)
        expect(walk.seen.root).to_have_attribute("data-state", "live")
        for n, step in enumerate(lesson.steps, 1):
            expect(walk.here).to_contain_text(f"step {n} of {len(lesson.steps)}")
            walk.state = walk.state if step.state is None else {**texts(walk.state), **step.state}
            how(walk, step)
            for line in (step.table or {}).get("rows", []):
                expect(walk.here.get_by_role("row", name=" ".join(line))).to_be_visible()
            if n < len(lesson.steps):
                walk.here.get_by_role("button", name="Next step").click()
        expect(walk.here.get_by_role("button", name="Copy my result")).to_be_visible()
        acting = [step for step in lesson.steps if step.act != "read"]
        expect(walk.here.locator("option", has_text="✓")).to_have_count(len(acting))


def texts(state: dict[str, Any]) -> dict[str, Any]:
    return {name: state[name] for name in ("text", "text_pair") if name in state}
