"""Pages of other hosts: their style sheets and grounds."""

from __future__ import annotations

from typing import Any

import pytest

from browser.views import Seen, saved

SHEETS = """<style>
div.body h3 { font-size: 40px; margin: 30px; }
main div.body select { padding: 0 40px; font-size: 40px; }
div.body p, div.body ul { margin: 33px; }
div.body button { font-size: 40px; }
</style>"""
PARTS = "h3, select, p, ul, button"
LOOK = """all => all.map(e => {
  const { fontSize, margin, padding } = getComputedStyle(e);
  return [e.localName, e.className, fontSize, margin, padding];
})"""


def framed(html: str, head: str, classes: str = "") -> str:
    """A page of a host that shows the view within a div of its own."""
    return html.replace("</head>", f"{head}</head>").replace("<main", f'<div class="{classes}"><main', 1)


def test_style_sheets_of_hosts_change_nothing(tab_of: Any, pair: Any) -> None:
    html = saved(pair.explore(view="neurons"))
    alone, hosted = (tab_of(page) for page in (html, framed(html, SHEETS, "body")))
    looks = []
    for page in (alone, hosted):
        assert Seen(page).numbers("alpha")  # all is drawn
        looks.append(page.locator(".bertlens").locator(PARTS).evaluate_all(LOOK))
    assert len(looks[0]) > 20 and looks[1] == looks[0]


@pytest.mark.parametrize(("ground", "wanted"), [("#14141c", "dark"), ("#f4f4f0", "light")])
@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_theme_is_that_of_the_ground_where_the_host_names_none(
    tab_of: Any, pair: Any, ground: str, wanted: str, system: str
) -> None:
    sheet = f"<style>body {{ background: {ground} !important }}</style>"
    page = tab_of(framed(saved(pair.explore()), sheet), theme=system)
    assert page.locator(".bertlens").first.get_attribute("data-theme") == wanted
