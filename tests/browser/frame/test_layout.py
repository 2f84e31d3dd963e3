"""Where the Explorer's parts stand on a pair of short sentences, at the widths of notebooks, and what must not move."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.views import Seen

pytestmark = pytest.mark.usefixtures("neurons_open")

WIDE = 974  # px of the window: 950 of the Explorer, JupyterLab's output in a window of 1400


def box(seen: Seen, selector: str) -> dict[str, float]:
    """A part's place in the Explorer, in px: x, y, width, height."""
    placed: dict[str, float] = seen.root.evaluate(
        """(root, selector) => {
            const [frame, box] = [root, root.querySelector(selector)].map((one) => one.getBoundingClientRect());
            const { width, height } = box;
            return { x: box.x - frame.x, y: box.y - frame.y, width, height };
        }""",
        selector,
    )
    return placed


def opened(show, trace, width: int, **start) -> Seen:
    seen = show(trace.explore(layer=1, head=8, query=3, key=4, **start), width=width, height=1000)
    expect(seen.part("neurons")).to_be_visible()
    seen.thumb(1, 8).click(click_count=2)  # the line for beginners is gone
    expect(seen.part("start")).to_have_count(0)
    seen.away()
    return seen


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_at_950_px_all_is_large_enough_and_near(show, pair, theme):
    seen = opened(show, pair, WIDE, theme=theme)
    assert seen.root.bounding_box()["width"] == 950
    thumb = box(seen, ".bl-thumb")
    assert thumb["width"] >= 40 and thumb["height"] >= 40
    assert box(seen, ".bl-asking")["y"] <= 740
    steps = box(seen, "[data-testid=steps]")["height"]  # of Present, in place
    assert steps <= 320 and seen.root.bounding_box()["height"] - steps <= 1320
    atlas, head = box(seen, ".bl-atlas"), box(seen, ".bl-head")
    assert atlas["y"] == head["y"] and head["x"] >= atlas["x"] + atlas["width"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [1400, 1000, WIDE, 768, 600, 480])
def test_no_width_scrolls_sideways_or_cuts_the_last_label(show, pair, width):
    seen = opened(show, pair, width)
    assert seen.page.evaluate("() => document.documentElement.scrollWidth") <= width
    scroll = seen.root.locator(".bl-matrix-scroll")
    assert scroll.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    right = scroll.bounding_box()["x"] + scroll.bounding_box()["width"]
    last = seen.root.locator(".bl-col-label").last
    expect(last).to_have_text("[SEP]")
    assert last.bounding_box()["x"] + last.bounding_box()["width"] <= right
    beside = 28 if width == 1400 else 40  # where an answer stands beside the picture
    assert box(seen, ".bl-thumb")["width"] >= (beside if width >= 600 else 24)
    assert all(one["width"] > 0 for one in [box(seen, ".bl-cells"), box(seen, ".bl-list")])


def test_thumbnails_are_free_of_letters(show, pair):
    """Gates are said on hover and by the menu, and shown when heads stand in the order of their gates."""
    seen = opened(show, pair, WIDE)
    assert seen.thumb(1, 8).inner_text() == ""
    seen.thumb(1, 8).hover()
    expect(seen.tip).to_contain_text("forward contextual at 21 tokens")
    seen.find_heads("gate")
    expect(seen.part("asked-heads")).to_have_text("are of the same kind, in groups")
    expect(seen.thumb(1, 8)).to_have_text("L1·H8F▸")


def test_nothing_moves_when_measure_selection_and_tab_change(show, pair):
    seen = opened(show, pair, WIDE)

    def places() -> dict[str, tuple[float, ...]]:
        parts = (".bl-cells", ".bl-list", ".bl-atlas", ".bl-grid", ".bl-words", ".bl-asking", ".bl-bottom")
        return {part: tuple(round(box(seen, part)[side], 1) for side in "xy") for part in parts}

    before = places()
    for measure in ("Norm ‖αf(x)‖", "Difference", "Weight α"):
        seen.shows(measure)
        expect(seen.select("shows").locator("option:checked")).to_have_text(measure)
        seen.away()
        seen.settled()
        assert places() == before, measure
    for layer, head in ((0, 0), (3, 11), (5, 1), (1, 8)):
        seen.thumb(layer, head).click()
        seen.title(f"L{layer}·H{head}")
        assert places() == before, (layer, head)
    seen.at_cell(3, 4)  # takes the pin out
    expect(seen.part("row-list")).to_contain_text("on average, words look at")
    assert places() == before
    for tab in ("Weight against norm", "Gates", "Geometry", "Table", "Does it matter?", "Why", "Neurons"):
        seen.open_tab(tab)
        assert places() == before, tab
    for name in ("attn-n", "attnresln-n", "rollout"):
        seen.shows(name)
        expect(seen.part("head-title")).to_contain_text("L1 ")
        assert {**places(), ".bl-grid": 0} == {**before, ".bl-grid": 0}, name


@pytest.mark.parametrize("width", [1400, WIDE])
def test_lines_leave_the_questions_near_their_place(show, pair, width):
    seen = show(pair.explore(layer=1, head=8, query=3, key=4, view=""), width=width, height=1000)
    seen.choice("head view", "Matrix").click(click_count=2)  # the line for beginners is gone
    expect(seen.part("start")).to_have_count(0)
    place = box(seen, ".bl-asking")["y"]
    seen.choice("head view", "Lines").click()
    expect(seen.queries()).to_have_count(21)
    assert abs(box(seen, ".bl-asking")["y"] - place) <= 80  # rows of 20 px took 216 px


def test_sorting_leaves_its_controls_where_they_are(show, pair):
    seen = opened(show, pair, WIDE)
    place = box(seen, ".bl-finder")
    seen.find_heads("entropy")
    expect(seen.thumb(1, 8)).to_contain_text("L1·H8")
    after = box(seen, ".bl-finder")
    assert (after["x"], after["y"]) == (place["x"], place["y"])
    seen.page.set_viewport_size({"width": 480, "height": 1000})
    captions = seen.root.locator(".bl-thumb-caption")
    expect(captions).to_have_count(72)
    assert not captions.evaluate_all("all => all.filter((one) => one.scrollWidth > one.clientWidth).length")


def test_labels_take_the_room_that_they_need_and_stay_apart(show, embedded_lens):
    trace = embedded_lens.trace("internationalization of telecommunications " * 6)
    seen = show(trace.explore(units="words"), width=1400)
    for label in seen.root.locator(".bl-row-label").all():
        assert label.evaluate("one => one.scrollWidth <= one.clientWidth")
    longer = show(embedded_lens.trace("the cat sat on the mat and the dog lay " * 6).explore(), width=WIDE)
    longer.select("cells").select_option("20")
    longer.root.locator(".bl-matrix-scroll").evaluate("one => one.scrollTo(120, 200)")
    clear = """one => {
        scrollBy(0, one.getBoundingClientRect().y - 100);
        const { x, y, width } = one.getBoundingClientRect();
        return document.elementsFromPoint(x + width / 2, y + 8)[0] === one;
    }"""
    assert longer.root.locator(".bl-corner").evaluate(clear)  # no label of a row or a column runs over it


@pytest.mark.parametrize("width", [WIDE, 480])
def test_every_column_of_short_sentences_has_its_label_and_none_touches_the_next(show, pair, width):
    seen = opened(show, pair, width)
    assert seen.col_labels() == pair.display_tokens == seen.row_labels()
    apart, ink = seen.root.evaluate(
        """root => {
            const labels = [...root.querySelectorAll(".bl-col-label")];
            const { transform, fontFamily } = getComputedStyle(labels[0]);
            const [, sine] = transform.match(/[-.0-9]+/g).map(Number);
            const ruler = document.createElement("canvas").getContext("2d");
            ruler.font = `110px ${fontFamily}`;  // ten times as large: small letters are told in whole pixels
            const ink = labels.map((one) => ruler.measureText(one.textContent));
            const left = labels.map((one) => parseFloat(one.style.left));
            const pairs = labels.slice(1).map((_, n) => n);
            return [
                pairs.map((n) => Math.abs(sine) * (left[n + 1] - left[n])),
                pairs.map((n) => (ink[n].actualBoundingBoxDescent + ink[n + 1].actualBoundingBoxAscent) / 10),
            ];
        }"""
    )
    assert all(distance >= height for distance, height in zip(apart, ink, strict=True)), (apart, ink)


def test_boundary_of_sentences_is_one_plain_line(show, pair):
    seen = opened(show, pair, WIDE)
    for side, other in (("row", "width"), ("col", "height")):
        marks = seen.root.locator(f".bl-mark-pair-{side}")
        expect(marks).to_have_count(1)
        borders = marks.evaluate(
            "one => ['Top', 'Right', 'Bottom', 'Left'].map(s => getComputedStyle(one)[`border${s}Width`])"
        )
        assert sorted(borders) == ["0px", "0px", "0px", "1px"]
        assert marks.evaluate("one => getComputedStyle(one).boxShadow") == "none"
        assert marks.bounding_box()[other] == pytest.approx(box(seen, ".bl-cells")[other], abs=1)


def test_pinned_key_is_in_the_list_though_it_is_small(show, pair):
    least = int(pair.attention(1)[8, 3].argmin())
    seen = show(pair.explore(layer=1, head=8, query=3, key=least), width=WIDE)
    expect(seen.part("row-list").locator(".bl-pinned")).to_have_count(1)
    expect(seen.part("row-list").locator(".bl-pinned .bl-token")).to_have_text(pair.display_tokens[least])
    expect(seen.part("row-list").locator("li")).to_have_count(6)
    expect(seen.part("row-list")).to_contain_text("15 others")


def test_words_that_come_again_carry_their_place(show, pair):
    seen = opened(show, pair, WIDE)
    on = seen.part("row-list").locator(".bl-pinned .bl-place")
    expect(on.locator("sub")).to_have_attribute("data-n", "4")
    sat = seen.part("row-list").locator("li", has_text="sat")
    expect(sat.locator("sub")).to_have_count(0)
    assert seen.part("neurons").locator(".bl-neuron-tokens sub").evaluate_all(
        "all => all.map(one => one.dataset.n)"
    ) == [
        str(n) for n in sorted(map(int, seen.numbers("alpha"))) if pair.display_tokens.count(pair.display_tokens[n]) > 1
    ]
