"""Ways to cells and words of one head, and to how it is shown."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator

from bertlens.base.vocabulary import MEASURES, PAIR_FILTERS

from .base import Clicks


class CellWays(Clicks):
    """What is pinned, and what is shown of a head."""

    def cell(self, row: int, col: int) -> None:
        self.seen.at_cell(row, col)
        self.clicks += 1

    def point_at(self, row: int, col: int) -> None:
        self.seen.at_cell(row, col, "hover")

    def enter_matrix(self) -> None:
        self.enter(self.seen.part("matrix"))

    def query(self, n: int) -> None:
        self.click(self.root.get_by_title(re.compile(f"^query {n}: ")))

    def key(self, n: int) -> None:
        self.click(self.token(n))

    def token(self, n: int) -> Locator:
        """A word that is looked at, where a pointer finds it."""
        return self.root.get_by_title(re.compile(f"^key {n}: ")).first

    def listed(self, token: str) -> None:
        """A token of the list beside the head."""
        items = self.seen.part("row-list").get_by_role("listitem")
        named = items.filter(has=self.seen.page.get_by_text(token, exact=True))
        self.click(named.get_by_role("button").first)

    def find(self, text: str, key: str = "Enter") -> None:
        box = self.root.get_by_role("searchbox", name="Find a token")
        self.seen.settled()
        if not box.count():
            self.more()
        self.write(box, text)
        self.press(key)

    def cell_size(self, px: int) -> None:
        self.choose("cells", str(px))

    def mode(self, name: str) -> None:
        self.one_of("head view", {"matrix": "Matrix", "lines": "Lines", "text": "Text"}[name])

    def show(self, name: str) -> None:
        """A measure, or a map of the layer."""
        if self.root.get_by_role("combobox", name="shows").count():
            self.choose("shows", name)
        else:
            self.one_of("measure", MEASURES[name].label)

    def layer_as_a_whole(self, layer: int) -> None:
        self.button(f"L{layer}")

    def map_of(self, name: str) -> None:
        """Of an encoder-decoder."""
        self.one_of("map", name)

    def pairs(self, name: str) -> None:
        self.more()
        self.one_of("pairs", PAIR_FILTERS[name].label)

    def words(self) -> None:
        self.more()
        self.one_of("tokens", "Words")

    def pieces(self) -> None:
        self.more()
        self.one_of("tokens", "Pieces")

    def hide_special(self) -> None:
        self.more()
        self.click(self.seen.check("hide [CLS], [SEP]"))

    def renormalise(self) -> None:
        self.click(self.seen.check("renormalise rows"))

    def line_minimum(self, value: float) -> None:
        self.slide("from", value)

    def lines(self) -> str:
        """What the picture of lines says that it draws."""
        return self.seen.part("lines").get_by_role("img").last.get_attribute("aria-label") or ""

    def shade_by(self, side: str) -> None:
        self.one_of("shaded by", {"from": "what it looks at", "to": "who looks at it"}[side])

    def zoom(self, name: str) -> None:
        self.one_of("Zoom", {"in": "Zoom in", "out": "Zoom out", "all": "All of it"}[name])

    def pixel_is(self, name: str) -> None:
        self.one_of("a pixel is", {"max": "the largest", "mean": "the mean"}[name])

    def sees_all(self) -> bool:
        """Whether the picture of a long text is of all of it."""
        return self.seen.part("zoom-part").inner_text().startswith("all ")

    def picture_of_head(self) -> Any:
        """Its pixels."""
        return self.seen.matrix()

    def line_query(self, n: int) -> None:
        self.click(self.seen.queries().nth(n))

    def word_of_text(self, n: int) -> None:
        self.click(self.seen.part("running").locator(f"[data-n='{n}']"))

    def patch_at(self, row: int, col: int, rows: int, cols: int) -> None:
        """Of an image."""
        self.in_picture(self.seen.part("patches").get_by_role("grid"), row, col, rows, cols)

    def layer_and_head(self, layer: int, head: int) -> None:
        """Where there is no atlas."""
        self.choose("layer", str(layer))
        self.choose("head", str(head))

    def choose_query(self, n: int) -> None:
        """Where there is no head."""
        self.choose("query", str(n))
