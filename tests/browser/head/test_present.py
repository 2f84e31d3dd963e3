"""Present: a word is guessed, the row is shown, its number computed; by keys and by clicks, and nothing is cut off."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from bertlens.measures import norms
from browser.maps import WORDS, attention, causal
from browser.views import PATIENCE, Seen, hosted, number, shown, signed
from unit import tiny

CELL = {"layer": 1, "head": 8, "query": 3, "key": 4}
PROJECTOR = {"width": 1280, "height": 720}


def name(tokens: list[str], n: int) -> str:
    """A word as Present writes it: with its place where its text stands there more than once."""
    return f"{tokens[n]} ({n})" if tokens.count(tokens[n]) > 1 else tokens[n]


class Slides:
    """Present, opened by its button and the keyboard."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.press = seen.page.keyboard.press
        self.button = seen.root.get_by_role("button", name="Present")
        self.button.focus()
        self.press("Enter")
        self.slide = seen.root.get_by_role("dialog", name="Present")
        expect(self.slide).to_be_visible()
        self.says = self.slide.get_by_test_id("says")
        self.words = self.slide.locator(".bl-word")

    def says_exactly(self, text: str) -> None:
        expect(self.says).to_have_text(text)

    def turn(self, name: str) -> None:
        self.slide.get_by_role("button", name=name, exact=True).click()

    def bars(self) -> list[tuple[str, float]]:
        rows = self.slide.locator(".bl-present-bars li")
        names, numbers = rows.locator("bdi").all_inner_texts(), rows.locator("b").all_inner_texts()
        return [(name, number(text.removeprefix("< "))) for name, text in zip(names, numbers, strict=True)]

    def shaded(self) -> list[int]:
        """The words that have a colour of their own behind them."""
        backs = self.words.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
        return [n for n, back in enumerate(backs) if back != "rgba(0, 0, 0, 0)"]

    def vectors(self) -> Locator:
        return self.slide.locator(".bl-vectors")


@pytest.fixture
def present(show):
    return lambda view, **options: Slides(show(view, **{**PROJECTOR, **options}))


def test_a_word_is_guessed_before_the_row_is_shown(present, pair):
    slides = present(pair.explore(**CELL))
    weights, tokens = pair.attention(1)[8, 3], pair.display_tokens
    best = int(weights.argmax())
    slides.says_exactly("“sat” looks for something. Which word will it find?")
    assert slides.shaded() == []
    assert not any(digit in slides.slide.locator(".bl-slide-body").inner_text() for digit in "0123456789")
    wrong = tokens.index("cat")
    slides.words.nth(wrong).click()
    expect(slides.words.nth(wrong)).to_have_attribute("aria-pressed", "true")
    assert slides.shaded() == []  # still not shown
    slides.press("Enter")
    most = f"the most goes to “{name(tokens, best)}”: {shown(weights[best])}."
    slides.says_exactly(f"You guessed “cat”: it gets {shown(weights[wrong])}; {most}")
    assert len(slides.shaded()) == len(tokens)
    expect(slides.words.nth(wrong)).to_have_class("bl-word bl-chosen")
    bars = slides.bars()
    order = [n for n in weights.argsort(descending=True).tolist() if n != wrong][:5]
    assert np.allclose([value for _, value in bars], weights[[*order, wrong]], atol=1e-3)
    guess = slides.slide.locator(".bl-is-guess bdi")
    expect(guess).to_have_text("cat")
    slides.press("ArrowLeft")
    slides.words.nth(best).click()
    slides.press("ArrowRight")
    slides.says_exactly(f"You guessed “{name(tokens, best)}”, and the most goes there: {shown(weights[best])}.")

    slides.press("ArrowDown")  # the next word looks: it is guessed first
    slides.says_exactly("“on” looks for something. Which word will it find?")
    assert slides.shaded() == []
    expect(slides.slide.locator(".bl-is-guess")).to_have_count(0)


def test_the_way_from_q_k_to_the_softmax_by_keys_alone(present, pair):
    """Every number is Python's, in three decimals; Escape leaves, and the focus is where it was."""
    slides = present(pair.explore(**CELL), width=1024, height=768, theme="dark")
    press, says, slide = slides.press, slides.says, slides.slide
    slides.says.click()  # text, nothing that can be pressed: the keys stay with the slide
    row, alpha = pair.scores(1)[8, 3].double(), pair.attention(1)[8, 3].double()
    q, k = pair.query(1)[8, 3].double(), pair.key(1)[8, 4].double()
    press("ArrowRight")
    press("PageDown")
    slides.says_exactly("“sat” asks with its query q, “on (4)” offers its key k: 32 numbers each.")
    most = max(float(q.abs().max()), float(k.abs().max()))
    ends = slides.vectors().locator(".bl-legend .bl-number")
    expect(ends).to_have_text([signed(-most, 3), "+" + signed(most, 3)])
    press("ArrowRight")
    dot = float(q @ k)
    expect(says).to_contain_text(f"q·k = {signed(dot, 3)}.")
    product = float((q * k).abs().max())
    expect(ends).to_have_text([signed(-most, 3), "+" + signed(most, 3), signed(-product, 3), "+" + signed(product, 3)])
    press("ArrowRight")
    score = dot / math.sqrt(32)
    slides.says_exactly(f"{signed(dot, 3)} ÷ √32 = {signed(score, 3)}: the score of “on (4)”.")
    keys = sorted(row.argsort(descending=True)[:8].tolist())
    assert 4 in keys
    names = [name(pair.display_tokens, j) for j in keys]

    def drawn(numbers: Any) -> None:
        assert [name for name, _ in slides.bars()] == names
        assert np.allclose([value for _, value in slides.bars()], numbers[keys], atol=1e-3)

    drawn(row)
    expect(slide).to_contain_text("8 of the 21 words that “sat” sees: “on (4)” and those with the most attention")
    press("ArrowRight")
    less = float(row.max()) if not 0 <= float(row.max()) <= 7 else 0.0
    powers = (row - less).exp()
    expect(says).to_contain_text(f" = {signed(float(powers[4]), 3)}. All 21 words")
    expect(says).to_contain_text(f"have {signed(float(powers.sum()), 3)} together.")
    drawn(powers)
    press("ArrowRight")
    quotient = f"{signed(float(powers[4]), 3)} ÷ {signed(float(powers.sum()), 3)} = {shown(float(alpha[4]))}"
    slides.says_exactly(f"{quotient}: that part of the attention of “sat” goes to “on (4)”.")
    drawn(alpha)
    expect(slide).to_contain_text("7 of 7")
    press("ArrowRight")  # the last one stays
    expect(slide).to_contain_text("7 of 7")
    for step in ("Home", "ArrowRight", "End"):
        press(step)
        assert slides.seen.axe() == []
    press("ArrowDown")  # another word looks, at what it looks at most
    expect(says).to_contain_text("of the attention of “on” goes to ")
    press("Home")
    slides.says_exactly("“on” looks for something. Which word will it find?")
    press("Escape")
    expect(slide).to_have_count(0, timeout=PATIENCE)
    expect(slides.button).to_be_focused()
    expect(slides.seen.part("row-list").locator("h4")).to_contain_text("on")  # the pin stays


def test_head_and_words_are_changed_by_keys_and_by_clicks_in_one_of_two_views(tab_of, pair):
    page = hosted(tab_of, pair.explore(**CELL), pair.explore(layer=2, head=0), **PROJECTOR)
    first, second = (Seen(page, page.locator(".bertlens").nth(n)) for n in range(2))
    slides = Slides(first)
    head = slides.slide.get_by_role("group", name="head", exact=True)
    slides.turn("next head")
    expect(head).to_contain_text("L1·H9")
    slides.press("Shift+ArrowLeft")
    expect(head).to_contain_text("L1·H8")
    for _ in range(9):
        slides.press("Shift+ArrowLeft")
    expect(head).to_contain_text("L0·H11")
    slides.turn("next word that looks")
    slides.says_exactly("“on” looks for something. Which word will it find?")
    slides.turn("previous word that looks")
    expect(slides.slide.get_by_role("group", name="word looked at")).to_have_count(0)  # it would tell the answer
    slides.press("End")
    weights, tokens = pair.attention(0)[11, 3], pair.display_tokens
    key = int(weights.argmax())
    expect(slides.says).to_contain_text(f"= {shown(weights[key])}")
    for turn, by in (("next word looked at", 1), ("previous word looked at", -1)):
        slides.turn(turn)
        key = (key + by) % len(tokens)
        expect(slides.slide.get_by_role("group", name="word looked at")).to_contain_text(tokens[key])
        expect(slides.says).to_contain_text(f"goes to “{name(tokens, key)}”.")
    slides.press("Shift+ArrowDown")
    expect(slides.says).to_contain_text(f"goes to “{name(tokens, (key + 1) % len(tokens))}”.")
    slides.slide.get_by_role("button", name="leave").click()
    expect(slides.slide).to_have_count(0)
    first.title("L0·H11")
    second.title("L2·H0")


MEASURES = {
    "norm": "“sat” takes something from the words it looks at. From which one most of all?",
    "difference": "“sat” looks at some words more than it takes from them, at others less. "
    "Where do the two differ most?",
}


@pytest.mark.parametrize("measure", MEASURES)
def test_another_measure_is_asked_in_its_own_words(present, pair, measure):
    slides = present(pair.explore(**CELL, measure=measure))
    slides.says_exactly(MEASURES[measure])
    taken = norms.weighted_norm(pair, 1)[8, 3].double()
    slides.press("ArrowRight")
    if measure == "norm":
        best = int(taken.argmax())
        says = f"The most comes from “{name(pair.display_tokens, best)}”: {shown(taken[best])}."
    else:
        values = pair.attention(1)[8, 3].double() - taken / taken.sum()
        best = int(values.abs().argmax())
        more = "looks more than it takes" if values[best] > 0 else "takes more than it looks"
        at = f"“{name(pair.display_tokens, best)}”: {shown(abs(float(values[best])))}"
        says = f"The two differ most at {at}, where it {more}."
    slides.says_exactly(says)


def long_word() -> Any:
    """A text with a word of ninety letters that the tokenizer knows."""
    word = "incomprehensibilities" * 4
    tokenizer = tiny.wordpiece()
    tokenizer.add_tokens([word])
    model = tiny.shaken(tiny.bert(vocab_size=len(tokenizer)), scale=0.4)
    return bl.Lens(model, tokenizer).trace(f"the {word} sat on the mat")


def many_words() -> Any:
    model = tiny.shaken(tiny.bert(max_position_embeddings=700), scale=0.4)
    return bl.Lens(model, tiny.wordpiece()).trace(" ".join(["the cat sat on the warm mat , it was very warm ."] * 50))


def given(one: Any) -> Any:
    return lambda embedded: one()


SUBJECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a pair": (lambda lens: lens.trace("The cat did not drink.", "My sister threw it away."), CELL),
    "one token": (lambda lens: bl.Trace.from_attentions(np.ones((1, 2, 1, 1), np.float32), ["cat"]), {}),
    "a long word": (given(long_word), {"layer": 0, "head": 1, "query": 2, "key": 3}),
    "many words": (given(many_words), {"layer": 0, "head": 1, "query": 400}),
    "a decoder": (given(causal), {"layer": 0, "head": 1, "query": 2, "key": 4}),
    "norms": (lambda lens: lens.trace("The cat sat.", "It purred."), {**CELL, "measure": "norm"}),
    "attentions": (lambda lens: bl.Trace.from_attentions(attention(2, 3, 8, 8), WORDS), {}),
}
CUT = """slide => {
    const cut = [];
    for (const one of slide.querySelectorAll("*")) {
        const texts = [...one.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
        if (texts.length === 0) continue;
        const say = (why) => cut.push([why, one.textContent.slice(0, 40), one.className]);
        const style = getComputedStyle(one);
        if (parseFloat(style.fontSize) < 24) say(`letters of ${style.fontSize}`);
        if (style.display !== "inline" && one.scrollWidth > one.clientWidth + 1) say("wider than its place");
        let [left, top, right, bottom] = [0, 0, innerWidth, innerHeight];
        for (let around = one; slide.contains(around); around = around.parentElement) {
            if (getComputedStyle(around).overflow === "visible") continue;
            const box = around.getBoundingClientRect();
            [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
            [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
        }
        for (const text of texts) {
            const range = document.createRange();
            range.selectNodeContents(text);
            const isOut = (r) => r.left < left - 2 || r.top < top - 2 || r.right > right + 2 || r.bottom > bottom + 2;
            if ([...range.getClientRects()].some(isOut)) say("cut off");
        }
    }
    for (const one of slide.querySelectorAll(".bl-slide-body, .bl-slide-words > div"))
        if (one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1)
            cut.push(["scrolls", one.className]);
    return cut;
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_nothing_is_cut_off_and_all_letters_are_large_at_every_step(present, embedded_lens, subject):
    make, cell = SUBJECTS[subject]
    trace = make(embedded_lens)
    slides = present(trace.explore(**cell))
    steps = 7 if trace.n_tokens > 1 and subject != "attentions" else 2
    found: dict[Any, Any] = {}
    for step in range(steps):
        expect(slides.slide).to_contain_text(f"{step + 1} of {steps}")
        if step == 0:
            slides.words.first.click()
        for width, height in ((1280, 720), (1024, 768)):
            slides.seen.page.set_viewport_size({"width": width, "height": height})
            slides.seen.settled()
            found[step + 1, width] = slides.slide.evaluate(CUT)
            assert slides.slide.bounding_box() == {"x": 0, "y": 0, "width": width, "height": height}
        slides.press("PageDown")
    assert {at: cut for at, cut in found.items() if cut} == {}


def test_a_long_text_comes_in_parts_and_opens_where_the_word_that_looks_is(present):
    trace = many_words()
    slides = present(trace.explore(layer=0, head=1, query=400))
    expect(slides.slide.locator(".bl-word.bl-pinned")).to_have_text(trace.display_tokens[400])
    parts = slides.slide.get_by_role("group", name="part of the text")
    before = parts.inner_text()
    slides.turn("next part of the text")
    expect(parts).not_to_have_text(before)
    expect(slides.slide.locator(".bl-word.bl-pinned")).to_have_count(0)
    slides.words.nth(1).click()
    slides.press("Enter")
    expect(slides.says).to_contain_text("You guessed “")
    expect(slides.slide.locator(".bl-chosen")).to_have_count(1)  # the part is still the one of the guess


def test_a_decoder_says_what_a_word_cannot_see(present):
    trace = causal()
    slides = present(trace.explore(layer=0, head=1, query=2, key=4))
    asks = f"“{trace.display_tokens[2]}”"
    expect(slides.says).to_have_text(
        f"{asks} looks for something. Which word will it find? It sees 3 of the {trace.n_tokens} words shown."
    )
    slides.words.nth(4).click()
    slides.press("Enter")
    expect(slides.says).to_contain_text(f"which {asks} cannot see; the most goes to ")
    for _ in range(3):
        slides.press("ArrowRight")
    expect(slides.says).to_have_text(
        f"{asks} cannot see “{name(trace.display_tokens, 4)}”: its score is −∞, whatever q·k is."
    )
    slides.press("Home")
    slides.press("ArrowUp")
    slides.press("ArrowUp")
    slides.press("ArrowRight")
    first, at = trace.display_tokens[0], name(trace.display_tokens, 0)
    slides.says_exactly(f"Of the {trace.n_tokens} words shown, “{first}” sees one, “{at}”: 1.000.")
