"""Walks of random clicks and typed texts, by hand and without scrolling: they end in no question about a number that
says nothing or is not shown, and in no answer out of sight."""

from __future__ import annotations

import json
import random
import re
from typing import Any
from urllib.parse import quote

import pytest
import transformers as tf
from playwright.sync_api import Page, expect

from bertlens import Lens
from browser.conftest import PageOf
from browser.views import Seen
from unit.tiny import shaken

MASKED = "The cat did not drink the milk because the [MASK] was tired."
TEXTS = [
    MASKED,
    "The cat did not drink the [MASK] because it was sour.",
    "Paris is the capital of [MASK].",
    "The old keys to the cabinet are on the table.",
    "Rain.",
]
STEPS = 6
HEIGHT = 900  # px of the window
HANDLES = {  # what may be clicked, and how often
    "text": 3,
    "words": 3,
    "numbers": 3,
    "chips": 2,
    "bars": 2,
    "slider": 2,
    "heads": 3,
    "cells": 3,
    "queries": 2,
    "keys": 2,
    "list": 2,
    "questions": 3,
    "tabs": 2,
    "all": 1,
    "menus": 1,
    "checks": 1,
    "buttons": 2,
}
HANDLE = """([kinds, share]) => {
    const root = document.querySelector(".bertlens");
    const selectors = {
        text: ".bl-stage textarea:focus, .bl-textline [data-start]:not([data-n])",
        words: ".bl-sentence [data-n]",
        numbers: ".bl-sentence .bl-weight",
        chips: "[data-strip-head]",
        bars: ".bl-answer-row",
        slider: ".bl-loudness-track",
        heads: ".bl-atlas [data-head]",
        cells: "[data-testid=matrix]",
        queries: ".bl-row-label",
        keys: ".bl-col-label",
        list: "[data-testid=row-list] li *",
        questions: ".bl-questions [role=tab]",
        tabs: ".bl-tabs [role=tab]",
        all: ".bl-open-heads",
        menus: "summary",
        checks: "input[type=checkbox]",
        buttons: "button:not([role=tab], [data-head], [data-strip-head], .bl-answer-row, .bl-open-heads)",
    };
    const isOut = "a[href], :disabled, [aria-disabled=true], " + // files and the whole screen lead out of the page
        ".bl-menu-list:has([data-stays]) *, .bl-title > button:not([aria-label])";
    for (const kind of kinds) {
        const all = [...root.querySelectorAll(selectors[kind])].filter((one) => !one.matches(isOut));
        for (let n = 0; n < all.length; n++) {
            const one = all[(Math.floor(share * all.length) + n) % all.length];
            const box = one.getBoundingClientRect();
            const [left, top] = [Math.max(0, box.left), Math.max(0, box.top)];
            const [width, height] = [Math.min(innerWidth, box.right) - left, Math.min(innerHeight, box.bottom) - top];
            if (width <= 0 || height <= 0) continue;
            const hit = document.elementFromPoint(left + width / 2, top + height / 2);
            const name = one.ariaLabel ?? one.textContent;
            if (hit && one.contains(hit)) return { kind, name, left, top, width, height };
        }
    }
}"""  # the first kind of which something is in sight, and where it lies
IS_OTHER = """text => {
    const fields = [...document.querySelectorAll(".bl-stage textarea")];
    return fields.some(({ value }, n) => value !== (n ? "" : text)) || document.querySelector(".bl-change") ||
        document.querySelector(".bl-loudness-track")?.ariaValueNow !== '1';
}"""
COMING = """(() => {
    window.coming = new Set();
    window.Worker = class extends Worker {
        constructor(address) {
            super(address);
            this.addEventListener("message", ({ data }) => data.kind === "answer" && window.coming.delete(data.id));
        }
        postMessage(message, moved) {
            if (["trace", "change"].includes(message.question?.op)) window.coming.add(message.id);
            super.postMessage(message, moved);
        }
    };
})()"""  # runs that the model in the page is to show
QUIET = """async () => {
    const root = document.querySelector(".bertlens");
    let quiet = 0;
    const observer = new MutationObserver(() => { quiet = 0; });
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    const waits = () => window.coming.size > 0 || root.querySelector(".bl-waiting") ||
        [...root.querySelectorAll(".bl-empty")].some((one) => one.innerText.endsWith(" …"));
    for (const end = performance.now() + 30000; quiet < 4 && performance.now() < end; quiet = waits() ? 0 : quiet + 1)
        await new Promise(requestAnimationFrame);
    observer.disconnect();
}"""
END = """() => {
    const root = document.querySelector(".bertlens");
    const textsIn = function* (part) {
        const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode())
            if (node.data.trim() && !node.parentElement.closest("[data-tab], .bl-hidden, .bl-tip, option") &&
                node.parentElement.checkVisibility()) yield node;
    };
    const panel = root.querySelector("[role=tabpanel]");
    const first = panel && textsIn(panel).next().value;
    const range = document.createRange();
    if (first) range.selectNodeContents(first);
    const { top, bottom } = range.getBoundingClientRect();
    const question = root.querySelector("[data-tab=neurons]");
    return {
        question: question?.checkVisibility() ? question.firstChild.data : "",
        numbers: question ? [...textsIn(root)].map(({ data }) => data).join(" ") : "",
        answer: first ? { text: first.data, top, bottom } : null,
        texts: [...root.querySelectorAll(".bl-stage textarea")].flatMap((field) =>
            field.parentElement.querySelector("[data-n]") ? [field.value] : []), // of one run
    };
}"""


class Walker:
    """A reader who clicks and types at random in one page, and begins each walk where the page opened."""

    def __init__(self, page: Page, opening: dict[str, Any], tokenizer: Any) -> None:
        self.page, self.opening, self.tokenizer = page, opening, tokenizer

    def begin(self, unfolded: bool) -> None:
        self.page.keyboard.press("Escape")
        self.page.evaluate(
            """hash => {
                for (const menu of document.querySelectorAll("details[open]")) menu.open = false;
                scrollTo(0, 0);
                location.hash = "";
                location.hash = hash;
            }""",
            f"#bertlens={quote(json.dumps({**self.opening, 'all_heads': unfolded}))}",
        )
        if self.page.evaluate(IS_OTHER, MASKED):
            if (second := self.page.get_by_label("Sentence B, optional")).count():
                second.focus()
                self.write("")
            self.page.get_by_label("Sentence A").focus()
            self.write(MASKED)

    def write(self, text: str) -> None:
        """Into the field that has the caret."""
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Enter")

    def step(self, chance: random.Random) -> str:
        kinds = sorted(HANDLES, key=lambda kind: chance.random() ** (1 / HANDLES[kind]), reverse=True)
        handle = self.page.evaluate(HANDLE, [kinds, chance.random()])
        kind, name = handle["kind"], handle["name"]
        x, y = (chance.random(), chance.random()) if kind in ("cells", "slider") else (0.5, 0.5)
        self.page.mouse.click(handle["left"] + x * handle["width"], handle["top"] + y * handle["height"])
        if kind == "text":
            name = chance.choice(TEXTS)
            self.write(name)
        return f"{kind}: {name[:40]}"

    def walk(self, seed: int) -> list[str]:
        """What is wrong at its end, after where it went; nothing where nothing is."""
        chance = random.Random(seed)
        self.begin(unfolded=seed % 2 == 1)
        steps = [self.step(chance) for _ in range(chance.randint(1, STEPS))]
        self.page.evaluate(QUIET)
        end = self.page.evaluate(END)
        wrong = faults(end, len(self.tokenizer(*end["texts"]).input_ids))
        return [*steps, *wrong] if wrong else []


def faults(end: dict[str, Any], tokens: int) -> list[str]:
    """What is wrong at the end of a walk. "The weight 0.86" stands beside a picture of another measure."""
    faults = []
    number = re.search(r"How is (the weight )?(\d\S+) computed", end["question"])
    if number and (float(number[2]) <= 1 / tokens or not (number[1] or number[2] in end["numbers"])):
        faults.append(f"{end['question']} of {tokens} tokens")
    answer = end["answer"]
    if answer and not (answer["top"] >= 0 and answer["bottom"] <= HEIGHT):
        faults.append(f"out of sight: {answer}")
    return faults


def small(tokenizer: Any) -> Any:
    """Random weights, but as many heads as the embedded model."""
    sizes = {"hidden_size": 48, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 24}
    return shaken(tf.BertForMaskedLM(tf.BertConfig(vocab_size=len(tokenizer), **sizes)))


@pytest.fixture(scope="module")
def walker(request: pytest.FixtureRequest, shared_page_of: PageOf, tmp_path_factory: pytest.TempPathFactory) -> Walker:
    lens = Lens.embedded(mlm=request.param != "encoder")
    if request.param == "small":
        lens = Lens(small(lens.tokenizer), lens.tokenizer)
    path = tmp_path_factory.mktemp("walks") / "live.html"
    view = lens.trace(MASKED).explore()
    view.to_html(path, live=True, progress=False)
    page = shared_page_of(path, width=968, height=HEIGHT)
    page.emulate_media(reduced_motion="reduce")
    page.add_init_script(COMING)
    page.reload()
    expect(page.locator("#bertlens-says")).to_have_text("What you type is run in this page, and stays on it.")
    Seen(page, folded=True)
    return Walker(page, {name: getattr(view, name) for name in ("layer", "head", "query", "key")}, lens.tokenizer)


@pytest.mark.parametrize("walker", ["small"], indirect=True)
def test_what_a_click_opens_or_brings_back_is_in_sight_and_stays_so(walker: Walker) -> None:
    page = walker.page
    walker.begin(unfolded=False)

    def is_in_sight(is_open: bool = True) -> None:
        expect(page.locator("[role=tabpanel]")).to_have_count(int(is_open))
        page.evaluate(QUIET)
        assert faults(page.evaluate(END), 1000) == []

    page.locator(".bl-weight").first.click()  # an arc's number
    is_in_sight()
    page.get_by_label("Sentence A").focus()
    walker.write(TEXTS[-1])
    expect(page.locator(".bl-textword").first).to_have_text("Rain")
    is_in_sight()
    page.locator("[data-tab=neurons]").click()
    is_in_sight(False)
    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("button", name="Back to the selection before").click()
    is_in_sight()


@pytest.mark.parametrize("walker", ["small"], indirect=True)
def test_what_a_field_pushed_out_of_sight_comes_back_with_the_next_click(walker: Walker) -> None:
    page = walker.page
    walker.begin(unfolded=False)
    page.locator(".bl-weight").first.click()
    page.get_by_role("button", name="In full: how").click()
    page.evaluate(QUIET)
    begin = page.locator(".bl-begin")
    page.locator(".bl-texts summary").click()
    page.get_by_role("button", name="Add a second sentence").click()
    expect(page.get_by_label("Sentence B, optional")).to_be_focused()
    begin.scroll_into_view_if_needed()
    page.evaluate(QUIET)
    style = page.add_style_tag(content=".bertlens .bl-main { padding-top: 900px }")  # what is above the answer grows
    page.evaluate(QUIET)
    expect(begin).not_to_be_in_viewport()
    expect(page.get_by_label("Sentence B, optional")).to_be_in_viewport()
    page.locator(".bl-textword").first.click()
    page.evaluate(QUIET)
    expect(begin).to_be_in_viewport()
    style.evaluate("e => e.remove()")


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("walker", ["small"], indirect=True)
def test_sixty_walks(walker: Walker, seed: int) -> None:
    assert walker.walk(seed) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("walker", ["masked", "encoder"], indirect=True)
def test_a_thousand_walks(walker: Walker) -> None:
    assert {seed: wrong for seed in range(1000, 1500) if (wrong := walker.walk(seed))} == {}
