"""Ways in a corpus and in two runs compared."""

from __future__ import annotations

import re

from playwright.sync_api import Locator

from .base import Clicks


class RunWays(Clicks):
    """What a corpus shows, and where two runs differ."""

    def corpus_statistic(self, name: str) -> None:
        self.choose("statistic", name)

    def corpus_by_norm(self) -> None:
        self.button("Norm ‖αf(x)‖", self.seen.part("survey"))

    def corpus_per_token(self) -> None:
        self.one_of("mean over", "Tokens")

    def corpus_beside_text(self) -> None:
        self.button("This text", self.seen.part("survey"))

    def corpus_head(self, layer: int, head: int) -> Locator:
        return self.seen.part("survey").locator(f"[data-survey-head='{layer}-{head}']")

    def corpus_layers(self, name: str) -> None:
        self.choose("show", name)

    def corpus_map_by(self, name: str) -> None:
        self.button(re.compile(name), self.seen.part("survey").get_by_role("group", name="colour"))

    def run_text_of_corpus(self) -> None:
        self.click(self.seen.part("head-texts").get_by_title("Run this text").first)

    def aligned(self, n: int, key: bool = False) -> None:
        """A word of both texts, as the one that looks or as the key."""
        self.click(self.root.locator(f"[data-unit='{n}']"), modifiers=["Shift"] if key else [])

    def head_apart(self, layer: int, head: int) -> None:
        self.click(self.root.locator(f"[data-apart='{layer}-{head}']"))

    def most_apart(self, n: int) -> None:
        """The n-th of the heads that differ most."""
        self.click(self.seen.part("compare-most").get_by_role("button").nth(n))

    def compare_with(self, text: str) -> None:
        """Another text beside the run shown."""
        self.click(self.root.locator(".bl-texts summary"))
        self.click(self.root.get_by_role("button", name="Compare this text with …"))
        field = self.seen.part("compare-with").get_by_role("textbox", name="The other text")
        field.fill(text)
        field.press("Enter")

    def aligned_only(self) -> None:
        self.click(self.seen.check("aligned words only"))

    def stop_comparing(self) -> None:
        self.click(self.seen.part("compare").get_by_role("button", name="Stop comparing"))

    # two texts

    def pair_of_words(self, name: str) -> None:
        self.button(name, self.seen.part("similarity"))

    def split_by(self, name: str) -> None:
        self.one_of("split by", name)

    def texts_by(self, name: str) -> None:
        self.one_of("by", name)

    def why_word(self, word: str) -> None:
        self.button(f"Why b’s “{word}”? ›", self.seen.part("similarity"))

    def similar_to(self, text: str) -> None:
        self.click(self.seen.root.locator(".bl-texts summary"))
        self.button("Why is this text similar to …")
        self.seen.root.get_by_role("textbox", name="Text b", exact=True).fill(text)
        self.button("Run", self.seen.part("similarity"))
