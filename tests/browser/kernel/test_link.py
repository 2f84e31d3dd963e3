"""The link between page and kernel, with the test as the kernel: answers late, out of order, wrong, or never.

At every moment caption, controls and pixels are of one head: what `agree` asserts.
"""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors, wire
from bertlens.widgets.answers import heads
from browser.views import Seen, hosted, live, plain_overview, shown


@pytest.fixture
def held(page_of, pair):
    """An Explorer at L1·H8 whose kernel answers when the test says so."""
    page = hosted(page_of, pair.explore(layer=1, head=8, query=3, key=4))
    seen = Seen(page)
    expect(seen.root).to_have_attribute("data-state", "live")
    page.evaluate("models[0].held = true")
    return seen


def test_what_is_typed_while_a_run_computes_stays(page_of, pair):
    """The answer is kept back as a slow model would: the field goes on, and what stands there can be run."""
    page = hosted(page_of, pair.explore(layer=1, head=8))
    seen = Seen(page)
    expect(seen.root).to_have_attribute("data-state", "live")
    page.evaluate("models[0].held = true")
    box = seen.root.get_by_label("Sentence A")
    box.fill("The cat")
    page.keyboard.press("Enter")
    page.keyboard.type(" sat")
    page.evaluate(
        """() => {
            const { waiting } = models[0];
            models[0].set("text", waiting.find(w => w.message.op === "trace").message.text);
            waiting.splice(waiting.findIndex(w => w.message.op === "trace"), 1)[0].give({});
        }"""
    )
    run = seen.root.get_by_role("button", name="Run")
    expect(run).to_be_enabled()
    page.keyboard.type(" on")
    expect(box).to_have_value("The cat sat on")
    run.click()
    asked = "models[0].waiting.filter(w => w.message.op === 'trace').map(w => w.message.text)"
    assert page.evaluate(asked) == ["The cat sat on"]
    page.evaluate("models[0].set('text', 'Another text')")  # from Python, after the run began
    expect(box).to_have_value("Another text")


def waiting(seen) -> list[str]:
    """Heads that were asked for and not answered."""
    return seen.page.evaluate(
        """() => models[0].waiting.filter(w => w.message.op === "head")
            .map(w => `L${w.message.layer}·H${w.message.head}`)"""
    )


def answer(seen, name: str) -> None:
    seen.page.evaluate(
        """name => {
            const { waiting } = models[0];
            const n = waiting.findIndex(w => `L${w.message.layer}·H${w.message.head}` === name);
            waiting.splice(n, 1)[0].give();
        }""",
        name,
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
    expect(seen.part("head-sentence").locator("b").first).to_have_text(name)
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


def test_older_answers_do_not_paint(held, pair):
    for layer, head in ((0, 2), (3, 5)):
        held.thumb(layer, head).click()
    answer(held, "L0·H2")
    agree(held, pair, 1, 8)
    answer(held, "L3·H5")
    agree(held, pair, 3, 5)


def test_answers_are_kept(held, pair):
    held.thumb(0, 2).click()
    answer(held, "L0·H2")
    agree(held, pair, 0, 2)
    held.thumb(1, 8).click()
    agree(held, pair, 1, 8)
    held.thumb(0, 2).click()
    agree(held, pair, 0, 2)
    assert waiting(held) == []


def test_back_to_the_shown_head_while_another_is_asked(held, pair):
    held.thumb(0, 2).click()
    held.thumb(1, 8).click()
    agree(held, pair, 1, 8)
    answer(held, "L0·H2")
    agree(held, pair, 1, 8)


def test_same_head_is_asked_once(held):
    for _ in range(3):
        held.thumb(0, 2).click()
        held.thumb(3, 5).click()
    assert waiting(held) == ["L0·H2", "L3·H5"]


def test_overlay_waits_for_all_its_heads(held, pair):
    held.thumb(0, 2).click(modifiers=["Shift"])
    held.thumb(3, 5).click(modifiers=["Shift"])
    answer(held, "L3·H5")
    expect(held.chips()).to_have_count(1)
    answer(held, "L0·H2")
    expect(held.chips()).to_have_count(3)


def test_asking_then_slow_then_late_answer(page_of, pair):
    """300 ms and 6 s by the page's clock; a late answer still counts."""
    page = hosted(page_of, pair.explore(layer=1, head=8, query=3, key=4))
    seen = Seen(page)
    expect(seen.root).to_have_attribute("data-state", "live")
    page.clock.install(time=0)
    page.clock.pause_at(1)  # the machine's own time would run on between two steps
    page.evaluate("models[0].held = true")
    seen.thumb(0, 2).click()
    page.clock.run_for(200)
    expect(seen.root).to_have_attribute("data-state", "live")
    page.clock.run_for(200)
    expect(seen.root).to_have_attribute("data-state", "asking")
    expect(seen.part("link")).to_have_text("waiting for the kernel …")
    page.clock.run_for(6000)
    expect(seen.root).to_have_attribute("data-state", "slow")
    expect(seen.part("problem")).to_have_text("kernel busy or gone: the picture is of L1·H8")
    page.clock.resume()
    agree(seen, pair, 1, 8)
    answer(seen, "L0·H2")
    expect(seen.root).to_have_attribute("data-state", "live")
    expect(seen.part("problem")).to_have_count(0)
    agree(seen, pair, 0, 2)


def test_error_is_the_kernels_own_words_until_its_own_question_succeeds(held, pair):
    held.thumb(0, 2).click()
    held.page.evaluate("models[0].waiting.pop().give({ error: 'head 2 is on holiday' })")
    expect(held.root).to_have_attribute("data-state", "error")
    expect(held.part("problem")).to_have_text("head 2 is on holiday")
    expect(held.root.get_by_role("alert")).to_have_text("head 2 is on holiday")
    agree(held, pair, 1, 8)
    held.thumb(3, 5).click()
    answer(held, "L3·H5")
    agree(held, pair, 3, 5)
    expect(held.part("problem")).to_have_text("head 2 is on holiday")  # another head's answer does not disprove it
    held.thumb(0, 2).click()  # asked again: an error is not kept
    answer(held, "L0·H2")
    agree(held, pair, 0, 2)
    expect(held.root).to_have_attribute("data-state", "live")
    expect(held.part("problem")).to_have_count(0)


def test_reader_closes_an_error(held):
    held.thumb(0, 2).click()
    held.page.evaluate("models[0].waiting.pop().give({ error: 'head 2 is on holiday' })")
    held.part("problem").get_by_role("button", name="Close this message").click()
    expect(held.part("problem")).to_have_count(0)
    expect(held.root).to_have_attribute("data-state", "live")


def test_malformed_answer_is_said_and_does_not_paint(held, pair):
    held.thumb(0, 2).click()
    held.page.evaluate(
        "models[0].waiting.pop().give({ layer: 0, head: 2, arrays: 'no' }, [new DataView(new ArrayBuffer(8))])"
    )
    agree(held, pair, 1, 8)
    expect(held.root).to_have_attribute("data-state", "error")
    expect(held.part("problem")).to_have_text(re.compile(r"cannot be read .*: the picture is of L1·H8$"))


def test_answer_with_another_id_is_not_ours(held, pair):
    held.thumb(0, 2).click()
    held.page.evaluate("models[0].emit('msg:custom', { id: 'another', layer: 0, head: 2 }, [])")
    held.page.evaluate("models[0].emit('msg:custom', null, undefined)")
    agree(held, pair, 1, 8)
    answer(held, "L0·H2")
    agree(held, pair, 0, 2)


def test_gone_kernel_says_what_is_shown(held, pair):
    """Nothing is disabled; cached heads still open, and the line follows the picture."""
    held.page.evaluate("models[0].dead = true")
    held.thumb(0, 2).click()
    expect(held.part("problem")).to_have_text("no kernel: the picture is of L1·H8")
    agree(held, pair, 1, 8)
    held.page.evaluate("models[0].dead = false")
    held.thumb(3, 5).click()
    answer(held, "L3·H5")
    agree(held, pair, 3, 5)
    expect(held.root).to_have_attribute("data-state", "live")


def test_saved_page_says_so(page_of, pair):
    seen = Seen(hosted(page_of, pair.explore(layer=1, head=8), kernel=False))
    expect(seen.root).to_have_attribute("data-state", "saved")
    expect(seen.part("link")).to_contain_text("saved")
    expect(seen.root.get_by_role("button", name="Run")).to_be_disabled()


def test_new_text_while_a_head_is_asked_for(held, embedded_lens):
    """The old text's answer comes after the new text's picture: it must not paint."""
    held.thumb(0, 2).click()
    new = embedded_lens.trace("One two three.").explore(layer=0, head=2)
    held.page.evaluate(
        """({ header, data }) => {
            const bytes = new DataView(Uint8Array.from(atob(data), c => c.charCodeAt(0)).buffer);
            models[0].set("query", null);
            models[0].set("key", null);
            models[0].set("overview", { header, data: bytes });
        }""",
        plain_overview(new.overview),
    )
    held.title("L0·H2")
    assert held.shape() == (6, 6)
    answer(held, "L0·H2")
    assert held.shape() == (6, 6)
    assert held.row_labels() == ["[CLS]", "one", "two", "three", ".", "[SEP]"]


def test_buffers_may_start_anywhere(held, pair):
    """A DataView that is not aligned for its numbers."""
    fields, arrays = heads.head(pair, 0, 2)
    index, blob = wire.pack(arrays)
    held.thumb(0, 2).click()
    held.page.evaluate(
        """([fields, blob]) => {
            const bytes = Uint8Array.from(atob(blob), c => c.charCodeAt(0));
            const shifted = new Uint8Array(bytes.length + 3);
            shifted.set(bytes, 3);
            models[0].waiting.pop().give(fields, [new DataView(shifted.buffer, 3)]);
        }""",
        [{**fields, "arrays": index}, base64.b64encode(blob).decode()],
    )
    agree(held, pair, 0, 2)


def test_mounting_and_unmounting_leaves_nothing_behind(page_of, pair):
    """50 cycles; listeners of the model, nodes and listeners of the page as before."""
    page = hosted(page_of, pair.explore(layer=1, head=8))
    Seen(page)
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
    page.evaluate(cycle, 5)
    before = counters()
    page.evaluate(cycle, 50)
    after = counters()
    assert page.evaluate("models[0].listeners()") == base
    one = page.evaluate("document.querySelectorAll('.bertlens *').length")
    assert after["nodes"] - before["nodes"] < one  # less than one view's nodes for fifty views
    assert after["jsEventListeners"] - before["jsEventListeners"] < 20


def test_views_that_were_removed_do_not_listen(page_of, pair):
    page = hosted(page_of, pair.explore(layer=1, head=8), bl.HeadAtlas(pair))
    Seen(page, page.locator(".bertlens").first)
    page.evaluate("mounted[0]()")
    expect(page.locator(".bertlens")).to_have_count(1)
    assert page.evaluate("models[0].listeners()") == 0
    page.evaluate("models[0].set('layer', 3); document.body.dataset.jpThemeLight = 'false'")


def test_a_large_answer_comes_in_pieces(page_of, pair, show, monkeypatch):
    wanted = show(pair.explore(layer=0, head=2)).matrix()
    view = pair.explore(layer=1, head=8)
    seen = live(page_of, view)
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
