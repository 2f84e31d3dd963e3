"""The neuron view, row by row of BertViz's, and what BertViz's lacks. Exact numbers: test_numbers.py."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

import bertlens as bl
from browser.maps import causal
from browser.views import shown, signed

pytestmark = pytest.mark.usefixtures("neurons_open")

START = {"layer": 1, "head": 8, "query": 3, "key": 4}  # sat -> on


def strip(seen, name):
    return seen.part("neurons").get_by_role("img", name=re.compile(name))


def test_sentence_pair_filter_limits_the_keys(show, pair):
    seen = show(bl.NeuronView(pair, layer=1, head=8, query=3))
    seen.check("all keys").check()
    seen.choice("pairs", "A→B").click()
    expect(seen.part("neurons").locator("[data-alpha]")).to_have_count(9)  # B's eight, and the key in focus
    assert set(range(13, 21)) < set(seen.numbers("alpha"))


def test_start_state_by_argument(show, pair):
    seen = show(bl.NeuronView(pair, **START, theme="dark"))
    expect(seen.root).to_have_attribute("data-theme", "dark")
    expect(seen.part("neurons").locator("h3")).to_have_text("How “sat” gets its attention")
    expect(seen.part("neurons").locator("[aria-pressed=true]")).to_have_text("on")
    expect(seen.part("formula")).to_contain_text("sat → on")
    expect(seen.part("neurons")).to_contain_text("the pinned word")


def test_open_at_once_without_a_plus(show, pair):
    """BertViz's users did not find its plus sign: the view opens by itself, on the clearest word, and says so."""
    seen = show(bl.NeuronView(pair, layer=1, head=8))
    expect(seen.part("neurons")).to_contain_text("clearest word of this head")
    word = seen.part("neurons").locator("h3").inner_text()
    assert re.fullmatch("How “[a-z]+” gets its attention", word)
    expect(seen.part("formula")).to_be_visible()


def test_columns(show, pair):
    seen = show(bl.NeuronView(pair, **START))
    seen.settled()
    heads = [text.replace("\n", " ") for text in seen.part("neurons").locator(".bl-th").all_inner_texts()]
    assert heads == ["key token", "k key vector", "q × k elementwise", "q·k ÷ √32 score", "α softmax"]
    for name in ("^Query vector of sat, 32 neurons", "^Key vectors, 10 keys by 32", "^Products of query and keys, 10"):
        expect(strip(seen, name)).to_be_visible()


def test_hover_of_a_neuron_names_it_and_its_numbers(show, pair):
    seen = show(bl.NeuronView(pair, **START))
    seen.select("neurons").select_option("index")
    seen.check("all keys").check()
    keys = strip(seen, "^Key vectors")
    box = keys.bounding_box()
    assert box is not None
    keys.hover(position={"x": (5.5 / 32) * box["width"], "y": 20 * 7.5})
    q, k = float(pair.query(1)[8, 3, 5]), float(pair.key(1)[8, 7, 5])
    expect(seen.tip).to_contain_text("neuron 5, key because")
    expect(seen.tip).to_contain_text(f"q {signed(q, 3)} × k {signed(k, 3)} = {signed(q * k, 3)}")


def test_later_positions_of_gpt2_are_masked(show):
    trace = causal()
    size = len(trace.tokens)
    seen = show(trace.explore(layer=1, head=1, query=2, key=1))
    if size > 17:
        seen.check("all keys").check()
    scores, alpha = seen.numbers("score"), seen.numbers("alpha")
    for key in range(size):
        if key > 2:
            assert (scores[key], alpha[key]) == ("masked", "0.000")
        else:
            assert scores[key] == signed(float(trace.scores(1)[1, 2, key]))
            assert alpha[key] == shown(float(trace.attention(1)[1, 2, key]))
    expect(seen.part("formula")).to_contain_text("softmax over 3 keys")
    seen.at_cell(2, 4)
    expect(seen.part("neurons")).to_contain_text("masked: this model does not let the query see this key")


# What BertViz's neuron view lacks


def contributions(pair):
    k = pair.key(1)[8].double()
    others = [j for j in range(21) if j != 4]
    return pair.scaling(1) * pair.query(1)[8, 3].double() * (k[4] - k[others].mean(dim=0))


def test_the_set_that_carries_80_percent_is_marked(show, pair):
    from bertlens.measures import neurons

    n80 = int(neurons.n80(pair, 1, 8, 3, 4))
    seen = show(bl.NeuronView(pair, **START))
    share = seen.root.locator(".bl-bracket span").evaluate("bar => bar.offsetWidth / bar.parentElement.offsetWidth")
    assert share == pytest.approx(n80 / 32, abs=0.01)
    seen.select("neurons").select_option("index")
    expect(seen.root.locator(".bl-bracket i")).to_have_count(n80)
    carried = set(contributions(pair).argsort(descending=True)[:n80].tolist())
    left = seen.root.locator(".bl-bracket i").evaluate_all("all => all.map(dot => parseFloat(dot.style.left))")
    assert {round(x / 100 * 32 - 0.5) for x in left} == carried


def test_nothing_is_marked_where_the_contrast_is_not_positive(show, pair):
    least = int(pair.scores(1)[8, 3].argmin())
    seen = show(bl.NeuronView(pair, layer=1, head=8, query=3, key=least))
    expect(seen.part("contrast")).to_contain_text("does not stand out here, so no neurons are marked.")
    expect(seen.root.locator(".bl-bracket > *")).to_have_count(0)


def test_neurons_stay_in_pieces_when_words_are_merged(show, embedded_lens):
    trace = embedded_lens.trace("unaffable splendour")
    seen = show(trace.explore(layer=1, head=8, units="words"))
    texts = seen.part("neurons").locator("button.bl-neuron-token").all_inner_texts()
    assert texts == trace.display_tokens
