"""Ways to changes of the run."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, expect

from .cells import CellWays


class ChangeWays(CellWays):
    """What is switched off, cut, hidden or patched, and what came of it."""

    def switch_off(self) -> None:
        """What has the focus: a head, a cell, a token."""
        self.press("x")

    def menu_at(self, target: Locator, doing: str | re.Pattern[str], **options: Any) -> None:
        """The menu of what the pointer is on."""
        self.click(target, button="right", **options)
        self.button(doing, self.root.locator(".bl-at-pointer"))

    def menu_at_cell(self, row: int, col: int, doing: str | re.Pattern[str]) -> None:
        self.point_at(row, col)
        matrix = self.seen.part("matrix")
        box, (rows, cols) = matrix.bounding_box(), self.seen.shape()
        assert box is not None
        at = {"x": (col + 0.5) * box["width"] / cols, "y": (row + 0.5) * box["height"] / rows}
        self.menu_at(matrix, doing, position=at)

    def neuron_off(self, x: int) -> None:
        """The neuron at so many pixels of the query's strip."""
        strip = self.seen.part("neurons").get_by_role("img", name=re.compile("^Query vector")).locator("xpath=..")
        strip.hover(position={"x": x, "y": 5})
        self.menu_at(strip, re.compile("^neuron "), position={"x": x, "y": 5})

    def what_if(self, doing: str | re.Pattern[str]) -> None:
        """The menu of what can be changed."""
        menu = self.root.locator(".bl-doings")
        if not menu.count():
            self.click(self.root.locator("[role=tab][data-tab=matter]"))
        self.click(menu.locator("summary"))
        self.button(doing, menu)

    def patch(self, text: str) -> None:
        self.what_if(re.compile("something from another text"))
        form = self.root.get_by_role("form", name="From another text")
        self.write(form.get_by_label("The other text", exact=True), text)
        self.button("Patch", form)

    def changes(self) -> Locator:
        return self.root.get_by_role("group", name="Changes of this run")

    def take_back(self, label: str) -> None:
        self.button(f"Take back: {label}", self.changes())

    def undo_change(self) -> None:
        self.button("Undo", self.changes())

    def reset(self) -> None:
        self.button("Reset", self.changes())

    def which_heads_matter(self) -> None:
        self.click(self.finder().locator("[data-question=matters]"))

    def matter(self) -> Locator:
        return self.seen.part("matters")

    def sweep_ends(self) -> None:
        """Every head was switched off once."""
        expect(self.seen.part("sweep-state")).to_contain_text("All 72 heads tried")

    def metric(self, name: str) -> None:
        self.choose("change of", name)

    def ask_about(self, word: str) -> None:
        field = self.seen.part("matter").get_by_label("The word that is asked about")
        self.write(field, word)
        self.press("Enter")

    def colour_by(self, name: str) -> None:
        self.one_of("atlas", {"moved": "Looks elsewhere", "matters": "Matters", "": "Patterns"}[name])

    def answer(self) -> Locator:
        return self.seen.part("answer")

    def first_that_matters(self) -> str:
        """Choose it; its name."""
        first = self.matter().get_by_role("button", name=re.compile("^L")).first
        name = first.inner_text().split()[0]
        self.click(first)
        return name
