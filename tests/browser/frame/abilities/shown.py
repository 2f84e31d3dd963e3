"""One head: what of it is shown, and how."""

from __future__ import annotations

from playwright.sync_api import expect

from bertlens.base.vocabulary import LAYER_MAPS
from bertlens.measures import norms
from bertlens.measures.layer_maps import layer_map
from browser.views import shown

from .cells import PINNED, lists
from .hand import Hand
from .heads import Steps
from .subjects import trace
from .table import ability


@ability("see a head as lines", 1)
def lines(hand: Hand) -> Steps:
    hand.mode("lines")
    yield
    hand.has(mode="lines")
    expect(hand.seen.queries()).to_have_count(21)


@ability("see a head as text", 1, query=3)
def text(hand: Hand) -> Steps:
    hand.mode("text")
    yield
    hand.has(mode="text")
    expect(hand.seen.part("running-words")).to_contain_text(shown(float(trace("pair").attention(1)[8, 3].max())))


@ability("see a head as a matrix again", 1, mode="lines")
def matrix(hand: Hand) -> Steps:
    hand.mode("matrix")
    yield
    hand.has(mode="matrix")
    assert hand.seen.shape() == (21, 21)


@ability("see in the text who looks at a word", 1, mode="text", key=4)
def text_to(hand: Hand) -> Steps:
    hand.shade_by("to")
    yield
    expect(hand.seen.part("running-words")).to_contain_text(shown(float(trace("pair").attention(1)[8, :, 4].max())))


@ability("pin a word of the lines", 1, mode="lines")
def line_query(hand: Hand) -> Steps:
    hand.line_query(3)
    yield
    hand.has(query=3)
    lists(hand, trace("pair").attention(1)[8, 3])


@ability("pin a word of the text", 1, mode="text")
def text_query(hand: Hand) -> Steps:
    hand.word_of_text(3)
    yield
    hand.has(query=3)


@ability("draw fewer lines", 1, mode="lines")
def fewer(hand: Hand) -> Steps:
    hand.line_minimum(0.2)
    yield
    count = int((trace("pair").attention(1)[8] >= 0.2).sum())
    hand.comes(lambda: hand.lines().startswith(f"{count} lines"), True)


@ability("see what is passed on, by norm", 1, query=3)
def norm(hand: Hand) -> Steps:
    hand.show("norm")
    yield
    hand.has(measure="norm")
    lists(hand, norms.weighted_norm(trace("pair"), 1)[8, 3])


@ability("see weight less norm", 1, query=3, key=4)
def difference(hand: Hand) -> Steps:
    hand.show("difference")
    yield
    hand.has(measure="difference")
    row = norms.weighted_norm(trace("pair"), 1)[8, 3]
    value = float(trace("pair").attention(1)[8, 3, 4] - row[4] / row.sum())
    pinned = hand.seen.part("row-list").locator(".bl-pinned .bl-number")
    hand.comes(lambda: abs(float(pinned.inner_text().replace("−", "-")) - value) < 1e-3, True)


@ability("see the weight again", 1, query=3, measure="norm")
def weight(hand: Hand) -> Steps:
    hand.show("weight")
    yield
    lists(hand, trace("pair").attention(1)[8, 3])


def map_of_layer(name: str) -> None:
    @ability(f"see the map of a layer, {LAYER_MAPS[name].label}", 2, **PINNED)
    def doing(hand: Hand) -> Steps:
        hand.show(name)
        yield
        hand.has(layer_map=name)
        hand.shows(f"L1 {LAYER_MAPS[name].label}")
        value = float(layer_map(trace("pair"), 1, name)[3, 4])
        expect(hand.seen.part("row-list").locator(".bl-pinned .bl-number")).to_have_text(shown(value))


for _name in LAYER_MAPS:
    map_of_layer(_name)


@ability("open a layer as a whole by its name", 1)
def layer(hand: Hand) -> Steps:
    hand.layer_as_a_whole(4)
    yield
    hand.comes(lambda: (hand.view.layer, hand.view.layer_map != ""), (4, True))
    hand.comes(lambda: hand.seen.part("head-title").inner_text()[:3], "L4 ")


@ability("go from the map of a layer to a head", 1, layer_map="attn-n")
def from_layer(hand: Hand) -> Steps:
    hand.head(2, 3)
    yield
    hand.has(layer_map="")
    hand.shows("L2·H3")


@ability("see only how the first sentence looks at the second", 1)
def pairs(hand: Hand) -> Steps:
    hand.pairs("AB")
    yield
    hand.has(pair_filter="AB")
    pair = trace("pair")
    second = sum(pair.segments)
    hand.comes(hand.seen.shape, (21 - int(second), int(second)))


@ability("see words instead of pieces", 1, of="split")
def words(hand: Hand) -> Steps:
    hand.words()
    yield
    hand.has(units="words")
    hand.comes(lambda: hand.seen.shape()[0] < trace("split").n_tokens, True)
    assert "unbelievable" in hand.seen.row_labels()


@ability("see pieces again", 1, of="split", units="words")
def pieces(hand: Hand) -> Steps:
    hand.pieces()
    yield
    hand.comes(lambda: hand.seen.shape()[0], trace("split").n_tokens)


@ability("hide special tokens", 1)
def hide(hand: Hand) -> Steps:
    hand.hide_special()
    yield
    hand.has(hide_special=True)
    hand.comes(hand.seen.shape, (18, 18))
    assert "[CLS]" not in hand.seen.row_labels()


@ability("hide special tokens and make the rows sum to 1", 2, query=3)
def renormalise(hand: Hand) -> Steps:
    hand.hide_special()
    hand.renormalise()
    yield
    hand.has(hide_special=True, renormalize=True)
    row = trace("pair").attention(1)[8, 3].double()
    kept = row[[n for n, special in enumerate(trace("pair").special_mask) if not special]]
    lists(hand, kept / kept.sum())


@ability("make the cells larger", 2, of="sixty")
def larger(hand: Hand) -> Steps:
    hand.cell_size(20)
    yield
    box = hand.seen.part("matrix").bounding_box()
    assert box is not None
    hand.comes(lambda: hand.seen.part("matrix").bounding_box()["width"], 20 * trace("sixty").n_tokens)


@ability("see another map of an encoder-decoder", 1, of="maps")
def cross(hand: Hand) -> Steps:
    hand.map_of("cross")
    yield
    hand.has(map="cross")
    hand.comes(hand.seen.shape, (3, 5))


@ability("choose a patch of an image", 1, of="patches", head=1, layer=0)
def patch(hand: Hand) -> Steps:
    hand.patch_at(0, 4, 4, 6)
    yield
    hand.has(query=5)


# long texts


@ability("zoom into a long text", 1, of="long")
def zoom(hand: Hand) -> Steps:
    hand.comes(hand.sees_all, True)
    hand.zoom("in")
    yield
    hand.comes(hand.sees_all, False)


@ability("zoom into a long text by keys, and out again", 3, of="long")
def zoom_by_keys(hand: Hand) -> Steps:
    hand.enter_matrix()
    hand.press("+")
    hand.comes(hand.sees_all, False)
    hand.press("0")
    yield
    hand.comes(hand.sees_all, True)


@ability("find a word of a long text", 2, of="long")
def find_far(hand: Hand) -> Steps:
    hand.find("warm")
    yield
    hand.has(query=700)
    expect(hand.root.get_by_title("query 700: warm")).to_be_visible()


@ability("see blocks of a long text by their mean", 1, of="long")
def by_mean(hand: Hand) -> Steps:
    before = hand.picture_of_head()
    hand.pixel_is("mean")
    yield
    hand.comes(lambda: bool((hand.picture_of_head() == before).all()), False)
