"""Ways to heads, to their order, and to what the atlas shows of them."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator

from .base import Clicks


class HeadWays(Clicks):
    """Which heads, in which order, coloured how."""

    def head(self, layer: int, head: int) -> None:
        self.click(self.seen.thumb(layer, head))

    def add_head(self, layer: int, head: int) -> None:
        self.click(self.seen.thumb(layer, head), modifiers=["Shift"])

    def enter_heads(self) -> None:
        self.enter(self.root.locator("[data-head][tabindex='0']"))

    def all_heads_of_layer(self, layer: int) -> None:
        self.button(f"all heads of L{layer}")

    def only(self, head: str) -> None:
        self.button(f"only {head}")

    def mute(self, n: int, alone: bool = False) -> None:
        """Switch off the n-th head that is drawn; alone: all the others."""
        self.click(self.seen.chips().nth(n), count=2 if alone else 1)

    def drawn(self) -> list[bool]:
        """Of each head drawn as lines, whether it is on."""
        return [one.get_attribute("aria-pressed") == "true" for one in self.seen.chips().all()]

    def shows(self, name: str) -> None:
        self.seen.title(name)

    def order_by(self, name: str) -> None:
        if name == "cell":  # once one is pinned it is asked about at one click
            self.button(re.compile(" in all heads$"))
            return
        question = f"order:{name}" if name in ("moved", "matters") else name
        self.click(self.finder().locator(f"[data-question='{question}']"))

    def order_back(self) -> None:
        """To the order of layers and heads."""
        self.button("Back to layers and heads")

    def bars(self, name: str) -> None:
        """Bars of a statistic beside layers and heads."""
        self.choose("of", name, self.finder())  # bars show what is chosen

    def bar(self, layer: int) -> Locator:
        return self.root.get_by_role("img", name=re.compile(f"^Layer {layer}, mean "))

    def at_least(self, share: float) -> None:
        self.finder()
        self.slide("at least", share)

    def left_out(self) -> int:
        return self.root.locator(".bl-below").count()

    def gate(self, name: str) -> None:
        self.click(self.finder().locator(f"[data-question='gate:{name}']"))

    def heads_of_gate(self, name: str) -> int:
        """How many heads are said to have it."""
        question = self.root.locator(f"[data-question='gate:{name}']")
        return int((question.text_content() or "").split()[-1])

    def receding(self) -> list[str]:
        found: list[str] = self.root.locator(".bl-back").evaluate_all("all => all.map(one => one.dataset.head)")
        return found

    def colour(self) -> None:
        self.click(self.finder().get_by_role("checkbox", name="colour"))

    def coloured(self) -> list[str]:
        """The numbers on heads that are filled with a colour."""
        found: list[str] = self.root.locator("[data-head] .bl-fill").all_inner_texts()
        return found

    def one_scale(self) -> None:
        self.click(self.finder().get_by_role("checkbox", name="one scale"))

    def picture(self, layer: int, head: int) -> Any:
        """A thumbnail's pixels."""
        return self.seen.pixels(self.seen.thumb(layer, head).locator("img:visible"))

    def heads(self) -> list[str]:
        return self.seen.thumbs()

    def captions(self) -> list[str]:
        found: list[str] = self.root.locator(".bl-thumb-caption b").all_inner_texts()
        return found
