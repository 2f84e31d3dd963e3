"""Ways to what stands around: help, present, back and forward, texts."""

from __future__ import annotations

import re

from playwright.sync_api import Locator

from .base import Clicks


class FrameWays(Clicks):
    """What is said, and which text is run."""

    def explain(self) -> None:
        self.more()
        self.click(self.seen.check("say what is pinned"))

    def explained(self) -> Locator:
        return self.seen.part("seeing")

    def help(self) -> None:
        self.more()
        self.button("? keys")

    def helped(self) -> Locator:
        return self.root.locator(".bl-help")

    def present(self) -> Locator:
        self.button("Present")
        slide = self.root.get_by_role("dialog", name="Present")
        slide.wait_for()
        return slide

    def back(self) -> None:
        self.button("Back to the selection before")

    def forward(self) -> None:
        self.button("Forward again")

    def text(self, first: str | None = None, second: str | None = None, how: str = "Run") -> None:
        for label, text in (("Sentence A", first), ("Sentence B, optional", second)):
            if text is not None:
                if label.startswith("Sentence B") and not self.root.get_by_label(label).count():
                    self.click(self.root.locator(".bl-texts summary"))
                    self.button("Add a second sentence")
                self.write(self.root.get_by_label(label), text)
        if how == "Run":
            self.press("Enter")
        elif how:
            self.press(how)

    def cut_if_too_long(self) -> None:
        self.click(self.seen.check("cut if too long"))

    def run(self) -> None:
        self.button("Run")

    def text_before(self) -> None:
        self.click(self.root.locator(".bl-texts summary"))
        self.button("Text before")

    def earlier_text(self, text: str) -> None:
        self.click(self.root.locator(".bl-texts summary"))
        self.button(re.compile(re.escape(text)))

    def notes(self) -> Locator:
        """What the tokenizer did that is harmless."""
        self.more()
        menu = self.root.locator(".bl-notices")
        self.click(menu.locator("summary"))
        return menu

    def warning(self) -> Locator:
        """What the tokenizer did that changes what is seen."""
        report = self.root.get_by_role("list", name="What the tokenizer did")
        self.click(report.locator("summary").first)
        return report
