"""What every way is made of: clicks that are counted, and waiting for what comes of them.

A native list is opened and chosen from: two clicks. A slider is drawn once: one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, expect

from browser.views import PATIENCE, Seen


class Clicks:
    """Works one view, and counts."""

    def __init__(self, seen: Seen, view: Any = None) -> None:
        self.seen = seen
        self.root = seen.root
        self.view = view  # of the kernel; a saved page has none
        self.clicks = 0
        self.leaves = False  # something in the document, for views that come after

    def click(self, target: Locator, count: int = 1, **options: Any) -> None:
        target.click(click_count=count, **options)
        self.clicks += count

    def press(self, *keys: str) -> None:
        for key in keys:
            self.seen.page.keyboard.press(key)
            self.clicks += 1

    def enter(self, target: Locator) -> None:
        """Come to a part by the keyboard, as by one click."""
        target.focus()
        self.clicks += 1

    def write(self, target: Locator, text: str) -> None:
        line = target.evaluate("field => [...document.querySelectorAll('.bl-stage textarea')].indexOf(field)")
        if line > 0 and target.input_value() == "":
            expect(target).to_be_focused()  # a new line has the caret
        elif not target.evaluate("field => field === document.activeElement"):
            self.click(target if line < 0 else self.seen.gap(line))
        target.fill(text)

    def choose(self, label: str, value: str, within: Locator | None = None) -> None:
        (within or self.root).get_by_role("combobox", name=label, exact=True).select_option(value)
        self.clicks += 2

    def slide(self, label: str, value: float) -> None:
        self.seen.slide(label, value)
        self.clicks += 1

    def unfold(self) -> None:
        """Unfold all heads, where they are not."""
        button = self.root.locator(".bl-in-full")
        if button.count():
            self.click(button)

    def more(self) -> None:
        """Open the row behind "⋯", where it is closed."""
        button = self.root.get_by_role("button", name="More settings")
        if button.count() and button.get_attribute("aria-expanded") == "false":
            self.click(button)

    def finder(self) -> Locator:
        """The menu "Find heads that …", open."""
        menu = self.root.locator(".bl-finder")
        menu.wait_for()
        if menu.get_attribute("open") is None:
            self.click(menu.locator("summary"))
        return menu

    def one_of(self, group: str, name: str) -> None:
        self.click(self.seen.choice(group, name))

    def button(self, name: str | re.Pattern[str], within: Locator | None = None) -> None:
        exact = isinstance(name, str)
        self.click((within or self.root).get_by_role("button", name=name, exact=exact).first)

    def in_picture(self, picture: Locator, row: int, col: int, rows: int, cols: int) -> None:
        """A cell of a picture."""
        box = picture.bounding_box()
        assert box is not None
        at = {"x": (col + 0.5) * box["width"] / cols, "y": (row + 0.5) * box["height"] / rows}
        self.click(picture, position=at)

    def comes(self, read: Callable[[], Any], wanted: Any) -> None:
        """Wait until what is read is what is wanted."""
        deadline = time.monotonic() + PATIENCE / 1000
        while (found := read()) != wanted:
            assert time.monotonic() < deadline, f"{found!r} is not {wanted!r}"
            self.seen.page.evaluate("() => new Promise(requestAnimationFrame)")

    def has(self, **traits: Any) -> None:
        """The kernel has these values of the selection."""
        self.comes(lambda: {name: getattr(self.view, name) for name in traits}, traits)
