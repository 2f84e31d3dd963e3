"""Ways to what stands below the head."""

from __future__ import annotations

import re

from playwright.sync_api import Locator

from .base import Clicks


class TabWays(Clicks):
    """Tabs, and what can be chosen in each."""

    def tab(self, name: str) -> Locator:
        """The tab that answers: neurons, why, matter, norms, gates, geometry, survey, table."""
        labels = {"neurons": "Neurons", "why": "Why", "norms": "Weight against norm", "gates": "Gates"}
        labels |= {"geometry": "Geometry", "survey": "Corpus", "table": "Table", "matter": "Does it matter?"}
        tab = self.seen.tab(labels[name])
        if tab.get_attribute("aria-selected") == "false":  # an open one would close
            self.click(tab)
        return self.seen.part(name)

    def as_tables(self) -> None:
        self.more()
        self.click(self.seen.check("as tables"))

    def table(self, name: str | re.Pattern[str]) -> Locator:
        return self.root.get_by_role("table", name=name, exact=isinstance(name, str))

    def order_neurons(self, name: str) -> None:
        self.choose("neurons", name)

    def order_keys(self, name: str) -> None:
        self.choose("keys", name)

    def alphas(self) -> list[str]:
        """The weights of the keys, in their order."""
        found: list[str] = self.seen.part("neurons").locator("[data-alpha]").all_inner_texts()
        return found

    def all_keys(self) -> None:
        self.click(self.seen.check("all keys"))

    def mixing(self, name: str) -> None:
        self.choose("by", name, self.seen.part("norms"))

    def gate_limits(self, name: str, value: float) -> None:
        self.slide(name, value)

    def gate_of_content(self) -> None:
        self.one_of("view", "Content")

    def table_of(self, name: str) -> None:
        self.one_of("of", {"head": "Head view", "atlas": "Atlas"}[name])

    # neurons

    def neuron_key(self, token: str) -> None:
        self.button(token, self.seen.part("neurons"))

    # why

    def _more_of_why(self) -> None:
        self.click(self.seen.part("why").get_by_role("button", name="more …"))

    def why_of(self, side: str) -> None:
        """Whose stream is split: Query, Key, Both."""
        self._more_of_why()
        self.one_of("stream of", side)

    def open_mlps(self) -> None:
        self._more_of_why()
        self.one_of("MLPs", "Opened")

    def against(self, what: str) -> None:
        """Average, A key …, Nothing."""
        self._more_of_why()
        self.one_of("compared with", what)

    def follow(self) -> None:
        """The first part of a score that leads to another cell."""
        self.button(re.compile("›$"), self.seen.part("why-parts"))

    def follow_back(self) -> None:
        self.button(re.compile("^‹"), self.root.get_by_role("navigation", name="Way back"))

    def try_part(self) -> None:
        self.button(re.compile("^Try it: L"), self.seen.part("why"))

    def picture_of_score(self, n: int) -> Locator:
        picture = self.seen.part("why").get_by_title("show it large").nth(n)
        self.click(picture)
        return picture

    # norms, gates, geometry

    def mixing_at(self, layer: int, token: int, layers: int, tokens: int) -> None:
        picture = self.seen.part("norms").get_by_role("img", name=re.compile("^Mixing ratio"))
        self.in_picture(picture.locator("rect[fill-opacity]").first, layer, token, layers, tokens)

    def evidence_at(self, row: int, col: int, rows: int, cols: int) -> None:
        picture = self.seen.part("gates").get_by_role("img", name=re.compile("^Attention of "))
        self.in_picture(picture.locator("rect[fill-opacity]").first, row, col, rows, cols)

    def stream_of(self, station: int) -> None:
        """0 is what the first layer takes in, n what layer n − 1 hands on."""
        self.slide("stream", station)

    def find_in_stream(self, word: str) -> None:
        self.write(self.seen.part("stream").get_by_label("Find a word in the picture"), word)

    def nearest_by_cosine(self) -> None:
        table = self.seen.part("stream").get_by_role("table", name=re.compile("^Nearest to"))
        self.click(table.get_by_role("button").first)

    def word_of_stream(self, n: int) -> None:
        self.click(self.seen.part("stream").locator(f"[data-token='{n}'] path"))

    # tables

    def sort_table(self, column: str) -> None:
        self.button(column, self.seen.part("table"))

    def head_of_table(self, name: str) -> None:
        self.button(name, self.seen.part("table"))

    # does it matter

    def effects(self) -> list[str]:
        """The answer with each change, as the table prints it."""
        rows = self.seen.part("matter").get_by_test_id("effect")
        found: list[str] = rows.evaluate_all("all => all.map(row => row.querySelectorAll('td.bl-number')[1].innerText)")
        return found

    def which_words(self) -> None:
        self.click(self.seen.part("which-words").locator("summary"))

    def counts_for(self, token: int) -> str:
        """What a token counts for, as the list prints it; "" while it is not there."""
        texts = self.seen.part("which-words").locator("li .bl-number").all_inner_texts()
        return texts[token] if texts else ""

    def show_effect(self, n: int) -> None:
        row = self.seen.part("matter").get_by_test_id("effect").nth(n)
        self.button(re.compile("^show this run"), row)
