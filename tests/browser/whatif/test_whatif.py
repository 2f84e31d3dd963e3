"""What if it did not? Changes made on the page: what is shown after each is what a run with that change gives, computed
here from the trace alone; every way there and back by keyboard; a saved page. What changes do:
tests/unit/whatif/test_whatif.py.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, expect

from bertlens import Trace, whatif
from browser.views import Seen, shown, signed

pytestmark = pytest.mark.usefixtures("neurons_open")

LAYER, HEAD = 1, 8
MASKED = "The cat sat on the [MASK] because it was tired."


@pytest.fixture(scope="module")
def masked(language_model: Any) -> Trace:
    return language_model.trace(MASKED)


@pytest.fixture
def text(pair: Trace) -> Trace:
    return pair


def opened(show: Any, trace: Trace, **selection: Any) -> tuple[Seen, Any]:
    """A live view, ready."""
    view = trace.explore(**({"layer": LAYER, "head": HEAD} | selection))
    seen = show(view)
    expect(seen.root.locator(".bl-finder")).to_be_visible()  # with what comes after the first picture
    expect(seen.part("link")).to_have_text("kernel live")
    return seen, view


def chips(seen: Seen) -> list[str]:
    return seen.root.locator(".bl-change").all_inner_texts()


def bar(seen: Seen) -> Locator:
    return seen.root.get_by_role("group", name="Changes of this run")


def press(seen: Seen, *keys: str) -> None:
    for key in keys:
        seen.page.keyboard.press(key)


def doing(seen: Seen, label: str) -> None:
    """Choose from the menu by keyboard."""
    seen.open_tab("Does it matter?")
    seen.root.locator(".bl-doings summary").focus()
    press(seen, "Enter")
    item = seen.root.locator(".bl-doings").get_by_role("button", name=label)
    item.focus()
    press(seen, "Enter")


def in_atlas(seen: Seen) -> list[list[str]]:
    """The number of each head, row by row."""
    return seen.root.locator(".bl-atlas [role=row]").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('.bl-fill')].map(one => one.textContent))"
        ".filter(row => row.length)"
    )


def apart(p: torch.Tensor, q: torch.Tensor) -> float:
    """Mean Jensen-Shannon divergence of the rows, by Kullback and Leibler's sums."""
    middle = (p + q) / 2

    def kl(a: torch.Tensor) -> torch.Tensor:
        return torch.where(a > 0, a * (a / middle).log(), torch.zeros_like(a)).sum(-1)

    return float(((kl(p) + kl(q)) / 2).mean())


def cosine(*texts: Trace) -> float:
    one, other = (text.layer_output(text.n_layers - 1).double().mean(0).numpy() for text in texts)
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def similarity(seen: Seen, value: float) -> None:
    expect(seen.answer_bar("both texts")).to_have_attribute("title", re.compile(f"^{value:.4f} "))


def test_a_head_off_and_back_by_keyboard(show: Any, text: Trace) -> None:
    lens, texts = text.lens, (text.text, text.text_pair)
    seen, view = opened(show, text)
    assert lens is not None
    alone = [lens.trace(one) for one in texts]
    similarity(seen, cosine(*alone))
    expect(bar(seen)).to_have_count(0)  # nothing is changed

    seen.thumb(LAYER, HEAD).focus()
    press(seen, "x")
    expect(bar(seen)).to_contain_text("L1·H8 off")
    assert view.trace.changes == (whatif.off(LAYER, HEAD),)
    expect(seen.thumb(LAYER, HEAD)).to_have_class(re.compile("bl-off"))
    expect(seen.thumb(LAYER, HEAD)).to_be_focused()
    expect(seen.part("head-sentence")).to_contain_text("L1·H8 is switched off: it looks")
    after = cosine(*(one.rerun(whatif.off(LAYER, HEAD)) for one in alone))
    similarity(seen, after)
    expect(seen.part("answer")).to_contain_text("mean of all tokens")
    expect(seen.part("slopes")).to_contain_text(shown(cosine(*alone)))
    expect(seen.part("slopes")).to_contain_text(shown(after))

    run = text.rerun(whatif.off(LAYER, HEAD))
    expect(seen.root.locator(".bl-atlas .bl-fill").first).to_be_visible()
    rows = in_atlas(seen)
    assert rows[: LAYER + 1] == [["–"] * 12] * (LAYER + 1)  # they run before it
    wanted = [
        [shown(apart(*(trace.attention(layer, torch.float64)[head] for trace in (text, run)))) for head in range(12)]
        for layer in range(LAYER + 1, 6)
    ]
    assert rows[LAYER + 1 :] == wanted
    expect(seen.part("elsewhere")).to_contain_text("Only layers 2 to 5 can differ.")

    seen.thumb(5, 3).focus()
    press(seen, "x")  # of the last layer: no weight differs, the answer does
    expect(bar(seen)).to_contain_text("L5·H3 off")
    both = cosine(*(one.rerun(whatif.off(LAYER, HEAD), whatif.off(5, 3)) for one in alone))
    assert shown(both) != shown(after)
    similarity(seen, both)

    bar(seen).get_by_role("button", name="Take back: L1·H8 off").focus()
    press(seen, "Enter")
    expect(seen.root.locator(".bl-change")).to_have_count(1)
    assert view.trace.changes == (whatif.off(5, 3),)
    bar(seen).get_by_role("button", name="Undo").focus()
    press(seen, "Enter")
    expect(seen.root.locator(".bl-change")).to_have_count(2)
    press(seen, "Enter")
    expect(seen.root.locator(".bl-change")).to_have_count(1)
    assert view.trace.changes == (whatif.off(LAYER, HEAD),)
    bar(seen).get_by_role("button", name="Reset").focus()
    press(seen, "Enter")
    expect(bar(seen)).to_have_count(0)
    assert view.trace is text
    similarity(seen, cosine(*alone))
    expect(seen.root.locator(".bl-atlas .bl-fill")).to_have_count(0)


def test_what_is_pressed_is_what_is_shown_in_any_order(show: Any, text: Trace) -> None:
    """Colours stay those of the change while heads are in order by something else, which their numbers are of."""
    seen, _ = opened(show, text)
    seen.thumb(LAYER, HEAD).focus()
    press(seen, "x")
    expect(bar(seen)).to_contain_text("L1·H8 off")
    place = seen.thumb(4, 5)
    expect(place.locator(".bl-fill")).to_have_text(re.compile(r"^0\.\d{3}$"))
    colour = place.locator(".bl-fill").evaluate("one => one.style.background")
    about = seen.part("colours")
    for order in ("entropy", "gate"):
        seen.find_heads(order)
        expect(seen.choice("atlas", "Looks elsewhere")).to_have_attribute("aria-pressed", "true")
        expect(about).to_have_text("colour: looks elsewhere now, nats")
        assert place.locator(".bl-fill").evaluate("one => one.style.background") == colour
    seen.find_heads("entropy")
    of_head = text.rerun(whatif.off(LAYER, HEAD)).attention(4)[5].double()
    entropy = float(-(of_head * of_head.clamp_min(1e-300).log()).sum(1).mean())
    expect(place.locator(".bl-thumb-caption b")).to_have_text(signed(entropy))
    seen.choice("atlas", "Patterns").click()
    expect(about).to_have_count(0)
    expect(place.locator(".bl-fill")).to_have_count(0)


def test_what_cannot_be_is_said_and_changes_nothing(show: Any, embedded_lens: Any) -> None:
    trace = embedded_lens.trace("cat")
    seen, view = opened(show, trace)
    for n in range(2):
        seen.root.locator(".bl-col-label").nth(n).click(button="right")
        expect(seen.root.locator(".bl-at-pointer button").first).to_be_focused()
        press(seen, "Enter")
        expect(seen.root.locator(".bl-change")).to_have_count(n + 1)
    seen.root.locator(".bl-col-label").nth(2).click(button="right")
    expect(seen.root.locator(".bl-at-pointer button").first).to_be_focused()
    press(seen, "Enter")
    expect(seen.part("problem")).to_contain_text("key")
    assert len(view.trace.changes) == 2
    expect(seen.root.locator(".bl-change")).to_have_count(2)


def test_a_part_of_the_split_is_tried(show: Any, embedded_lens: Any) -> None:
    trace = embedded_lens.trace("The animal didn't cross the street because it was too tired.")
    cell = {"layer": 3, "head": 7, "query": trace.tokens.index("it"), "key": trace.tokens.index("animal")}
    seen, view = opened(show, trace, **cell, view="why")
    from bertlens.measures import sources

    split = sources.score(trace, **cell)
    kind, layer, head, value = max((row for row in split.rows if row[0] == "head"), key=lambda row: abs(row[3]))
    assert kind == "head" and layer is not None and head is not None
    seen.part("why").get_by_role("button", name=f"Try it: L{layer}·H{head} off").click()
    run = trace.rerun(whatif.off(layer, head))

    def contrast(of: Trace) -> float:
        scores = of.scores(3)[7, cell["query"]].double()
        others = [j for j in range(of.n_tokens) if j != cell["key"]]
        return float(scores[cell["key"]] - scores[others].mean())

    said = seen.part("tried")
    does = "takes away" if value < 0 else "adds"
    expect(said).to_contain_text(f"In the split, L{layer}·H{head} {does} {signed(abs(value))}. Switched off, the lead")
    before, after = signed(contrast(trace)), signed(contrast(run))
    assert before == signed(split.total) != after
    moved = f"{'rises' if contrast(run) > contrast(trace) else 'falls'} from {before} to {after}"
    expect(said).to_contain_text(moved)
    row = said.get_by_test_id("effect")
    expect(row).to_have_count(1)
    assert row.locator("td.bl-number").all_inner_texts()[:2] == [before, after]
    expect(bar(seen)).to_contain_text(f"L{layer}·H{head} off")
    expect(seen.part("elsewhere")).not_to_contain_text("computing")  # what comes above has come

    # the reader is where it was tried: the same button takes it back, the split of before stays, no word of Python
    panel = seen.root.get_by_role("tabpanel")
    clicked = panel.get_by_role("button", name=f"Undo: L{layer}·H{head} off", exact=True)
    expect(seen.tab("Why")).to_have_attribute("aria-selected", "true")
    expect(clicked.first).to_be_focused()
    expect(panel.get_by_test_id("of-original")).to_contain_text("Why explains the unchanged model.")
    expect(panel.get_by_test_id("why-parts")).to_contain_text(signed(value))
    expect(panel.get_by_test_id("why-says")).to_contain_text("In L3·H7, “it” looks at “animal”")
    assert "trace" not in panel.inner_text()

    # another part instead of the first: a row more, and the first one's number stays
    name = panel.get_by_role("button", name="Try it").last.get_attribute("aria-label") or ""
    panel.get_by_role("button", name=name).click()
    other = name.removeprefix("Try it: ")
    expect(row).to_have_count(2)
    expect(row.last).to_have_class("bl-pinned")
    expect(row.last).to_contain_text(other)
    expect(said).to_contain_text(f"In the split, {other.removesuffix(' off')}")
    assert row.first.locator("td.bl-number").all_inner_texts()[:2] == [before, after]
    assert len(view.trace.changes) == 1
    row.first.get_by_role("button", name="show this run").click()
    expect(row.first).to_have_class("bl-pinned")
    assert view.trace.changes == (whatif.off(layer, head),)

    # another head: its split, of the run without changes too; nothing was tried of it
    seen.thumb(4, 1).click()
    seen.title("L4·H1")
    expect(panel.get_by_test_id("why-says")).to_contain_text("L4·H1")
    expect(panel.get_by_test_id("of-original")).to_be_visible()
    expect(said).to_have_count(0)
    own = sources.score(trace, 4, 1, cell["query"], cell["key"])
    expect(panel.get_by_test_id("why-foot")).to_contain_text(signed(own.total, 4))
    seen.thumb(3, 7).click()
    panel.get_by_role("button", name="Show both").click()
    expect(seen.root.locator(".bl-runs")).to_contain_text("nothing changed")
    expect(seen.tab("Compare")).to_be_focused()
    seen.root.get_by_role("button", name="Stop comparing").click()
    seen.open_tab("Why")
    expect(row.first).to_have_class("bl-pinned")
    panel.get_by_test_id("of-original").get_by_role("button", name="Undo the change").click()
    expect(row.last).to_have_class("bl-pinned")  # the step before
    row.last.get_by_role("button", name="Undo").click()
    expect(row.first).to_have_class("bl-pinned")
    row.first.get_by_role("button", name="Undo").click()
    expect(panel.get_by_test_id("of-original")).to_have_count(0)
    expect(row).to_have_count(2)  # what was found out stays
    assert view.trace is trace


def test_escape_closes_the_form_and_leaves_the_pin(show: Any, masked: Trace) -> None:
    seen, view = opened(show, masked, query=2, key=3)
    seen.open_tab("Does it matter?")
    seen.root.locator(".bl-doings summary").click()
    seen.root.get_by_role("button", name="something from another text …").click()
    form = seen.root.get_by_role("form", name="From another text")
    form.get_by_label("The other text", exact=True).click()
    press(seen, "Escape")
    expect(form).to_have_count(0)
    seen.gap().click()
    expect(seen.root.get_by_label("Sentence A")).to_be_focused()
    press(seen, "Escape")  # of a field, too, it is not the pin's
    assert (view.query, view.key) == (2, 3)
    seen.thumb(LAYER, HEAD).focus()
    press(seen, "Escape")
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_count(0)


def test_a_saved_page_shows_what_was_there(show_saved: Any, show: Any, masked: Trace) -> None:
    seen, view = opened(show, masked)
    seen.thumb(LAYER, HEAD).focus()
    press(seen, "x")
    expect(bar(seen)).to_contain_text("L1·H8 off")
    seen.find_heads("matters")
    expect(seen.part("sweep-state")).to_contain_text("All 72 heads tried")
    answer = seen.part("answer").inner_text()
    said = seen.part("matters").inner_text()
    saved = show_saved(view)
    expect(bar(saved)).to_contain_text("L1·H8 off")
    expect(bar(saved).get_by_role("button", name="Reset")).to_be_disabled()
    assert saved.part("answer").inner_text() == answer
    expect(saved.thumb(LAYER, HEAD)).to_have_class(re.compile("bl-off"))
    expect(saved.root.locator(".bl-atlas .bl-fill").first).to_be_visible()
    saved.find_heads("matters")
    expect(saved.part("sweep-state")).to_contain_text("All 72 heads tried")
    assert saved.part("matters").inner_text() == said
    saved.thumb(2, 2).focus()
    saved.page.keyboard.press("x")
    expect(saved.part("problem")).to_have_text(
        "This needs the model, which a saved page does not hold. Open the notebook."
    )
    expect(saved.root.locator(".bl-change")).to_have_count(1)


TIMED = """async () => {
    const root = document.querySelector('.bertlens');
    const taken = [];
    for (let n = 0; n < 7; n++) {
        const head = root.querySelector(`[data-head="1-${n}"]`);
        head.focus();
        const answer = () => root.querySelector('[data-testid=answer]')?.innerHTML; // its titles have four digits
        const atlas = () => [...root.querySelectorAll('.bl-fill')].map((one) => one.textContent).join();
        const before = [answer(), atlas()];
        const start = performance.now();
        head.dispatchEvent(new KeyboardEvent('keydown', { key: 'x', bubbles: true, composed: true }));
        const changed = () => answer() !== before[0] && atlas() !== before[1];
        while (!changed() && performance.now() - start < 20000) await new Promise(requestAnimationFrame);
        taken.push(performance.now() - start);
        await new Promise((done) => setTimeout(done, 1500));
    }
    return taken;
}"""


@pytest.mark.long
def test_a_change_repaints_in_time_in_jupyterlab(open_notebook: Any) -> None:
    """A single head switched off: answers and atlas, at 64 tokens."""
    words = " ".join(["The quick brown fox jumps over the lazy dog."] * 3)
    notebook = open_notebook(
        [
            "import bertlens as bl\nlens = bl.Lens.embedded()\n"
            f"trace = lens.trace({words!r}, {words!r} + ' again')\nassert 62 <= trace.n_tokens <= 66, trace.n_tokens\n"
            "view = trace.explore(layer=1, head=8)\nview"
        ],
        height=1600,
    )
    seen = Seen(notebook.page, notebook.page.locator(".bertlens").first)
    expect(seen.part("answer")).to_be_visible()
    taken = sorted(notebook.page.evaluate(TIMED))
    print("ms until answers and atlas are repainted, 64 tokens, JupyterLab:", [round(one) for one in taken])
    assert taken[0] < 300  # what else the machine does can only add to it
