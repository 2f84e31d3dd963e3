"""By keyboard and by screen reader, as a table, and the switches that BertViz lacks."""

from __future__ import annotations

import re
from itertools import product

import pytest
from playwright.sync_api import expect

import bertlens as bl
from browser.views import Seen, shown

pytestmark = pytest.mark.usefixtures("neurons_open")


def focus_is(seen: Seen, locator) -> None:
    expect(locator).to_be_focused()


# Atlas


def test_arrows_move_through_the_atlas(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    seen.thumb(1, 8).focus()
    for key, (layer, head) in [
        ("ArrowRight", (1, 9)),
        ("ArrowDown", (2, 9)),
        ("ArrowLeft", (2, 8)),
        ("ArrowUp", (1, 8)),
        ("Home", (1, 0)),
        ("End", (1, 11)),
        ("Control+End", (5, 11)),
        ("Control+Home", (0, 0)),
    ]:
        seen.page.keyboard.press(key)
        seen.title(f"L{layer}·H{head}")
        focus_is(seen, seen.thumb(layer, head))
    seen.page.keyboard.press("ArrowUp")  # the edge
    seen.title("L0·H0")


def test_atlas_is_one_tab_stop_that_shows_its_focus(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    stops = seen.root.locator("[data-head][tabindex='0']")
    expect(stops).to_have_count(1)
    assert stops.get_attribute("data-head") == "1-8"
    seen.page.keyboard.press("Tab")
    seen.thumb(1, 8).focus()
    style = seen.thumb(1, 8).evaluate(
        "e => { const s = getComputedStyle(e); return [s.outlineStyle, s.outlineWidth]; }"
    )
    assert style[0] != "none" and style[1] != "0px"


def test_atlas_is_a_named_grid(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    grid = seen.root.get_by_role("grid", name="6 layers by 12 heads")
    expect(grid).to_have_attribute("aria-rowcount", "6")
    expect(grid).to_have_attribute("aria-colcount", "12")
    expect(grid.get_by_role("gridcell").filter(has=seen.page.locator("[data-head]"))).to_have_count(72)
    name = seen.thumb(0, 2).get_attribute("aria-label")
    assert name and re.match(r"L0·H2 looks at the previous word \(\d+ %\).*, paper: 1-3$", name)


# Matrix


def test_arrows_move_the_cursor_and_the_live_region_says_the_cell(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    attention = pair.attention(1)[8]
    tokens = pair.display_tokens
    seen.part("matrix").focus()
    row = col = 0
    steps = {
        "ArrowDown": lambda r, c: (r + 1, c),
        "ArrowRight": lambda r, c: (r, c + 1),
        "ArrowUp": lambda r, c: (r - 1, c),
        "ArrowLeft": lambda r, c: (r, c - 1),
        "End": lambda r, c: (r, 20),
        "Home": lambda r, c: (r, 0),
        "Control+End": lambda r, c: (20, 20),
        "Control+Home": lambda r, c: (0, 0),
    }
    for key in (
        ["ArrowDown"] * 4
        + ["ArrowRight"] * 5
        + ["ArrowUp", "ArrowLeft", "End", "Home"]
        + [
            "Control+End",
            "Control+Home",
        ]
    ):
        seen.page.keyboard.press(key)
        row, col = steps[key](row, col)
        value = shown(float(attention[row, col]))
        expect(seen.said).to_have_text(f"query {tokens[row]} → key {tokens[col]}: {value}, L1·H8")
    cursor = seen.root.locator(".bl-mark-cursor")
    expect(cursor).to_be_visible()
    seen.page.keyboard.press("ArrowUp")  # the edge
    expect(seen.said).to_have_text(re.compile(r"^query \[CLS\] → key \[CLS\]"))


def test_matrix_is_a_grid_with_rows(show, pair):
    """The cell at the cursor is there as a row with its header, and is what has the focus."""
    seen = show(pair.explore(layer=1, head=8))
    seen.part("matrix").focus()
    for key in ["ArrowDown"] * 3 + ["ArrowRight"] * 4:
        seen.page.keyboard.press(key)
    row = seen.part("matrix").get_by_role("row")
    expect(row).to_have_attribute("aria-rowindex", "4")
    expect(row.get_by_role("rowheader")).to_have_text("sat")
    cell = row.get_by_role("gridcell")
    expect(cell).to_have_attribute("aria-colindex", "5")
    expect(cell).to_have_text(f"query sat → key on: {shown(float(pair.attention(1)[8, 3, 4]))}, L1·H8")
    assert seen.part("matrix").get_attribute("aria-activedescendant") == cell.get_attribute("id")


def test_arrows_lead_from_tab_to_tab(show, pair):
    """Among the questions, and among the other tabs: two lists, each one stop of the Tab key."""
    seen = show(pair.explore(layer=1, head=8))
    ways = (
        ("Neurons", [("ArrowRight", "Why"), ("End", "Does it matter?"), ("Home", "Neurons")]),
        ("Weight against norm", [("End", "Table"), ("ArrowLeft", "Geometry"), ("Home", "Weight against norm")]),
    )
    for start, steps in ways:
        seen.tab(start).focus()
        for key, name in steps:
            seen.page.keyboard.press(key)
            focus_is(seen, seen.tab(name))
            expect(seen.tab(name)).to_have_attribute("aria-selected", "true")
            expect(seen.root.get_by_role("tabpanel")).to_be_visible()
        expect(seen.root.locator("[role=tab][tabindex='0']")).to_have_count(2)


def test_a_second_click_on_a_question_closes_it(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    panel = seen.root.get_by_role("tabpanel")
    expect(panel).to_be_visible()
    seen.tab("Neurons").click()
    expect(panel).to_have_count(0)
    seen.tab("Neurons").click()
    expect(panel).to_be_visible()


def test_lines_are_one_tab_stop_and_arrows_lead_through_them(show, pair):
    seen = show(pair.explore(layer=1, head=8, mode="lines"))
    expect(seen.root.locator(".bl-line-token[tabindex='0']")).to_have_count(1)
    seen.queries().first.focus()
    for key, side, n in (
        ("ArrowDown", "queries", 1),
        ("ArrowDown", "queries", 2),
        ("ArrowRight", "keys", 2),
        ("ArrowDown", "keys", 3),
        ("ArrowLeft", "queries", 3),
        ("Control+End", "keys", 20),
    ):
        seen.page.keyboard.press(key)
        focus_is(seen, getattr(seen, side)().nth(n))
    expect(seen.root.locator(".bl-line-token[tabindex='0']")).to_have_count(1)
    seen.page.keyboard.press("ArrowLeft")
    seen.page.keyboard.press("Enter")
    expect(seen.queries().nth(20)).to_have_attribute("aria-pressed", "true")


def test_enter_pins_and_escape_unpins(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    seen.part("matrix").focus()
    for key in ["ArrowDown"] * 3 + ["ArrowRight"] * 4:
        seen.page.keyboard.press(key)
    seen.page.keyboard.press("Enter")
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_text("sat")
    expect(seen.part("formula")).to_contain_text("sat → on")
    seen.page.keyboard.press("Escape")
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_count(0)
    focus_is(seen, seen.part("matrix"))


def test_matrix_is_a_named_grid(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    matrix = seen.part("matrix")
    expect(matrix).to_have_role("grid")
    name = matrix.get_attribute("aria-label") or ""
    assert "L1·H8" in name and "21 queries by 21 keys" in name and "Arrow keys move" in name
    assert seen.shape() == (21, 21)


def test_keyboard_alone_reaches_every_part_in_reading_order(show, pair):
    seen = show(pair.explore(layer=1, head=8), height=2000)
    seen.page.locator("body").focus()
    places = []
    for _ in range(120):
        seen.page.keyboard.press("Tab")
        place = seen.page.evaluate(
            """() => {
                const e = document.activeElement;
                if (!e || e === document.body) return null;
                const box = e.getBoundingClientRect();
                const part = e.dataset.testid === "matrix" ? "matrix" : e.closest("[role=grid]") ? "atlas"
                    : e.closest("[data-testid=row-list]") ? "list" : e.closest("[data-testid=neurons]") ? "neurons"
                    : e.closest(".bl-header") ? "header" : e.closest(".bl-atlas") ? "atlas controls" : "other";
                const style = getComputedStyle(e);
                const hasCaret = e.matches("input[type=text], textarea");
                return [part, hasCaret || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0)];
            }"""
        )
        if place is None:
            break
        places.append(place)
    assert all(visible for _, visible in places)
    order = list(dict.fromkeys(part for part, _ in places if part != "other"))
    assert order == ["header", "atlas controls", "atlas", "matrix", "list", "neurons"]


# Roles, names, sizes, motion


@pytest.mark.parametrize("mode", ["matrix", "lines"])
def test_everything_that_acts_has_a_name_and_a_size(show, pair, mode):
    """Names for all controls; targets at least 24 px but for dense lists, whose items arrow keys or the table reach."""
    seen = show(pair.explore(layer=1, head=8, mode=mode, query=3))
    found = seen.root.evaluate(
        """root => [...root.querySelectorAll("button, select, input, summary, [role=grid]")]
            .filter(e => e.checkVisibility()).map(e => {
                const labels = e.labels ? [...e.labels].map(l => l.textContent).join(" ") : "";
                const name = e.getAttribute("aria-label") || labels || e.textContent || e.title;
                const { width, height } = (e.closest("label") ?? e).getBoundingClientRect();
                return [e.className || e.outerHTML.slice(0, 60), name.trim(), Math.min(width, height)];
            })"""
    )
    assert [label for label, name, _ in found if not name] == []
    small = {label for label, _, size in found if size < 23.9}
    assert all(re.match("bl-(row-label|col-label|line-token|neuron-token|bar)", label) for label in small), small


def test_canvases_are_named_or_hidden_from_readers(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    seen.settled()
    bare = seen.root.locator("canvas").evaluate_all(
        "all => all.filter(c => !c.ariaLabel && c.ariaHidden !== 'true' && !c.closest('[role=grid], button')).length"
    )
    assert bare == 0


def test_live_region_is_polite_and_hover_does_not_speak(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    seen.at_cell(5, 5, "hover")
    expect(seen.tip).to_be_visible()
    assert seen.said.inner_text() == ""
    expect(seen.part("link")).to_have_role("status")


def test_text_stands_out_from_its_ground(show, pair):
    """Contrast of 4.5 : 1 for text, in both themes."""
    for theme, mode in product(("light", "dark"), ("matrix", "lines")):
        seen = show(pair.explore(layer=1, head=8, query=3, theme=theme, mode=mode))
        weak = seen.root.evaluate(
            """root => {
                const parse = c => (c.match(/[\\d.]+/g) ?? []).map(Number).map((v, n) =>
                    c.startsWith("color(srgb") && n < 3 ? 255 * v : v);
                const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
                const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
                const ground = e => {
                    for (; e; e = e.parentElement) {
                        const color = parse(getComputedStyle(e).backgroundColor);
                        if (color.length === 3 || color[3] > 0.9) return color;
                    }
                    return [255, 255, 255];
                };
                const weak = [];
                const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
                while (walker.nextNode()) {
                    const e = walker.currentNode.parentElement;
                    if (!walker.currentNode.textContent.trim() || !e.checkVisibility()) continue;
                    if (e.closest("button:disabled, option")) continue;
                    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
                    const ratio = (a + 0.05) / (b + 0.05);
                    if (ratio < 4.5) weak.push([e.className, e.textContent.slice(0, 30), ratio]);
                }
                return weak;
            }"""
        )
        assert weak == [], (theme, mode)


# Table


def test_table_of_the_largest_weights_and_of_the_pinned_row(show, pair):
    seen = show(pair.explore(layer=1, head=8, view="table"))
    table = seen.part("table")
    expect(table).to_contain_text("the 100 largest of 441 cells")
    assert table.get_by_role("columnheader").all_inner_texts() == ["query", "key", "score", "α"]
    expect(table.locator("caption")).to_have_text("L1·H8: largest weights")
    weights = [float(text) for text in table.locator("tbody td:last-child").all_inner_texts()]
    top = pair.attention(1)[8].flatten().sort(descending=True).values[:100]
    assert weights == pytest.approx(top.tolist(), abs=5.1e-4)
    seen.at_cell(3, 4)
    expect(table.locator("h3")).to_have_text("L1·H8: the pinned query")
    expect(table.locator("tbody tr")).to_have_count(21)


def test_table_is_copied_with_full_numbers(show, pair):
    seen = show(pair.explore(layer=1, head=8, query=3, view="table"))
    copy = seen.part("table").get_by_role("button", name="Copy")
    lines = [line.split("\t") for line in seen.copied(copy.click).split("\n")]
    expect(seen.part("table").get_by_role("status")).to_have_text("copied")
    assert lines[0] == ["query", "query_index", "key", "key_index", "score", "attention"]
    assert len(lines) == 22
    for query, i, key, j, score, weight in lines[1:]:
        assert (query, i, key) == ("sat", "3", pair.display_tokens[int(j)])
        assert float(weight) == pytest.approx(float(pair.attention(1)[8, 3, int(j)]), abs=1e-6)
        assert float(score) == pytest.approx(float(pair.scores(1)[8, 3, int(j)]), abs=1e-5)


# Words and special tokens


def test_pin_of_a_word_survives_the_switch_to_pieces(show, embedded_lens):
    trace = embedded_lens.trace("unaffable splendour")
    seen = show(trace.explore(layer=1, head=8, units="words"))
    seen.at_cell(1, 2)
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_text("unaffable")
    seen.choice("tokens", "Pieces").click()
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_text(trace.display_tokens[1])


def test_nothing_left_to_show_names_the_way_back(show, embedded_lens):
    trace = bl.Trace.from_attentions([[[[0.5, 0.5], [0.5, 0.5]]]], ["[CLS]", "[SEP]"])
    seen = show(trace.explore())
    seen.check("hide [CLS], [SEP]").check()
    expect(seen.region("Head view")).to_contain_text("No tokens are left to show: undo “hide [CLS], [SEP]”")


def test_pinned_score_in_words_is_not_made_up(show, embedded_lens):
    """A merged word has a weight, but no score of its own."""
    trace = embedded_lens.trace("unaffable splendour")
    seen = show(trace.explore(layer=1, head=8, units="words", view="table"))
    seen.settled()
    assert seen.part("table").get_by_role("columnheader").all_inner_texts() == ["query", "key", "α"]


def test_input_report_is_shown(show, embedded_lens):
    seen = show(embedded_lens.trace("a [SEP] b \U0001f9a9").explore())
    report = seen.root.get_by_role("list", name="What the tokenizer did")
    expect(report).to_contain_text("special token from your text")
    expect(report).to_contain_text("1 unknown")
    report.get_by_text("special token from your text").click()
    expect(report).to_contain_text("[SEP] at 2: read as special tokens, counted as text.")
