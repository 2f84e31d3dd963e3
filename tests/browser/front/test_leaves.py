"""Leaves: what is asked of a weight opens between sentence and claim, in few lines whose numbers are the model's."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

import bertlens as bl
from bertlens import whatif
from browser.views import Seen

TEXT = "The cat did not drink the milk because the [MASK] was tired."
MASK, CAT = 10, 2
WIDTH, TALLEST, LEAF = 938, 870, 240  # px: of the view, of the view with a leaf, of a leaf


@pytest.fixture
def seen(show: Callable[..., Seen], language_model: bl.Lens) -> Seen:
    view = language_model.trace(TEXT).explore(layer=5, head=7, query=MASK)
    seen = show(view, folded=True, width=WIDTH + 24, height=900)
    expect(seen.part("strip").locator("[data-strip-head]").first).to_be_visible(timeout=60_000)
    expect(seen.part("heads-to-come")).to_have_count(0, timeout=60_000)
    expect(seen.part("strip").locator("h3")).not_to_contain_text("≈", timeout=60_000)
    return seen


def number(seen: Seen) -> Locator:
    return seen.root.locator(".bl-weight").first


def ask(seen: Seen, name: str) -> Locator:
    seen.part("leaf").get_by_role("tab", name=name).click()
    return seen.part("leaf")


def said(text: str, what: str = "") -> list[float]:
    return [float(one.replace("−", "-")) for one in re.findall(rf"{what}([−-]?\d+\.\d{{3}})", text)]


def test_three_questions_in_three_clicks_between_the_sentence_and_its_claim(seen: Seen) -> None:
    below = seen.part("claim").bounding_box()
    assert below is not None
    number(seen).click()
    ramps = seen.part("leaf").locator(".bl-legend").evaluate_all("all => all.map((one) => one.offsetHeight)")
    assert ramps and max(ramps) < 22, ramps  # both ends in one line
    wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"
    assert seen.part("leaf").locator(".bl-steps li").evaluate_all(wide) == []
    for name in ("How is it computed", "Why does it look there", "Does it matter"):
        leaf = ask(seen, name) if not name.startswith("How") else seen.part("leaf")
        expect(leaf.get_by_role("tab", selected=True)).to_have_text(re.compile(f"^{name}"))
        expect(leaf.locator(".bl-leaf-body .bl-number").first).to_be_visible()
        boxes = [seen.part(part).bounding_box() for part in ("sentence", "leaf", "claim")]
        tops = [box["y"] for box in boxes if box]
        assert tops == sorted(tops) and len(tops) == 3
        assert boxes[1] and boxes[1]["height"] <= LEAF, (name, boxes[1])
        assert abs(boxes[1]["x"] - below["x"]) < 1  # one left edge
        assert seen.page.evaluate("scrollY") == 0
        view = seen.root.bounding_box()
        assert view and view["height"] <= TALLEST, (name, view["height"])


def test_why_adds_up_as_it_is_printed_to_the_models_own_score(seen: Seen, language_model: bl.Lens) -> None:
    number(seen).click()
    ask(seen, "Why")
    lines = seen.part("leaf-lines").locator("li")
    expect(lines.last).to_contain_text("together")
    values = [said(line)[0] for line in lines.locator(".bl-number").all_inner_texts()]
    assert round(sum(values[:-1]), 3) == values[-1]
    scores = language_model.trace(TEXT).scores(5)[7, MASK].double()
    others = [float(scores[j]) for j in range(len(scores)) if j != CAT]
    assert abs(values[-1] - (float(scores[CAT]) - sum(others) / len(others))) < 2e-3
    assert said(seen.part("leaf-says").inner_text(), "scores ") == [values[-1]]


def test_it_matters_as_the_runs_without_it_say_and_as_the_claim_says(seen: Seen, language_model: bl.Lens) -> None:
    trace = language_model.trace(TEXT)
    word = language_model.tokenizer.convert_tokens_to_ids("cat")

    def chance(*changes: object) -> float:
        run = trace.rerun(*changes) if changes else trace
        return float(run.output.logits[0, MASK].double().softmax(-1)[word])

    number(seen).click()
    leaf = ask(seen, "Does it matter")
    expect(leaf).to_contain_text("largest of 72 heads run")
    runs = [chance(), chance(whatif.off(5, 7)), chance(), chance(whatif.cut(5, 7, MASK, CAT))]
    for value, run in zip(said(seen.part("leaf-says").inner_text()), runs, strict=True):
        assert abs(value - run) < 1e-3
    claim = [float(one) for one in re.findall(r"from (\d\.\d\d) to (\d\.\d\d)", seen.part("claim").inner_text())[0]]
    assert claim == [round(run, 2) for run in runs[:2]]
    sizes = [abs(chance(whatif.off(layer, head)) - runs[0]) for layer in range(6) for head in range(12)]
    place = 1 + sum(size > sizes[5 * 12 + 7] for size in sizes)
    assert place == 1 and leaf.locator(".bl-leaf-ticks i").count() == len(sizes)


@pytest.mark.parametrize("close", ["Escape", "number", "close", "question"])
def test_closing_gives_the_focus_back_to_the_number(seen: Seen, close: str) -> None:
    number(seen).focus()
    seen.page.keyboard.press("Enter")
    expect(number(seen)).to_have_attribute("aria-expanded", "true")
    expect(seen.root.locator("[aria-live=polite]").last).to_contain_text("Escape closes it")
    ask(seen, "Why")
    if close == "Escape":
        seen.page.keyboard.press("Escape")
    elif close == "number":
        number(seen).click()
    elif close == "close":
        seen.part("leaf").get_by_role("button", name="close").click()
    else:
        ask(seen, "Why")
    expect(seen.part("leaf")).to_have_count(0)
    expect(number(seen)).to_be_focused()
    expect(number(seen)).to_have_attribute("aria-expanded", "false")


def test_all_heads_stand_under_their_tile_and_the_whole_of_them_below(seen: Seen, language_model: bl.Lens) -> None:
    bars, slider = seen.part("answer"), seen.part("loudness")
    places = [part.bounding_box() for part in (bars, slider)]
    seen.root.locator(".bl-open-heads").click()
    leaf = seen.part("heads-leaf")
    expect(leaf.locator("[data-head]")).to_have_count(72)
    expect(leaf.get_by_role("tablist", name="More")).to_contain_text("Geometry")
    view = seen.root.bounding_box()
    assert view and view["height"] <= TALLEST, view
    assert [part.bounding_box() for part in (bars, slider)] == places  # nothing above it moved
    weights = language_model.trace(TEXT).attention(5)[7, MASK]
    rows = leaf.get_by_test_id("row-list").locator("li .bl-number").all_inner_texts()
    assert rows == [f"{value:.3f}" for value in sorted(weights.tolist(), reverse=True)[: len(rows)]]
    leaf.locator("[data-head='0-2']").click()
    expect(seen.part("claim")).to_contain_text("L0·H2")
    seen.page.keyboard.press("Escape")
    expect(leaf).to_have_count(0)
    expect(seen.root.locator(".bl-open-heads")).to_be_focused()
    seen.page.keyboard.press("Enter")
    seen.root.get_by_role("button", name="all heads in full").focus()
    seen.page.keyboard.press("Enter")
    expect(seen.root.locator(".bl-atlas")).to_be_visible()
    expect(leaf).to_have_count(0)
    expect(seen.root.locator(".bl-open-heads")).to_be_focused()


def test_the_whole_of_each_answer_is_two_clicks_from_its_number(seen: Seen) -> None:
    for name, part in (("how", "neurons"), ("why", "why"), ("matter", "matter")):
        number(seen).click()
        seen.part("leaf").get_by_role("button", name=f"In full: {name}").click()
        expect(seen.part(part)).to_be_visible()
        expect(seen.part("leaf")).to_have_count(0)
        expect(seen.root.get_by_role("tab", selected=True)).to_be_focused()
        seen.root.locator(".bl-open-heads").click()
