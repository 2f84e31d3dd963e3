"""One lesson of five acts, walked by mouse, by keyboard alone or by touch, in whatever page shows it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

import bertlens as bl
from browser.views import Seen, hold

TEXT = "The cat sat on the mat because it was tired."
OWN = "The dog lay on the rug."
ROW = {"text": TEXT, "layer": 0, "head": 1, "query": 8}
step = bl.Lesson.step
LESSON = bl.Lesson(
    "One lesson",
    [
        step("# One row\nLook at the row of “it”.", ROW),
        step("Which word?", ROW, predict="key", of="argmax of words", hints=["one", "two"], after="It looks there."),
        step("Which head looks back?", {"text": TEXT, "layer": 0, "head": 0}, predict="head", of="previous"),
        step("How much?", ROW, predict="number", of="weight(it, cat)", within=0.05),
        step("Your own: find L1·H0.", check="head is L1H0 and entropy > 0.01", hints=["There."]),
        step("Why?", {"text": TEXT}, model="Because."),
    ],
)


class Hand:
    """A reader: way is "mouse", "touch" or "keys"."""

    def __init__(self, page: Page, way: str) -> None:
        self.page, self.way = page, way

    def press(self, what: Locator) -> None:
        if self.way == "keys":
            self.reach(what)
            self.page.keyboard.press("Enter")
        elif self.way == "touch":
            what.tap()
        else:
            what.click()

    def write(self, into: Locator, text: str, at: Locator | None = None) -> None:
        """at: what is pressed to come into the field, where words lie over it: a finger stays on a word."""
        if self.way == "keys":
            self.reach(into)
        elif at and self.way == "touch":
            hold(at)
        else:
            self.press(at or into)
        expect(into).to_be_focused()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)

    def reach(self, what: Locator) -> None:
        """Tab until it has the focus."""
        expect(what).to_be_enabled()
        for _ in range(200):
            if what.evaluate("one => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"no way by Tab to {what}")

    def head(self, seen: Seen, layer: int, head: int) -> None:
        """Choose a head: the atlas is one stop, arrows go about in it."""
        if self.way != "keys":
            self.press(seen.thumb(layer, head))
            return
        here = "() => document.activeElement.dataset.head ?? ''"
        for _ in range(200):
            if at := self.page.evaluate(here):
                break
            self.page.keyboard.press("Tab")
        for now, wanted, (back, on) in zip(
            map(int, at.split("-")), (layer, head), (("ArrowUp", "ArrowDown"), ("ArrowLeft", "ArrowRight")), strict=True
        ):
            for _ in range(abs(wanted - now)):
                self.page.keyboard.press(on if wanted > now else back)
        self.page.keyboard.press("Enter")


def walk(seen: Seen, way: str, lens: bl.Lens, own: bool = True) -> dict[str, Any]:
    """Through LESSON, guessing right where there is one answer; what the line of the result says of it.

    own: a text is typed and run.
    """
    hand, page = Hand(seen.page, way), seen.page
    trace = lens.trace(TEXT)
    here = seen.root.get_by_role("region", name="Lesson: One lesson")
    onward, told = here.get_by_role("button", name="Next step"), here.get_by_role("status")
    expect(here).to_contain_text("step 1 of 6")
    hand.press(onward)
    expect(seen.root.locator(".bl-main")).not_to_be_visible()
    expect(seen.root.locator(".bl-lesson-asked .bl-lesson-row")).to_have_text("it")
    hand.press(here.get_by_role("button", name="Hint"))
    row = trace.attention(0)[1][8]
    words = [n for n, special in enumerate(trace.special_mask) if not special]
    best = max(words, key=row.__getitem__)
    again = sum(trace.tokens[n] == trace.tokens[best] for n in words if n < best)
    key = here.get_by_role("group", name="Your guess: a word").get_by_role(
        "button", name=trace.tokens[best], exact=True
    )
    hand.press(key.nth(again))
    expect(told).to_contain_text(f"✓ “{trace.tokens[best]}”, {row[best]:.2f}. That was your guess.")
    expect(seen.root.locator(".bl-main")).to_be_visible()
    if way == "keys":
        expect(onward).to_be_focused()  # what was guessed is gone: the keys are still the lesson's
        page.keyboard.press("ArrowRight")
    else:
        hand.press(onward)
    expect(here).to_contain_text("step 3 of 6")
    shares = {
        (layer, head): float(trace.attention(layer)[head].diagonal(-1).sum())
        for layer in range(trace.n_layers)
        for head in range(trace.n_heads)
    }
    looks_back = max(shares, key=shares.__getitem__)
    wrong = (1, 0) if looks_back != (1, 0) else (1, 1)
    hand.head(seen, *wrong)
    hand.press(here.get_by_role("button", name=f"L{wrong[0]}·H{wrong[1]} is my guess"))
    expect(told).to_contain_text(f"L{looks_back[0]}·H{looks_back[1]}, {shares[looks_back] / trace.n_tokens:.2f}.")
    seen.title(f"L{looks_back[0]}·H{looks_back[1]}")  # the answer comes into sight
    hand.press(onward)
    hand.write(here.get_by_label("Your guess"), "7")
    hand.press(here.get_by_role("button", name="Guess"))
    expect(told).to_contain_text(f"{row[trace.tokens.index('cat')]:.2f}. Your guess: 7.")
    hand.press(onward)
    if own:
        into = seen.root.locator(".bl-textword").first if way == "touch" else seen.gap()
        hand.write(seen.root.get_by_label("Sentence A"), OWN, into)
        seen.page.keyboard.press("Enter")
        expect(here).to_contain_text("Not yet")
    hand.head(seen, 1, 0)
    expect(told).to_contain_text("✓ L1·H0")
    hand.press(onward)
    hand.write(here.get_by_label("Your answer"), "Because I say so.")
    hand.press(here.get_by_role("button", name="Done"))
    expect(told).to_contain_text("Because.")
    hand.write(here.get_by_label("Your name"), "Zoë")
    table = LESSON.grade(seen.copied(lambda: hand.press(here.get_by_role("button", name="Copy my result"))))
    assert table.attrs["name"] == "Zoë" and table["step"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table["right"].tolist() == [None, True, False, False, True, None]
    assert table["guess"].tolist() == ["", trace.tokens[best], f"L{wrong[0]}·H{wrong[1]}", "7", "L1·H0", ""]
    assert table["hints"].tolist() == [0, 1, 0, 0, 0, 0] and table["written"].tolist()[5] == "Because I say so."
    return table.to_dict()
