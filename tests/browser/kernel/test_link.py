"""The link between page and kernel as it is seen, with the test as the kernel; js/tests/store.test.ts has the rest.

At every moment caption, controls and pixels are of one head: what `agree` asserts.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from bertlens.base import colors, wire
from browser.views import Seen, hosted, shown

pytestmark = pytest.mark.usefixtures("neurons_open")


@pytest.fixture
def held(tab_of, pair):
    """An Explorer at L1·H8 whose kernel answers when the test says so."""
    page = hosted(tab_of, pair.explore(layer=1, head=8, query=3, key=4))
    seen = Seen(page)
    expect(seen.root).to_have_attribute("data-state", "live")
    page.evaluate("models[0].held = true")
    return seen


def waiting(seen) -> list[str]:
    """Heads that were asked for and not answered."""
    return seen.page.evaluate(
        """() => models[0].waiting.filter(w => w.message.op === "head")
            .map(w => `L${w.message.layer}·H${w.message.head}`)"""
    )


def answer(seen, name: str, error: str = "") -> None:
    seen.page.evaluate(
        """([name, error]) => {
            const { waiting } = models[0];
            const asks = ({ op, layer, head }) => op === "head" && `L${layer}·H${head}` === name;
            const n = waiting.findIndex(({ message }) => asks(message));
            waiting.splice(n, 1)[0].give(...(error ? [{ error }] : []));
        }""",
        [name, error],
    )


def agree(seen, pair, layer: int, head: int) -> None:
    """Title, legend, numbers and pixels are of this head."""
    name = f"L{layer}·H{head}"
    seen.title(name)
    weights = pair.attention(layer)[head].numpy()
    table = colors.table("weight", "light").astype(int)
    entries = np.round(255 * weights / weights.max()).astype(int)
    assert abs(seen.matrix().astype(int) - table[entries]).max() <= 8  # an entry at most
    assert seen.root.locator(".bl-head .bl-legend").inner_text().split() == [
        "0",
        shown(float(weights.max())),
        "α,",
        name,
    ]
    expect(seen.part("head-sentence").locator("b")).to_have_text(re.compile(f"^{name} "))
    expect(seen.part("neurons")).to_contain_text(name)
    expect(seen.part("formula-alpha")).to_have_text(shown(float(weights[3, 4])))


def test_newest_selection_wins_when_answers_come_in_reverse(held, pair):
    for layer, head in ((0, 2), (3, 5), (5, 11)):
        held.thumb(layer, head).click()
    assert waiting(held) == ["L0·H2", "L3·H5", "L5·H11"]
    agree(held, pair, 1, 8)
    answer(held, "L5·H11")
    agree(held, pair, 5, 11)
    answer(held, "L0·H2")
    answer(held, "L3·H5")
    agree(held, pair, 5, 11)


def test_reader_closes_an_error(held):
    held.thumb(0, 2).click()
    answer(held, "L0·H2", "head 2 is on holiday")
    expect(held.root).to_have_attribute("data-state", "error")
    expect(held.root.get_by_role("alert")).to_have_text("head 2 is on holiday")
    held.part("problem").get_by_role("button", name="Close this message").click()
    expect(held.part("problem")).to_have_count(0)
    expect(held.root).to_have_attribute("data-state", "live")


def test_mounting_and_unmounting_leaves_nothing_behind(page_of, pair):
    """50 cycles; listeners of the model, nodes and listeners of the page as before."""
    page = hosted(page_of, pair.explore(layer=1, head=8))
    expect(Seen(page).root).to_have_attribute("data-state", "live")  # nothing waits for an answer
    base = page.evaluate("models[0].listeners()")
    session = page.context.new_cdp_session(page)

    def counters() -> dict[str, int]:
        for _ in range(3):
            session.send("HeapProfiler.collectGarbage")
        found = session.send("Memory.getDOMCounters")
        return {name: found[name] for name in ("nodes", "jsEventListeners")}

    cycle = """async times => {
        for (let n = 0; n < times; n++) {
            const end = mount(0);
            await new Promise(requestAnimationFrame);
            end();
        }
    }"""

    def settled() -> dict[str, int]:
        """The counts once the shown view has all its parts: two that agree, half a second apart."""
        earlier, counts = {}, counters()
        while counts != earlier:
            page.wait_for_timeout(500)
            earlier, counts = counts, counters()
        return counts

    settled()
    page.evaluate(cycle, 5)
    before = settled()
    page.evaluate(cycle, 50)
    after = settled()
    assert page.evaluate("models[0].listeners()") == base
    one = page.evaluate("document.querySelectorAll('.bertlens *').length")
    assert after["nodes"] - before["nodes"] < one  # less than one view's nodes for fifty views
    assert after["jsEventListeners"] - before["jsEventListeners"] < 20


def test_a_large_answer_comes_in_pieces(pair, show, monkeypatch):
    wanted = show(pair.explore(layer=0, head=2)).matrix()
    view = pair.explore(layer=1, head=8)
    seen = show(view)
    seen.title("L1·H8")
    monkeypatch.setattr(wire, "MOST_AT_ONCE", 2000)
    monkeypatch.setattr(wire, "PIECE", 1000)
    received = seen.page.evaluate_handle(
        """() => {
            const fields = [];
            models[0].on("msg:custom", (message, buffers) => fields.push([message, buffers[0]?.byteLength]));
            return fields;
        }"""
    )
    seen.thumb(0, 2).click()
    seen.title("L0·H2")
    assert (seen.matrix() == wanted).all()
    pieces = [length for message, length in received.json_value() if "of" in message]
    assert len(pieces) > 2 and max(pieces) == 1000
