"""What the Explorer says: labels explain themselves on hover and on focus, and no sentence says more than is true."""

from __future__ import annotations

import re

import pytest
import torch
from playwright.sync_api import expect

import bertlens as bl
from bertlens.base import colors, vocabulary
from bertlens.measures import gates, norms
from bertlens.measures.layer_maps import layer_map
from bertlens.measures.statistics import STATISTICS
from browser.maps import WORDS, attention
from unit import tiny

pytestmark = pytest.mark.usefixtures("neurons_open")


def test_statistics_measures_maps_and_gates_carry_their_sentence(show, pair):
    seen = show(pair.explore(layer=1, head=8))
    for name in ("entropy", "k90", "previous"):
        question = seen.root.locator(f"[data-question={name}]")
        expect(question).to_have_attribute("title", re.compile(re.escape(STATISTICS[name].about)))
    for word in vocabulary.MEASURES.values():
        option = seen.select("shows").locator(f"option[value={word.name}]")
        expect(option).to_have_attribute("title", word.about)
    seen.shows("attnresln-n")
    label = seen.select("shows").locator("xpath=..")
    expect(label).to_have_attribute("title", vocabulary.LAYER_MAPS["attnresln-n"].about)
    expect(seen.root.locator("[data-question='gate:closed']")).to_have_attribute(
        "title", re.compile(re.escape(vocabulary.GATES["closed"].about))
    )


def test_terms_explain_themselves_on_focus_too(show, pair):
    seen = show(pair.explore(layer=1, head=8, query=3, key=4))
    for name, tab in (("contrast", "Neurons"), ("jaccard", "Neurons"), ("cone", "Geometry")):
        seen.open_tab(tab)
        if name == "contrast":
            seen.part("contrast").locator("summary").click()
        word = vocabulary.TERMS[name]
        term = seen.region("Details").locator("abbr", has_text=word.label).first
        expect(term).to_have_attribute("title", word.about)
        seen.tab(tab).focus()
        for _ in range(40):  # what the tab begins with comes before
            seen.page.keyboard.press("Tab")
            if term.evaluate("one => one === document.activeElement"):
                break
        expect(seen.tip).to_have_text(word.about)


def test_layer_map_is_said_and_ringed_as_a_layer(show, pair):
    seen = show(pair.explore(layer=1, head=8, query=3))
    seen.shows("attn-n")
    expect(seen.part("head-title")).to_have_text("L1 Attn-N")
    expect(seen.part("head-sentence")).to_contain_text(
        "L1, all heads together: " + vocabulary.LAYER_MAPS["attn-n"].about
    )
    expect(seen.root.locator(".bl-thumb.bl-chosen")).to_have_count(0)
    expect(seen.root.locator(".bl-layer[aria-pressed=true]")).to_have_text("L1")
    expect(seen.part("neurons")).to_contain_text("L1·H8, one head of the layer shown above")


def test_a_map_of_a_layer_that_a_page_does_not_hold_is_never_another_measure(show_saved, pair):
    """What is shown keeps its name, and one sentence says how a page holds the map: shown when it is saved."""
    seen = show_saved(pair.explore(layer=1, head=8))
    before = seen.matrix()
    for name in ("alti", "value-zeroing"):
        seen.shows(name)
        label = vocabulary.LAYER_MAPS[name].label
        expect(seen.part("problem")).to_contain_text(
            f"{label} of layer 1 is not in this page, which holds those that were shown when it was saved"
        )
        expect(seen.select("shows")).to_have_value("weight")
        expect(seen.part("head-title")).to_have_text("L1·H8")
        assert (seen.matrix() == before).all()
    seen = show_saved(pair.explore(layer=1, head=8, layer_map="alti", query=3, key=4))
    expect(seen.part("head-title")).to_have_text("L1 ALTI")
    expect(seen.select("shows")).to_have_value("alti")
    alti = float(layer_map(pair, 1, "alti")[3, 4])
    expect(seen.part("row-list").locator(".bl-pinned .bl-number")).to_have_text(f"{alti:.3f}")
    seen.shows("value-zeroing")
    expect(seen.part("problem")).to_contain_text("Value Zeroing of layer 1 is not in this page")
    expect(seen.part("head-title")).to_have_text("L1 ALTI")
    expect(seen.select("shows")).to_have_value("alti")


def test_a_difference_that_is_nothing_draws_no_bars(show):
    """A model whose tokens all pass on a vector of one length: weight and share by norm are the same."""
    model = tiny.bert()
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.attention.self.value.weight.zero_()
    trace = bl.Lens(model, tiny.wordpiece()).trace("the cat sat on the mat")
    values = norms.weighted_norm(trace, 1)[2]
    off = (trace.attention(1)[2] - values / values.sum(-1, keepdim=True)).abs().max()
    assert off < 1e-6
    seen = show(trace.explore(layer=1, head=2, query=3, measure="difference"))
    rows = seen.part("row-list").locator(".bl-bar")
    expect(rows).to_have_count(1)  # the others are told together
    assert set(rows.locator(".bl-number").all_inner_texts()) == {"0.000"}
    read = "all => all.map(one => one.style.getPropertyValue('--part'))"
    assert set(rows.locator(".bl-bar-track > span").evaluate_all(read)) == {"0%"}
    expect(seen.root.locator(".bl-head .bl-legend").first).to_contain_text("−0.001")


def test_thresholds_move_labels_on_a_saved_page(show_saved, pair):
    """The scores are on the page; no kernel is asked."""
    seen = show_saved(pair.explore(layer=1, head=8, view="gates"))
    table = gates.classify(pair, threshold=0.7, margin=0.3)
    seen.slide("threshold", 0.7)
    seen.slide("margin", 0.3)
    counts = table["label"].value_counts()
    for name, count in counts.items():
        expect(seen.root.locator(f"[data-question='gate:{name}']")).to_have_text(re.compile(rf"\b{count}$"))
    expect(seen.part("problem")).to_have_count(0)
    expect(seen.part("link")).to_have_text("saved page")


def test_given_weights_open_on_something_and_claim_no_vectors(show):
    seen = show(bl.Trace.from_attentions(attention(2, 3, 8, 8), WORDS).explore())
    expect(seen.root.get_by_role("tab", selected=True)).to_have_text("Gates")  # neurons were asked for: there are none
    expect(seen.root.get_by_role("region", name="Sentence")).to_have_count(1)
    expect(seen.root.get_by_role("region", name="Heads that matter most here")).to_have_count(0)  # no answer, all heads
    seen.more()
    expect(seen.root.locator(".bl-about-model")).to_contain_text("weights as they were given")


def test_geometry_draws_what_its_legend_says(show, pair):
    seen = show(pair.explore(view="geometry"))
    cone = seen.root.locator("svg[aria-label='Cone index through the stream']")
    heads = cone.locator("path", has=seen.page.locator("title", has_text="heads"))
    expect(heads).to_have_count(6)
    legend = seen.part("geometry").locator(".bl-key li", has_text="their mean").locator("path")
    assert heads.first.get_attribute("fill") == legend.get_attribute("fill") != colors.INKS["light"]["select"]
    assert heads.first.get_attribute("d").count("L") == legend.get_attribute("d").count("L") == 3  # a diamond
    expect(seen.part("geometry")).to_contain_text("effective rank of at most 32, of α at most 21")


def test_the_accent_is_for_what_is_selected(show, pair):
    """In tabs nothing but the selected head, layer, query or key has a border or a ground of the accent."""
    seen = show(pair.explore(layer=1, head=8, query=3, key=4))
    accent = ["rgb({}, {}, {})".format(*colors.rgb(colors.INKS["light"][name])) for name in ("select", "select-text")]
    found = """(root, accent) => [...root.querySelectorAll("[role=tabpanel] *")].filter((one) => {
        const style = getComputedStyle(one);
        const borders = ["Top", "Right", "Bottom", "Left"].map((side) =>
            style[`border${side}Width`] === "0px" ? "" : style[`border${side}Color`]);
        return [...borders, style.backgroundColor].some((colour) => accent.includes(colour));
    }).filter((one) => !one.closest(".bl-is-key, [role=img]")).map((one) => String(one.className))"""
    for tab in ("Neurons", "Gates", "Geometry", "Weight against norm"):
        seen.open_tab(tab)
        seen.settled()
        names = set(seen.root.evaluate(found, accent))
        assert names <= {"bl-positive"}, tab  # the sign of a number has it too


def test_tooltips_do_not_cover_the_grid_they_speak_of(show, pair):
    seen = show(pair.explore(layer=1, head=8, query=3, key=4), width=974, height=1500)

    def covers(part: str) -> bool:
        tip, grid = seen.tip.bounding_box(), seen.root.locator(part).first.bounding_box()
        return (
            tip["x"] < grid["x"] + grid["width"]
            and grid["x"] < tip["x"] + tip["width"]
            and tip["y"] < grid["y"] + grid["height"]
            and grid["y"] < tip["y"] + tip["height"]
        )

    for layer in (1, 5):
        seen.thumb(layer, 3).hover()
        expect(seen.tip).to_contain_text(f"L{layer}·H3")
        assert not covers(".bl-words") and not covers(f'[data-head="{layer}-3"]')
        tip, thumb = seen.tip.bounding_box(), seen.thumb(layer, 3).bounding_box()
        assert abs(tip["y"] + tip["height"] / 2 - thumb["y"] - thumb["height"] / 2) < 180
    seen.thumb(5, 3).click()
    expect(seen.tip).to_have_count(0)
    seen.at_cell(5, 6, "hover")
    expect(seen.tip).to_contain_text("query 5, key 6")
    assert not covers(".bl-cells")
    seen.part("neurons").locator(".bl-strip").nth(1).hover()
    expect(seen.tip).to_contain_text("neuron")
    assert not covers(".bl-neuron-grid")


def test_page_text_has_contrast(show_saved, pair):
    """4.5:1 for the note at the foot of a page."""
    for theme in ("light", "dark"):
        seen = show_saved(pair.explore(), theme=theme)
        foot = seen.page.locator("body > footer")
        assert foot.evaluate("one => getComputedStyle(one).opacity") == "1"


def test_many_heads_leave_the_words_readable(show, pair):
    seen = show(
        pair.explore(layer=1, head=8, query=3, mode="lines", heads=[[1, h] for h in range(12) if h != 8]), width=974
    )
    first = seen.keys().nth(5).locator(".bl-token")
    assert first.bounding_box()["width"] >= 18
    assert first.evaluate("one => one.scrollWidth <= one.clientWidth + 1")


def test_survey_view_has_no_switch_that_does_nothing(show, pair):
    seen = show(bl.GateView(pair))
    expect(seen.root.get_by_role("group", name="pairs", exact=True)).to_have_count(0)


def test_help_keeps_its_own_look_under_a_host_style(pair, show):
    seen = show(pair.explore())
    seen.page.add_style_tag(
        content="dl > dt { float: left; width: 20%; margin: 0 0 1em } dl > dd { margin: 0 0 2em 25% }"
    )
    seen.more()
    seen.root.get_by_role("button", name="? keys").click()
    assert seen.root.locator(".bl-help").bounding_box()["height"] <= 240


def test_menus_open_at_their_button_inside_the_window(show, pair):
    """Whatever frames the view and cuts it off: as an output cell of JupyterLab does."""
    seen = show(pair.explore(layer=1, head=8, query=3, key=4, view="matter"), width=968, height=900)
    seen.root.evaluate("root => Object.assign(root.parentElement.style, { overflow: 'auto', maxHeight: '880px' })")
    for name in ("What if", "Find heads that …", "Export"):
        button = seen.root.locator("summary", has_text=name).first
        button.scroll_into_view_if_needed()
        button.focus()
        seen.page.keyboard.press("Enter")
        menu = seen.root.locator(".bl-menu-list:visible")
        expect(menu).to_have_count(1)
        box, at = menu.bounding_box(), button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 968 and box["y"] >= 0 and box["y"] + box["height"] <= 900
        assert box["x"] <= at["x"] + at["width"] and at["x"] <= box["x"] + box["width"]
        assert min(abs(box["y"] - at["y"] - at["height"]), abs(at["y"] - box["y"] - box["height"])) <= 6
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        is_hit = "([x, y]) => document.elementFromPoint(x, y)?.closest('.bl-menu-list') !== null"
        assert seen.page.evaluate(is_hit, [x, y])  # nothing cuts it off
        seen.page.keyboard.press("Escape")
        expect(menu).to_have_count(0)
        expect(button).to_be_focused()
