"""Ways to files and to the clipboard."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator

from browser.views import PATIENCE

from .base import Clicks


class FileWays(Clicks):
    """What leaves the view."""

    def _menu(self) -> Locator:
        if self.root.locator(".bl-menu[open]", has=self.seen.page.get_by_text("Export", exact=True)).count() == 0:
            self.click(self.root.get_by_text("Export", exact=True).first)
        return self.root.locator(".bl-menu-list:visible")

    def sheet(self, *choices: tuple[str, str] | str) -> None:
        """How figures are to look: a width, letters, and what stands on them. The menu is left open."""
        menu = self._menu()
        self.leaves = True
        for choice in choices:
            if isinstance(choice, str):
                self.click(menu.get_by_role("checkbox", name=choice))
            else:
                self.one_of(*choice)

    def save(self, kind: str, of: str = "", opened: bool = False) -> Path:
        """A file from the menu: SVG, PNG or CSV `of` head, atlas or tab; CSV of nothing is the head's numbers."""
        menu = self.root.locator(".bl-menu-list:visible") if opened else self._menu()
        names = {"head": "Head view", "atlas": "Atlas", "tab": "Open tab"}
        whole = {"CSV": "Numbers of this head (CSV)", "HTML": "Page without kernel (HTML)"}
        line = (
            menu.locator(".bl-menu-line", has=self.seen.page.get_by_text(names[of], exact=True))
            if of in names
            else menu
        )
        name = kind if of in names else f"Page with {of} only (HTML)" if of else whole[kind]
        with self.seen.page.expect_download(timeout=PATIENCE) as download:
            self.button(name, line)
        return Path(download.value.path()).rename(
            Path(download.value.path()).with_name(download.value.suggested_filename)
        )

    def copy_python(self) -> str:
        self._menu()
        return self.seen.copied(lambda: self.button("Copy as Python"))

    def copy_link(self) -> str:
        self._menu()
        return self.seen.copied(lambda: self.button("Copy a link to this state"))

    def state(self) -> dict[str, Any]:
        """All that the page would hand on, traits and settings; reading it is not counted."""
        before = self.clicks
        line = self.copy_python().splitlines()[-1]
        self.press("Escape")
        self.clicks = before
        given: dict[str, Any] = eval(re.sub(r"^trace\.explore\(", "dict(", line))
        return given | given.pop("settings", {})

    def copy_table(self, within: Locator) -> str:
        return self.seen.copied(lambda: self.button("Copy", within))
