"""The Explorer in hosts with a kernel of their own making: what is clicked is drawn, and nothing else is asked for."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.hosts import HOSTS, opened
from browser.views import Seen

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def npm(tmp_path_factory):
    """Where packages of npm are unpacked."""
    return tmp_path_factory.mktemp("npm")


def in_full(seen: Seen) -> None:
    """Nothing of the view is cut off or runs over, in it and in what holds it."""
    cut = seen.root.evaluate(
        """root => {
            const found = [];
            for (let e = root; e && e !== document.documentElement; e = e.parentElement ?? e.getRootNode().host) {
                const cuts = e === root || /hidden|clip/.test(getComputedStyle(e).overflowY);
                const [wide, high] = [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight];
                if (wide > 1) found.push(`${e.className}: ${wide} wide`);
                if (cuts && high > 2) found.push(`${e.className}: ${high} high`);
            }
            return found;
        }"""
    )
    assert cut == []


@pytest.mark.parametrize("name", HOSTS)
def test_click_in_a_host(name, browser, tmp_path, npm):
    with opened(HOSTS[name], browser, tmp_path, npm) as (page, _):
        seen = Seen(page)
        expect(seen.root).to_have_attribute("data-state", "live")
        before = seen.matrix()
        seen.thumb(0, 2).click()
        seen.title("L0·H2")
        after = seen.matrix()
        assert before.shape == after.shape and (before != after).any()
        assert seen.root.bounding_box()["width"] >= 900
        in_full(seen)
        seen.beside_controls(".bl-title")  # the keys are the view's from then on
