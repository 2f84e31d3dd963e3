"""axe-core on the first screen and on every tab, as pictures and as tables, in both themes: nothing serious."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from browser.views import Seen

CELL = {"layer": 1, "head": 8, "query": 3, "key": 4}


def findings(seen: Seen) -> dict[str, Any]:
    """What axe-core finds as it opens, on each tab, and on its tables; tabs and states without findings left out."""
    found: dict[str, Any] = {"as opened": seen.axe()}
    seen.unfold()
    seen.settled()
    found["unfolded"] = seen.axe()
    tabs = [tab for tab in seen.root.get_by_role("tab").all() if tab.get_attribute("aria-disabled") != "true"]
    for tab in tabs:
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        expect(seen.region("Details").get_by_text("computing …")).to_have_count(0)
        found[tab.inner_text()] = seen.axe()
        switch = seen.check("as tables")
        if switch.count():
            switch.check()
            found[f"{tab.inner_text()} as tables"] = seen.axe()
            switch.uncheck()
    assert len(found) > len(tabs) > 2
    return {name: what for name, what in found.items() if what}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(show, pair, theme):
    texts = ["The cat sat on the old mat.", "A dog lay there."]
    stats = bl.survey.head_stats(pair.lens, texts, progress=False)
    seen = show(pair.explore(**CELL, stats=stats, theme=theme), width=974, folded=True)
    expect(seen.part("strip").locator("[data-strip-head]")).to_have_count(6)
    found = findings(seen)
    assert found == {}, json.dumps(found, indent=1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_the_first_screen_of_a_mask(show, language_model, theme):
    trace = language_model.trace("The cat did not drink the milk because the [MASK] was tired.")
    seen = show(trace.explore(theme=theme), width=974, folded=True)
    expect(seen.part("strip").locator("[data-strip-head]")).to_have_count(6)
    found = seen.axe()
    assert found == [], json.dumps(found, indent=1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_changed_run(show, pair, theme):
    changed = pair.rerun(whatif.off(1, 8), whatif.hide(2))
    found = findings(show(changed.explore(**CELL, theme=theme), width=974, folded=True))
    assert found == {}, json.dumps(found, indent=1)
