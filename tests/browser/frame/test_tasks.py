"""What people come with, each from a view whose selection is not the answer already; clicks: test_abilities.py."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from bertlens.measures import norms
from browser.views import Seen, shown

IT, CAT = 8, 2  # of the pair's tokens
TEXT = "The cat sat on the mat because it was tired."


def captions(seen: Seen) -> list[str]:
    """The value under each thumbnail, in the atlas's order."""
    return seen.root.locator(".bl-thumb-caption b").all_inner_texts()


def ranked(values: np.ndarray) -> list[str]:
    """Heads from the largest value on, of equal ones the lower first."""
    order = np.argsort(-values.ravel(), kind="stable")
    return [f"{n // values.shape[1]}-{n % values.shape[1]}" for n in order]


def cells(trace: Any, norm: bool = False) -> np.ndarray:
    """(L, H) it -> cat of every head."""
    maps = [norms.weighted_norm(trace, layer) if norm else trace.attention(layer) for layer in range(trace.n_layers)]
    return torch.stack(maps)[:, :, IT, CAT].numpy()


def test_which_head_links_it_to_cat(show, pair):
    seen = show(pair.explore())
    values = cells(pair)
    best = ranked(values)[0]
    layer, head = map(int, best.split("-"))
    expect(seen.part("head-title")).not_to_have_text(f"L{layer}·H{head}")
    seen.at_cell(IT, CAT)
    seen.root.get_by_role("button", name="“it” → “cat” in all heads", exact=True).click()
    expect(seen.root.locator("[data-head]").first).to_have_attribute("data-head", best)
    seen.root.locator("[data-head]").first.click()
    seen.title(f"L{layer}·H{head}")
    assert seen.thumbs()[:20] == ranked(values)[:20]
    assert captions(seen)[:20] == [shown(v) for v in sorted(values.ravel(), reverse=True)[:20]]
    assert dict(seen.listed())["cat"] == round(float(values[layer, head]), 3)


@pytest.mark.parametrize("words", [False, True])
def test_the_number_under_the_thumbnail_is_that_of_the_list(show, embedded_lens, words):
    """With pieces merged to words and special tokens hidden it is the same number as in the head view."""
    trace = embedded_lens.trace("Unbelievable cats sleep on unquestionable mats.")
    kept = {"units": "words" if words else "pieces", "hide_special": True, "renormalize": True}
    seen = show(trace.explore(layer=2, head=1, query=1, key=5, settings={"atlas_order": "cell"}, **kept))
    under = seen.thumb(2, 1).locator(".bl-thumb-caption b")
    expect(under).to_have_text(seen.root.locator(".bl-list .bl-bar.bl-pinned .bl-number").inner_text())


def test_statistics_are_of_the_measure_shown(show, pair):
    """[CLS] takes much attention and passes on little."""
    seen = show(pair.explore(settings={"atlas_order": "first"}))
    first = {}
    for measure, label in (("weight", "Weight α"), ("norm", "Norm ‖αf(x)‖")):
        seen.shows(label)
        rows = [norms.weighted_norm(pair, n) if measure == "norm" else pair.attention(n) for n in range(pair.n_layers)]
        values = torch.stack([(r / r.sum(-1, keepdim=True))[:, :, 0].mean(-1) for r in rows]).numpy()
        first[measure] = float(values.max())
        expect(seen.root.locator("[data-head]").first).to_have_attribute("data-head", ranked(values)[0])
        assert captions(seen)[0] == f"{round(100 * first[measure])} %"
    assert first["weight"] > first["norm"] + 0.2
    expect(seen.part("head-sentence")).to_contain_text(re.compile("takes (partly )?from"))
    tag = seen.part("head-sentence").locator(".bl-term")
    expect(tag).to_have_attribute("title", re.compile("by weight[.] .* by norm, mean"))  # the kind, and the sentence


def test_heads_below_a_value_keep_their_place(show, pair):
    seen = show(pair.explore(settings={"atlas_stat": "previous", "atlas_minimum": 0.5}), width=1400)
    seen.part("strip").locator("h3").evaluate(
        "it => { window.heights = new Set(); new ResizeObserver(() => heights.add(it.offsetHeight)).observe(it); }"
    )
    seen.settled()
    expect(seen.part("answer")).to_be_visible()  # above the atlas
    seen.settled()
    before = seen.thumb(0, 5).bounding_box()
    gone = seen.root.locator(".bl-below")
    alpha = [pair.attention(layer) for layer in range(6)]
    previous = torch.stack([a.diagonal(-1, 1, 2).sum(-1) / a.shape[1] for a in alpha])
    limit = 0.5 * float(previous.max())
    expected = [f"{n // 12}-{n % 12}" for n in range(72) if previous.flatten()[n] < limit]
    assert gone.evaluate_all("all => all.map(one => one.dataset.head)") == expected
    expect(gone.first.locator("img")).to_be_hidden()
    seen.finder()
    seen.slide("at least", 0)
    assert seen.thumb(0, 5).bounding_box() == before
    expect(seen.part("strip")).to_contain_text("how the similarity moves", timeout=60_000)
    expect(seen.part("heads-to-come")).to_have_count(0, timeout=60_000)
    assert seen.page.evaluate("heights.size") == 1  # nor do they move while heads are run


def test_token_250_of_400(show, embedded_lens):
    trace = embedded_lens.trace(" ".join(("the cat sat on the mat and looked".split() * 50)[:398]))
    assert trace.n_tokens == 400
    view = trace.explore()
    seen = show(view)
    seen.root.get_by_role("searchbox", name="Find a token").click()
    seen.page.keyboard.type("250")
    seen.page.keyboard.press("Enter")
    label = seen.root.locator(".bl-row-label.bl-pinned")
    expect(label).to_have_attribute("title", f"query 250: {trace.display_tokens[250]}")
    row = trace.attention(view.layer)[view.head, 250]
    listed = [value for _, value in seen.listed() if value > 0]  # the pinned key is listed whatever it gets
    largest = row.sort(descending=True).values.tolist()
    assert listed == pytest.approx(largest[: len(listed)], abs=6e-4)
    assert len(listed) == 8 or largest[len(listed)] < 6e-4  # what reads 0.000 is not listed


def test_finding_by_text_goes_on_to_the_next(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    seen.more()
    box = seen.root.get_by_role("searchbox", name="Find a token")
    places = [n for n, token in enumerate(pair.display_tokens) if token == "the"]
    box.fill("the")
    for n in (*places, places[0]):
        box.press("Enter")
        expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_attribute("title", f"query {n}: the")
    box.press("Shift+Enter")
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_attribute("title", f"query {places[-1]}: the")
    box.fill("dog")
    box.press("Control+Enter")
    expect(seen.root.locator(".bl-col-label.bl-pinned")).to_have_text("dog")
    box.fill("elephant")
    expect(box).to_have_attribute("aria-invalid", "true")


def test_pin_is_scrolled_into_its_frame(show, embedded_lens):
    trace = embedded_lens.trace(" ".join(["the cat sat on the mat"] * 20))
    view = trace.explore(layer=0, head=2, settings={"cell_size": 12})
    seen = show(view)
    box = seen.root.get_by_role("searchbox", name="Find a token")
    box.fill("100")
    box.press("Enter")
    frame = seen.root.locator(".bl-matrix-scroll")
    seen.page.wait_for_function("() => document.querySelector('.bl-matrix-scroll').scrollTop > 0")
    label, frame = seen.root.locator(".bl-row-label.bl-pinned").bounding_box(), frame.bounding_box()
    assert frame["y"] < label["y"] and label["y"] + label["height"] < frame["y"] + frame["height"]


def set_up(seen: Seen) -> None:
    """A state of which nothing is a default."""
    seen.thumb(3, 4).click()
    seen.at_cell(IT, CAT)
    seen.find_heads("cell")
    seen.shows("Norm ‖αf(x)‖")
    seen.choice("head view", "Lines").click()
    seen.open_tab("Gates")
    seen.finder()
    seen.slide("at least", 0.25)
    seen.check("one scale").check()


def state_of(seen: Seen) -> dict[str, Any]:
    seen.title("L3·H4")
    expect(seen.root.locator("[data-head]").first).not_to_have_attribute("data-head", "0-0")
    expect(seen.tab("Gates")).to_have_attribute("aria-selected", "true")
    return {
        "order": seen.thumbs(),
        "below": seen.root.locator(".bl-below").count(),
        "captions": captions(seen),
        "scale": seen.check("one scale").is_checked(),
        "lines": seen.part("lines").count(),
        "pins": seen.part("lines").locator(".bl-pinned").all_inner_texts(),
        "measure": seen.select("shows").input_value(),
    }


def test_state_to_a_colleague_as_python(show, pair):
    seen = show(pair.explore())
    set_up(seen)
    before = state_of(seen)
    line = seen.copied("Copy as Python").splitlines()[-1]
    assert line.startswith('trace.explore(layer=3, head=4, query=8, key=2, measure="norm", mode="lines"')
    assert state_of(show(eval(line, {"trace": pair}))) == before


def test_state_to_a_colleague_as_a_link(show_saved, pair):
    seen = show_saved(pair.explore())
    set_up(seen)
    before = state_of(seen)
    link = seen.copied("Copy a link to this state")
    assert "#bertlens=" in link
    seen.thumb(0, 0).click()
    seen.open_tab("Table")
    seen.page.goto(link)  # pasted over the same page
    assert state_of(Seen(seen.page)) == before
    seen.page.reload()
    assert state_of(Seen(seen.page)) == before


@pytest.mark.parametrize(
    "hash", ["nonsense", "%7B%22layer%22%3A99%2C%22mode%22%3A7%2C%22thresholds%22%3A%22x%22%7D", "%"]
)
def test_link_that_is_broken_changes_nothing(show_saved, pair, hash):
    seen = show_saved(pair.explore(layer=1, head=8))
    seen.page.goto(seen.page.url + "#bertlens=" + hash)
    seen.page.reload()
    seen = Seen(seen.page)
    expect(seen.part("matrix")).to_be_visible()
    assert seen.part("head-title").inner_text().startswith("L1·H8")


def test_hover_asks_nobody_and_one_query_is_asked_once(show, embedded_lens):
    """The kernel answers for a query's rows once; another key of it, hover and order are the page's."""
    seen = show(embedded_lens.trace(TEXT).explore())
    expect(seen.part("link")).to_have_text("kernel live")
    seen.at_cell(8, 2)
    seen.find_heads("cell")
    expect(seen.part("asked-heads")).to_have_text("look at “cat” from “it”")
    seen.at_cell(8, 3)
    expect(seen.part("asked-heads")).to_have_text("look at “sat” from “it”")
    seen.find_heads("row")
    expect(seen.part("asked-heads")).to_have_text("are sharp at “it”")
    for n in range(5):
        seen.at_cell(n, n, "hover")
    asked = seen.page.evaluate("() => models[0].sent.map(({ op }) => op)")
    assert (asked.count("rows"), asked.count("head")) == (1, 0)
