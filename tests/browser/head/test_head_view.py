"""The head view, row by row of BertViz's: selectors, several heads, hover, pins. Lines first, then what a matrix adds.

Expected numbers come from the trace; tests/browser/head/test_numbers.py holds the trace's own against an eager model.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors
from browser.views import Seen, shown

LINES = {"layer": 1, "head": 8, "mode": "lines"}


def lines_from(trace, heads, minimum=0.02):
    """How many weights of these heads reach the threshold."""
    return sum(int((trace.attention(layer)[head] >= minimum).sum()) for layer, head in heads)


def caption(seen: Seen) -> str:
    return seen.part("lines").locator("canvas").first.get_attribute("aria-label") or ""


def hues(image: np.ndarray) -> set[str]:
    """The categorical head colours (light theme) that a canvas holds; where lines cross, colours mix and count not."""
    palette = np.array([colors.rgb(color) for color in colors.HEADS["light"]], dtype=float)
    strong = image[image[..., 3] > 60][:, :3].astype(float)
    distance = np.linalg.norm(strong[:, None] - palette[None], axis=-1)
    nearest = distance.argmin(axis=1)[distance.min(axis=1) < 20]
    return {colors.HEADS["light"][n] for n, pixels in enumerate(np.bincount(nearest, minlength=8)) if pixels > 40}


def test_start_state_by_argument(show, pair):
    view = bl.HeadView(
        pair,
        layer=3,
        head=2,
        heads=[[3, 5]],
        query=4,
        key=6,
        mode="lines",
        pair_filter="AA",
        hide_special=True,
        renormalize=True,
        theme="dark",
    )
    seen = show(view)
    seen.title("L3·H2")
    expect(seen.chips()).to_have_text([re.compile("L3·H2"), re.compile("L3·H5")])
    expect(seen.queries().and_(seen.root.locator("[aria-pressed=true]"))).to_have_text("on")
    expect(seen.keys().and_(seen.root.locator("[aria-pressed=true]"))).to_have_text(re.compile("mat"))
    expect(seen.choice("pairs", "A→A")).to_have_attribute("aria-pressed", "true")
    expect(seen.check("hide [CLS], [SEP]")).to_be_checked()
    expect(seen.check("renormalise rows")).to_be_checked()
    expect(seen.root).to_have_attribute("data-theme", "dark")


def test_include_layers_and_heads_limit_the_selectors(show, pair):
    seen = show(bl.HeadView(pair, include_layers=[2, 4], include_heads=[1, 3], mode="lines"))
    seen.title("L2·H1")
    assert seen.select("layer").locator("option").all_inner_texts() == ["2", "4"]
    assert seen.select("head").locator("option").all_inner_texts() == ["1", "3"]
    seen.root.get_by_role("button", name="all heads of L2").click()
    expect(seen.chips()).to_have_text([re.compile("L2·H1"), re.compile("L2·H3")])


def test_one_line_per_weight_and_opacity_is_the_weight(show, pair):
    seen = show(bl.HeadView(pair, **LINES))
    canvas = seen.part("lines").locator("canvas").first
    assert caption(seen).startswith(f"{lines_from(pair, [(1, 8)])} lines")
    seen.slide("from", 0.3)
    expect(canvas).to_have_attribute("aria-label", re.compile(f"^{lines_from(pair, [(1, 8)], 0.3)} lines"))
    expect(seen.part("lines").locator("output")).to_have_text("0.300")
    image = seen.pixels(canvas)
    column = image[:, image.shape[1] - 8, 3].reshape(21, -1).sum(axis=1) / 255  # near the keys
    weights = pair.attention(1)[8].numpy()
    reached = (weights >= 0.3).sum(axis=0)
    assert (column[reached == 0] == 0).all()
    assert (reached == 1).sum() > 5  # where two lines meet, their opacities add up
    drawn = weights.max(axis=0)[reached == 1]
    width = 0.75 + 2.25 * drawn  # of a line in pixels
    assert column[reached == 1] / width == pytest.approx(drawn, abs=0.06)  # antialiased


def test_several_heads_overlaid(show, pair):
    heads = [(1, 8), (0, 2), (1, 10)]
    seen = show(bl.HeadView(pair, **LINES, heads=[[0, 2], [1, 10]]))
    expect(seen.chips()).to_have_text([re.compile(f"L{layer}·H{head}") for layer, head in heads])
    assert caption(seen).startswith(f"{lines_from(pair, heads)} lines")
    assert hues(seen.pixels(seen.part("lines").locator("canvas").first)) == set(colors.HEADS["light"][:3])


def test_twelve_heads_differ_in_colour_and_dash(show, pair):
    seen = show(bl.HeadView(pair, **LINES, heads=list(range(12))))
    seen.settled()
    looks = seen.chips().evaluate_all(
        """all => all.map(chip => chip.querySelector("line"))
            .map(line => line.getAttribute("stroke") + line.getAttribute("stroke-dasharray"))"""
    )
    assert len(looks) == len(set(looks)) == 12
    assert len({look[:7] for look in looks}) == len(colors.HEADS["light"])


def test_hover_left_token_keeps_only_its_lines_and_numbers_the_keys(show, pair):
    seen = show(bl.HeadView(pair, **LINES))
    expect(seen.part("lines").locator("canvas")).to_have_count(2)
    faint, strong = seen.part("lines").locator("canvas").all()
    expect(faint).to_have_css("opacity", "1")
    seen.queries().nth(3).hover()
    expect(faint).to_have_css("opacity", "0.18")
    left = seen.pixels(strong)[:, 8, 3].reshape(21, -1).max(axis=1)
    assert left[3] > 0 and left[[n for n in range(21) if n != 3]].max() == 0
    row = pair.attention(1)[8][3]
    numbers = [f"{value:.2f}" if value >= 0.005 else "" for value in row.tolist()]
    assert seen.keys().locator(".bl-line-numbers").all_inner_texts() == numbers
    seen.away()
    expect(faint).to_have_css("opacity", "1")
    assert "".join(seen.keys().locator(".bl-line-numbers").all_inner_texts()) == ""


def test_hover_right_token_shows_who_attends_to_it(show, pair):
    seen = show(bl.HeadView(pair, **LINES))
    seen.keys().nth(0).hover()
    strong = seen.part("lines").locator("canvas").nth(1)
    right = seen.pixels(strong)[:, -8, 3].reshape(21, -1).max(axis=1)
    assert right[0] > 0 and right[1:].max() == 0
    column = pair.attention(1)[8][:, 0]
    numbers = [f"{value:.2f}" if value >= 0.005 else "" for value in column.tolist()]
    assert seen.queries().locator(".bl-line-numbers").all_inner_texts() == numbers


def test_hover_with_many_heads_gives_each_token_a_strip_per_head(show, pair):
    seen = show(bl.HeadView(pair, **LINES, heads=list(range(12))))
    seen.queries().nth(3).hover()
    squares = seen.keys().nth(4).locator(".bl-line-numbers i")
    expect(squares).to_have_count(12)
    order = [8, *[h for h in range(12) if h != 8]]
    weights = [float(pair.attention(1)[h, 3, 4]) for h in order]
    assert squares.evaluate_all("all => all.map(one => Number(one.style.opacity))") == pytest.approx(weights, abs=1e-5)
    assert squares.evaluate_all("all => all.map(one => one.title)") == [
        f"L1·H{h}: {shown(w)}" for h, w in zip(order, weights, strict=True)
    ]


@pytest.mark.parametrize("width", [974, 480])  # px of the window; JupyterLab's output is 950 in a window of 1400
def test_numbers_beside_the_lines_are_whole_or_give_way_to_squares(show, pair, width):
    seen = show(pair.explore(**LINES, heads=[[1, 3], [0, 2]]), width=width, height=1000)
    beside = """root => [...root.querySelectorAll(".bl-line-numbers")].filter(one => one.children.length).map(one => {
        const room = one.parentElement.getBoundingClientRect(), [first, last] = [one.children[0], one.lastElementChild];
        const [left, right] = [first.getBoundingClientRect().left, last.getBoundingClientRect().right];
        const isCut = [one, ...one.children].some(part => part.scrollWidth > part.clientWidth && part.clientWidth > 0);
        return { numbers: one.innerText, whole: !isCut && left >= room.left && right <= room.right };
    })"""
    for heads in (3, 1):
        for measure in ("Weight α", "Difference"):
            seen.shows(measure)
            for token in (seen.queries().nth(20), seen.keys().nth(20)):
                token.hover()
                expect(seen.part("lines")).to_contain_text("all its lines")
                found = seen.root.evaluate(beside)
                assert found and all(one["whole"] for one in found), (heads, measure, found)
                assert heads == 3 or all(one["numbers"] for one in found)
        if heads == 3:
            seen.root.get_by_role("button", name="only L1·H8").click()


FILTERS = {
    "A→A": (slice(0, 13), slice(0, 13)),
    "A→B": (slice(0, 13), slice(13, 21)),
    "B→A": (slice(13, 21), slice(0, 13)),
    "B→B": (slice(13, 21), slice(13, 21)),
    "All": (slice(0, 21), slice(0, 21)),
}


@pytest.mark.parametrize("mode", ["matrix", "lines"])
def test_sentence_pair_filter(show, pair, mode):
    """[CLS] and the first [SEP] count as A."""
    seen = show(bl.HeadView(pair, layer=1, head=8, mode=mode))
    for name, (rows, cols) in FILTERS.items():
        seen.choice("pairs", name).click()
        expect(seen.choice("pairs", name)).to_have_attribute("aria-pressed", "true")
        if mode == "matrix":
            assert seen.row_labels() == pair.display_tokens[rows]
            assert seen.col_labels() == pair.display_tokens[cols]
            block = pair.attention(1)[8][rows, cols]
            top = seen.root.locator(".bl-legend .bl-number").last
            assert top.inner_text() == shown(float(block.max()))
        else:
            assert seen.queries().all_inner_texts() == pair.display_tokens[rows]
            assert seen.keys().all_inner_texts() == pair.display_tokens[cols]
            assert caption(seen).startswith(f"{int((pair.attention(1)[8][rows, cols] >= 0.02).sum())} lines")


def test_single_sentence_has_no_pair_filter(show, embedded_lens):
    seen = show(embedded_lens.trace("the cat sat").explore())
    expect(seen.root.get_by_role("group", name="pairs")).to_have_count(0)


def test_lines_follow_the_theme(show, pair):
    seen = show(bl.HeadView(pair, **LINES, theme="dark"))
    expect(seen.chips().locator("line")).to_have_count(1)
    strokes = seen.chips().locator("line").evaluate_all("all => all.map(line => line.getAttribute('stroke'))")
    assert strokes == [colors.INKS["dark"]["select"]]  # one head alone has no colour of its own
    text = seen.queries().first.evaluate("one => getComputedStyle(one).color")
    assert min(map(int, re.findall(r"\d+", text))) > 180  # light text on the dark ground


# What BertViz's head view lacks


def listed_of(row) -> list[int]:
    """The eight largest; what reads 0.000 is among the others."""
    return [n for n in row.argsort(descending=True, stable=True)[:8].tolist() if round(float(row[n]), 3) > 0]


def test_list_beside_the_head_is_the_pinned_row_sorted(show, pair):
    seen = show(bl.HeadView(pair, layer=1, head=8, query=3))
    row = pair.attention(1)[8][3]
    best = listed_of(row)
    assert [token for token, _ in seen.listed()] == [pair.display_tokens[n] for n in best]
    assert [value for _, value in seen.listed()] == pytest.approx([float(row[n]) for n in best], abs=5.1e-4)
    left = 1 - float(row[best].double().sum())
    expect(seen.part("row-list").locator(".bl-sums")).to_have_text(
        re.compile(f"^{21 - len(best)} others {left:.3f}\\s*$")
    )
    seen.part("row-list").get_by_role("button").nth(1).click()
    expect(seen.root.locator(".bl-col-label.bl-pinned")).to_have_text(pair.display_tokens[best[1]])


def test_long_text_fits_the_width_and_can_be_zoomed(show, embedded_lens):
    trace = embedded_lens.trace("the cat sat on the mat because it was tired " * 12)
    size = len(trace.tokens)
    seen = show(bl.HeadView(trace, layer=1, head=8, query=5, key=6), width=700)
    assert seen.shape() == (size, size)
    assert seen.matrix().shape[:2] == (size, size)  # every cell has its pixel, however small it is drawn
    box = seen.part("matrix").bounding_box()
    assert box is not None and box["width"] < 700
    assert len(seen.col_labels()) < size  # labels are thinned out, but the pinned one is there
    expect(seen.root.locator(".bl-col-label.bl-pinned")).to_have_text("mat")
    seen.select("cells").select_option("20")
    zoomed = seen.part("matrix").bounding_box()
    assert zoomed is not None and zoomed["width"] == 20 * size
    assert seen.col_labels() == trace.display_tokens
    assert seen.root.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_all_heads_of_a_long_text_are_asked_for_once(show):
    """1,024 tokens × 12 heads: what is selected is never let go of, so nothing is asked for in a circle."""
    from unit import tiny

    model = tiny.bert(
        num_hidden_layers=1, hidden_size=96, num_attention_heads=12, intermediate_size=32, max_position_embeddings=1024
    )
    trace = bl.Lens(model, tiny.wordpiece()).trace("the cat sat on the mat . " * 200, truncation=True)
    assert (trace.n_tokens, trace.n_heads) == (1024, 12)
    seen = show(trace.explore(layer=0, head=1, mode="lines"))
    seen.root.get_by_role("button", name="all heads of L0").click()
    expect(seen.chips()).to_have_count(12)
    seen.settled()
    asked = seen.page.evaluate("() => models[0].sent.filter(({ op }) => op === 'head').map(({ head }) => head).sort()")
    assert sorted(asked) == [n for n in range(12) if n != 1]  # the open one came with the overview


def test_attention_that_goes_to_a_sink_is_said(show):
    """In GPT-OSS the softmax has one place more than there are tokens: what goes there is missing in the rows."""
    import transformers as tf

    from unit import tiny

    torch.manual_seed(0)
    config = tf.GptOssConfig(
        vocab_size=512, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, head_dim=16,
        num_key_value_heads=2, num_local_experts=2, num_experts_per_tok=1,
    )  # fmt: skip
    trace = bl.Lens(tf.GptOssModel(config).eval(), tiny.gpt_like()).trace("the cat sat on the mat")
    missing = 1 - trace.attention(0)[1].sum(-1)
    assert 0.02 < missing[3] < 0.98
    seen = show(trace.explore(layer=0, head=1, query=3))
    expect(seen.part("row-list")).to_contain_text(f"{shown(float(missing[3]))} goes to a sink, no token")
    expect(seen.part("row-list")).not_to_contain_text("not shown")
    seen.page.keyboard.press("Escape")
    seen.part("matrix").press("Escape")
    expect(seen.part("row-list")).to_contain_text(f"{shown(float(missing.mean()))} goes to a sink, no token")
