"""The Explorer in Chromium, written by a package that a room was taken out of."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import rooms
from browser.views import Seen
from unit.test_rooms import import_all, without


def written(folder: Path) -> None:
    """The Explorer's page, by the package of a folder, in a process of its own."""
    import_all(folder, ["lens"])
    from unit import tiny

    bl = import_module("bertlens")
    lens = bl.Lens(tiny.bert(num_hidden_layers=2), tiny.wordpiece())
    lens.trace("the cat sat", "it was").explore().to_html(folder / "page.html")


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize("room", rooms.ROOMS)
def test_without_a_room_the_explorer_opens(room: str, page_of: Callable[..., Page], tmp_path: Path) -> None:
    """With its sentence and its heads, a head that can be chosen and a tab that opens."""
    without(room, tmp_path)
    process = get_context("fork").Process(target=written, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 0
    view = Seen(page_of(tmp_path / "page.html"))
    expect(view.part("sentence")).to_contain_text("cat")
    expect(view.part("matrix").first).to_be_visible()
    tab = view.root.get_by_role("tab", name="Geometry")
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
