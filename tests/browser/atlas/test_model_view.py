"""What all views share with BertViz, and its model view, row by row."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

import bertlens as bl
from bertlens import whatif
from bertlens.base import colors
from bertlens.widgets.answers.whatif import answers
from browser.maps import WORDS, attention, encoder_decoder
from browser.views import Seen, hosted, in_frame, saved, shown

pytestmark = pytest.mark.usefixtures("neurons_open")

# Common


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "given",
    [
        lambda maps: [torch.from_numpy(layer)[None] for layer in maps],  # as transformers returns them
        lambda maps: list(maps),
        lambda maps: maps,
        lambda maps: [torch.from_numpy(layer).bfloat16() for layer in maps],
    ],
    ids=["tensors with a batch of one", "numpy arrays", "one array", "bfloat16"],
)
def test_attention_of_any_model_draws(show, given):
    maps = attention(2, 3, 8, 8)
    trace = bl.Trace.from_attentions(given(maps), WORDS)
    seen = show(trace.explore(layer=1, head=2))
    assert len(seen.thumbs()) == 6
    assert seen.row_labels() == WORDS
    assert seen.root.locator(".bl-legend .bl-number").last.inner_text() == shown(float(trace.attention(1)[2].max()))
    seen.open_tab("Neurons")
    expect(seen.region("Details")).to_contain_text("Only attention weights were given, without the queries and keys")


def test_pretokenised_words_draw(show, embedded_lens):
    seen = show(embedded_lens.trace_words(["The", "cat", "sat"], ["It", "purred"]).explore(layer=1, head=8))
    assert seen.row_labels()[:5] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    expect(seen.part("neurons")).to_be_visible()
    expect(seen.choice("pairs", "A→B")).to_be_visible()


def test_pair_given_by_segments(show):
    """BertViz's sentence_b_start; without it the first separator says where B begins."""
    trace = bl.Trace.from_attentions(attention(1, 2, 8, 8), WORDS)
    seen = show(trace.explore(pair_filter="AB"))
    assert seen.shape() == (5, 3)
    given = bl.Trace.from_attentions(attention(1, 2, 8, 8), WORDS, segments=[0, 0, 0, 1, 1, 1, 1, 1])
    seen = show(given.explore(pair_filter="AB"))
    assert seen.shape() == (3, 5)


def test_encoder_decoder_maps_are_switched(show):
    trace = encoder_decoder()
    seen = show(trace.explore(layer=1, head=2))
    assert [b.inner_text() for b in seen.root.get_by_role("group", name="map").get_by_role("button").all()] == [
        "encoder",
        "decoder",
        "cross",
    ]
    for name, shape in (("decoder", (3, 3)), ("cross", (3, 5)), ("encoder", (5, 5))):
        seen.choice("map", name).click()
        expect(seen.choice("map", name)).to_have_attribute("aria-pressed", "true")
        expect(seen.part("matrix")).to_have_attribute("aria-colcount", str(shape[1]))
        assert seen.shape() == shape
        shown_map = trace.maps[name]
        assert seen.row_labels() == shown_map.display_tokens
        assert seen.col_labels() == shown_map.display_key_tokens
        values = shown_map.attention(1)[2].numpy()
        seen.at_cell(0, shape[1] - 1, "hover")
        expect(seen.tip.locator("b")).to_have_text(shown(values[0, -1]))
        expect(seen.part("head-title")).to_have_attribute("title", re.compile(f"of the {name} map"))
    seen.choice("map", "cross").click()
    seen.choice("head view", "Lines").click()
    expect(seen.queries()).to_have_text(["Das", "Haus", "ist"])
    expect(seen.keys()).to_have_text(["The", "house", "is", "small", "</s>"])


def test_two_views_in_one_document(tab_of, pair, embedded_lens):
    """BertViz's second neuron view wipes the first."""
    other = embedded_lens.trace("One two three.")
    page = hosted(tab_of, pair.explore(layer=1, head=8), other.explore(layer=0, head=2))
    one, two = (Seen(page, page.locator(".bertlens").nth(n)) for n in range(2))
    assert one.shape() == (21, 21) and two.shape() == (6, 6)
    two.thumb(4, 5).click()
    two.title("L4·H5")
    one.title("L1·H8")
    one.at_cell(3, 4)
    expect(one.root.locator(".bl-mark-cell")).to_have_count(1)
    expect(two.root.locator(".bl-mark-cell")).to_have_count(0)


def test_three_outputs_in_sandboxed_frames(page_of, pair):
    """Colab gives each output a frame of its own."""
    views = [pair.explore(layer=1, head=8), bl.HeadAtlas(pair), bl.NeuronView(pair, layer=0, head=2, query=4)]
    page = page_of.framed([saved(view) for view in views])
    explorer, atlas, neurons = (Seen(page, in_frame(page, n)) for n in range(3))
    explorer.thumb(2, 3).click()
    explorer.title("L2·H3")
    expect(atlas.thumb(0, 0)).to_be_visible()
    expect(neurons.part("neurons")).to_contain_text("L0·H2")


def test_a_host_of_another_encoding_changes_nothing(page_of):
    trace = bl.Trace.from_attentions(attention(1, 2, 3, 3), ["«é»", "日本", "𝛼"])
    page = page_of.framed([trace.explore(layer=0, head=1).to_html()], charset="windows-1252")
    seen = Seen(page, in_frame(page, 0))
    assert seen.row_labels() == ["«é»", "日本", "𝛼"]
    seen.title("L0·H1")


def test_display_mode_dark_and_light(show, pair):
    """The argument wins over the system; with "auto" the system decides, also while the page is open."""
    dark, light = colors.table("weight", "dark"), colors.table("weight", "light")
    for theme, system, wanted in (("dark", "light", dark), ("light", "dark", light), ("auto", "dark", dark)):
        seen = show(pair.explore(layer=0, head=2, theme=theme), theme=system)
        assert (seen.matrix()[0, 20] == wanted[0]).all()  # hardly any attention there
    seen.page.emulate_media(color_scheme="light")
    expect(seen.root).to_have_attribute("data-theme", "light")
    assert (seen.matrix()[0, 20] == light[0]).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [320, 480, 1400])
@pytest.mark.parametrize("mode", ["matrix", "lines"])
def test_width_is_followed_without_overflow(show, pair, width, mode):
    """The widget never scrolls sideways as a whole; its parts do."""
    seen = show(pair.explore(layer=1, head=8, mode=mode, query=3, heads=[[0, 2]], pair_filter="all"), width=width)
    wide = "e => [e.scrollWidth, e.clientWidth, document.documentElement.scrollWidth]"
    for tab in seen.root.get_by_role("tab").all():
        tab.click()
        expect(seen.root.get_by_text("loading …")).to_have_count(0)
        scroll, client, document = seen.root.evaluate(wide)
        assert scroll <= client <= width and document <= width, tab.inner_text()
    outside = seen.root.evaluate(
        """root => [...root.querySelectorAll("button, select, input, h3, canvas")].filter(e => {
            if (e.closest(".bl-scroll") || !e.checkVisibility()) return false;
            const { left, right, width } = e.getBoundingClientRect();
            const box = root.getBoundingClientRect();
            return width > 0 && (left < box.left - 1 || right > box.right + 1);
        }).map(e => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []


@pytest.mark.parametrize("widget", [bl.HeadAtlas, bl.HeadView, bl.NeuronView])
def test_small_widgets_fit_a_phone(show, pair, widget):
    seen = show(widget(pair, layer=1, head=8), width=320)
    scroll, client = seen.root.evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert scroll <= client <= 320


def test_resize_of_an_open_page(show, pair):
    seen = show(pair.explore(layer=1, head=8), width=1400)
    before = seen.part("matrix").bounding_box()
    seen.page.set_viewport_size({"width": 300, "height": 800})
    seen.page.wait_for_function("() => document.querySelector('[data-testid=matrix]').clientWidth < 240")
    after = seen.part("matrix").bounding_box()
    assert before and after and after["width"] < before["width"]
    seen.at_cell(3, 4)  # cells are hit where they are drawn now
    expect(seen.root.locator(".bl-row-label.bl-pinned")).to_have_text("sat")


def test_zero_width_at_mount_draws_when_shown(tab_of, pair):
    """A hidden tab."""
    page = hosted(tab_of, pair.explore(layer=1, head=8, mode="lines"), body='style="display: none"')
    page.locator(".bertlens").wait_for(state="attached")
    page.evaluate("document.body.style.display = 'block'")
    seen = Seen(page)
    canvas = seen.part("lines").locator("canvas").first
    page.wait_for_function(
        """() => {
            const { width, clientWidth } = document.querySelector("[data-testid=lines] canvas");
            return width === clientWidth && width > 60;
        }"""
    )
    assert seen.pixels(canvas)[..., 3].any()


# The model view


def test_grid_has_a_thumbnail_per_head(show, pair):
    seen = show(pair.explore())
    assert seen.thumbs() == [f"{layer}-{head}" for layer in range(6) for head in range(12)]
    boxes = {(layer, head): seen.thumb(layer, head).bounding_box() for layer, head in ((0, 0), (0, 1), (1, 0))}
    origin = boxes[0, 0]
    assert boxes[0, 1]["x"] > origin["x"] and abs(boxes[0, 1]["y"] - origin["y"]) < 1  # heads across
    assert boxes[1, 0]["y"] > origin["y"] and abs(boxes[1, 0]["x"] - origin["x"]) < 1  # layers down
    assert min(origin["width"], origin["height"]) >= 24


def test_long_texts_are_pooled_to_32_pixels(show, embedded_lens):
    trace = embedded_lens.trace("the cat sat on the mat " * 9)
    seen = show(bl.HeadAtlas(trace))
    image = seen.pixels(seen.thumb(0, 2).locator("img"))
    assert image.shape[:2] <= (32, 32)
    assert len(trace.tokens) > 50


def test_include_layers_and_heads_limit_the_grid(show, pair):
    seen = show(pair.explore(include_layers=[1, 4], include_heads=[0, 8, 9]))
    assert seen.thumbs() == ["1-0", "1-8", "1-9", "4-0", "4-8", "4-9"]
    [[*_, before]] = answers(pair)[0]["rows"]
    changes = {
        f"L{layer}·H{head}": abs(answers(pair.rerun(whatif.off(layer, head)))[0]["rows"][0][-1] - before)
        for layer in (1, 4)
        for head in (0, 8, 9)
    }
    seen.title(max(changes, key=changes.__getitem__))  # of these it opens on the one that matters most


# What BertViz's model view lacks


def test_sentence_per_head_on_hover_and_focus(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    seen.thumb(0, 2).hover()
    expect(seen.tip).to_contain_text("L0·H2")
    expect(seen.tip).to_contain_text("paper: 1-3")
    expect(seen.tip).to_contain_text("looks at the previous word")
    seen.away()
    expect(seen.tip).to_have_count(0)
    seen.thumb(1, 8).focus()
    expect(seen.tip).to_contain_text("L1·H8")
    expect(seen.part("head-sentence")).to_contain_text("L1·H8")


def test_not_a_number_is_named_and_marked(show):
    maps = attention(2, 3, 8, 8)
    maps[1, 2, 4] = np.nan
    seen = show(bl.Trace.from_attentions(maps, WORDS).explore(layer=1, head=2))
    expect(seen.root.get_by_role("alert")).to_contain_text("first appears in layer 1")
    expect(seen.thumb(1, 2)).to_have_text("NaN")
    expect(seen.part("head-sentence")).to_contain_text("L1·H2 is not a number")
    grey = np.array(colors.rgb(colors.NAN))
    image = seen.matrix()
    assert (image[4] == grey).all() and not (image[3] == grey).all(axis=-1).any()
