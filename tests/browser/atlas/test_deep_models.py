"""Many layers, many heads, heads that share their keys: the atlas scrolls on its own, names and choice in sight."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from browser.views import Seen
from unit import tiny

pytestmark = pytest.mark.usefixtures("neurons_open")

TEXT = "the cat sat on the mat . " * 3


@pytest.fixture(scope="module")
def deep() -> Any:
    """32 layers of 40 heads."""
    model = tiny.bert(num_hidden_layers=32, num_attention_heads=40, hidden_size=80, intermediate_size=16)
    return bl.Lens(model, tiny.wordpiece()).trace("the cat sat")


def box(part: Locator) -> dict[str, float]:
    found = part.bounding_box()
    assert found
    return dict(found)


def is_inside(part: Locator, frame: Locator) -> bool:
    a, b = box(part), box(frame)
    across = b["x"] - 1 <= a["x"] and a["x"] + a["width"] <= b["x"] + b["width"] + 1
    return across and b["y"] - 1 <= a["y"] and a["y"] + a["height"] <= b["y"] + b["height"] + 1


def test_a_deep_atlas_scrolls_on_its_own_to_the_chosen_head(show_saved: Any, deep: Any) -> None:
    layers = [0, 14, 22, 30]  # that it comes to
    seen: Seen = show_saved(deep.explore(layer=30, head=37), layers=layers, width=950)
    frame = seen.root.locator(".bl-atlas .bl-scroll")
    expect(frame).to_have_css("max-height", "860px")
    assert box(frame)["height"] <= 860
    assert is_inside(seen.thumb(30, 37), frame) and not is_inside(seen.thumb(0, 0), frame)
    assert seen.page.evaluate("scrollY") == 0  # the page around stays where it is
    names = frame.locator(".bl-axis")
    for name in ("37", "L30"):
        assert is_inside(names.get_by_text(name, exact=True), frame)
    seen.thumb(30, 37).focus()
    for key, layer in (("PageUp", 22), ("PageUp", 14), ("PageDown", 22), ("Control+Home", 0)):
        seen.page.keyboard.press(key)
        head = 0 if key == "Control+Home" else 37
        seen.title(f"L{layer}·H{head}")
        expect(seen.thumb(layer, head)).to_be_focused()
        assert is_inside(seen.thumb(layer, head), frame)


def test_labels_of_a_model_without_norms_are_whole(show: Any) -> None:
    """Heads of four queries to a key: no norm, hence no strip of norms below the labels."""
    lens = bl.Lens(tiny.FAMILIES["llama, grouped keys"].model(), tiny.wordpiece())
    seen: Seen = show(lens.trace(TEXT).explore(layer=1, head=3), width=950)
    frame = seen.root.locator(".bl-cols")
    labels = frame.locator(".bl-col-label")
    expect(labels.first).to_be_visible()
    top = box(frame)["y"]
    empty = 1.5  # px above letters of 11 px in a line of 14 px
    assert all(box(label)["y"] >= top - empty for label in labels.all())
    assert seen.part("neurons").is_visible()


def test_a_page_of_some_layers_of_a_long_text(show_saved: Any) -> None:
    """Names of small cells keep apart, the pinned one too, and layers that are left out are said to be."""
    lens = bl.Lens(tiny.bert(num_hidden_layers=2, max_position_embeddings=640), tiny.wordpiece())
    view = lens.trace("the cat sat on the mat . " * 80).explore(layer=1, head=0, query=100)
    seen = show_saved(view, layers=[1], width=950)
    names = seen.root.locator(".bl-row-label")
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_count(1)
    places = sorted(box(name)["y"] for name in names.all())
    assert min(b - a for a, b in pairwise(places)) >= 11  # px, the height of a letter
    expect(seen.thumb(0, 0)).to_have_text("–")
    seen.thumb(0, 0).hover()
    expect(seen.tip).to_contain_text("is not in this page")
    expect(seen.root.get_by_text("…", exact=True)).to_have_count(0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [400, 480, 950, 1400])
def test_no_number_on_a_head_is_cut_off(show: Any, embedded_lens: Any, width: int) -> None:
    """Where the room is too small the colour stands alone: "0.011" must not read "0.01"."""
    run = embedded_lens.trace("The cat sat on the mat.").rerun(bl.whatif.off(1, 8))
    seen: Seen = show(run.explore(layer=2, head=3, view=""), width=width)
    numbers = seen.root.locator(".bl-fill")
    expect(numbers).to_have_count(72)
    cut = numbers.evaluate_all(
        """fills => fills.filter((fill) => {
          const text = document.createRange();
          text.selectNodeContents(fill);
          return text.getBoundingClientRect().width > fill.getBoundingClientRect().width + 0.5;
        }).map((fill) => fill.textContent)"""
    )
    assert cut == []
    size = numbers.nth(2 * 12 + 3).evaluate("fill => getComputedStyle(fill).fontSize")
    assert size == ("0px" if width < 500 else "12px")
