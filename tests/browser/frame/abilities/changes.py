"""What if: the run changed by a key, by the menu of what is pointed at and by that of what is selected; what it did."""

from __future__ import annotations

import re
from typing import Any

import torch
from playwright.sync_api import expect

from bertlens import whatif
from bertlens.measures import attribution
from browser.views import TEXTS, shown

from .hand import Hand
from .heads import Steps
from .subjects import lens, trace
from .table import ability

OFF = whatif.off(1, 8)


def runs(hand: Hand, *changes: Any) -> None:
    """The run shown is the model's with these changes, and says so."""
    hand.comes(lambda: hand.view.trace.changes, changes)
    expect(hand.changes()).to_have_count(1 if changes else 0)


def similarity(*changes: Any) -> float:
    """The cosine of the pair's two texts, each run alone."""
    means = [lens().trace(text).rerun(*changes).layer_output(5).double().mean(0) for text in TEXTS]
    return float(torch.cosine_similarity(*means, dim=0))


@ability("switch a head off by a key", 2)
def off_by_key(hand: Hand) -> Steps:
    hand.head(2, 3)
    hand.switch_off()
    yield
    runs(hand, whatif.off(2, 3))


@ability("switch a head on again by a key", 3)
def on_by_key(hand: Hand) -> Steps:
    hand.head(2, 3)
    hand.switch_off()
    runs(hand, whatif.off(2, 3))
    hand.switch_off()
    yield
    runs(hand)


@ability("switch a head off by its own menu", 2)
def off_by_pointer(hand: Hand) -> Steps:
    hand.menu_at(hand.seen.thumb(2, 3), re.compile("^L2·H3 off"))
    yield
    runs(hand, whatif.off(2, 3))


@ability("switch the selected head off by the menu", 2)
def off_by_menu(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    yield
    runs(hand, OFF)


@ability("let a head say the same to every word", 2)
def mean(hand: Hand) -> Steps:
    hand.what_if("L1·H8 says the same to every word")
    yield
    runs(hand, whatif.mean(1, 8))


@ability("let a head look at all words alike", 2)
def uniform(hand: Hand) -> Steps:
    hand.what_if("L1·H8 looks at all words alike")
    yield
    hand.comes(lambda: len(hand.view.trace.changes), 1)
    assert torch.allclose(hand.view.trace.attention(1)[8], torch.tensor(1 / 21))


@ability("switch all heads of a layer off", 2)
def layer_off(hand: Hand) -> Steps:
    hand.what_if("all heads of L1 off")
    yield
    runs(hand, whatif.off(1))


@ability("switch an MLP off", 2)
def mlp_off(hand: Hand) -> Steps:
    hand.what_if("MLP of L1 off")
    yield
    runs(hand, whatif.mlp(1))


@ability("cut a cell by a key", 2)
def cut_by_key(hand: Hand) -> Steps:
    hand.cell(3, 4)
    hand.switch_off()
    yield
    runs(hand, whatif.cut(1, 8, 3, 4))
    assert float(hand.view.trace.attention(1)[8, 3, 4]) == 0


@ability("cut a cell by its own menu", 2)
def cut_by_pointer(hand: Hand) -> Steps:
    hand.menu_at_cell(3, 4, re.compile("cut in L1·H8"))
    yield
    runs(hand, whatif.cut(1, 8, 3, 4))


@ability("cut a cell in all heads of a layer", 2)
def cut_in_layer(hand: Hand) -> Steps:
    hand.menu_at_cell(3, 4, re.compile("cut in all heads of L1"))
    yield
    runs(hand, whatif.cut(1, None, 3, 4))


@ability("hide a word from all heads", 2)
def hide(hand: Hand) -> Steps:
    hand.menu_at(hand.token(2), re.compile("“cat” hidden from all heads"))
    yield
    runs(hand, whatif.hide(2))


@ability("hide the pinned word by the menu", 2, key=2)
def hide_by_menu(hand: Hand) -> Steps:
    hand.what_if(re.compile("“cat” hidden from all heads"))
    yield
    runs(hand, whatif.hide(2))


@ability("switch the strongest neuron off", 2, query=3, key=4)
def neuron(hand: Hand) -> Steps:
    hand.what_if(re.compile("^neuron "))
    yield
    hand.comes(lambda: len(hand.view.trace.changes), 1)
    off = hand.view.trace.changes[0].n
    assert not hand.view.trace.query(1)[8, :, off].any()


@ability("switch off the neuron that the pointer is on", 3, query=3, key=4)
def neuron_by_pointer(hand: Hand) -> Steps:
    hand.tab("neurons")
    hand.neuron_off(3)
    yield
    hand.comes(lambda: len(hand.view.trace.changes), 1)
    assert not hand.view.trace.query(1)[8, :, hand.view.trace.changes[0].n].any()


@ability("take something from another text", 4, of="masked", query=6)
def patch(hand: Hand) -> Steps:
    other = "The dog ran to the [MASK] because it was late."
    hand.patch(other)
    yield
    run = trace("masked").rerun(whatif.patch(1, 6, lens(mlm=True).trace(other)))
    hand.comes(lambda: len(hand.view.trace.changes), 1)
    assert torch.equal(hand.view.trace.layer_output(5), run.layer_output(5))


@ability("see what a model answers", 0, of="masked", front=True)
def answers(hand: Hand) -> Steps:
    yield
    best = trace("masked").predictions(k=1)
    expect(hand.answer()).to_contain_text(best["token"][0])
    expect(hand.answer()).to_contain_text(f"{best['probability'][0]:.2f}")


@ability("see the answer before and after a change", 2)
def before_after(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    yield
    runs(hand, OFF)
    for number in (similarity(), similarity(OFF)):
        expect(hand.seen.part("slopes")).to_contain_text(shown(number))


@ability("see which heads look elsewhere after a change", 2)
def elsewhere(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    yield
    hand.comes(lambda: len(hand.coloured()), 72)
    assert sum(text == "–" for text in hand.coloured()) == 24  # those of the first two layers run before


@ability("order the heads by who looks elsewhere after a change", 4)
def by_moved(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    runs(hand, OFF)
    hand.order_by("moved")
    yield
    hand.comes(lambda: hand.state().get("atlas_order"), "moved")
    values = [float(text) for text in hand.captions() if text != "–"]
    assert values == sorted(values, reverse=True) and len(values) == 48


@ability("see patterns again after a change", 3)
def patterns(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    runs(hand, OFF)
    hand.colour_by("")
    yield
    hand.comes(lambda: len(hand.coloured()), 0)


@ability("colour the heads by how much they matter after a change", 3)
def matter_after(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    runs(hand, OFF)
    hand.colour_by("matters")
    yield
    hand.sweep_ends()
    change = similarity(OFF, whatif.off(5, 3)) - similarity(OFF)
    assert abs(float(hand.coloured()[12 * 5 + 3].replace("−", "-")) - change) < 6e-4


@ability("see whether head, cell and word matter to the answer", 1, query=8, key=2)
def effects(hand: Hand) -> Steps:
    hand.tab("matter")
    yield
    runs_of = [trace("pair").rerun(change) for change in (OFF, whatif.cut(1, 8, 8, 2), whatif.hide(2))]
    hand.comes(hand.effects, [shown(float(run.predictions()["logit"][0])) for run in runs_of])


@ability("show the run without a cell", 2, query=8, key=2)
def show_effect(hand: Hand) -> Steps:
    hand.tab("matter")
    hand.show_effect(1)
    yield
    runs(hand, whatif.cut(1, 8, 8, 2))


@ability("ask which heads matter to the answer", 1)
def matter(hand: Hand) -> Steps:
    hand.which_heads_matter()
    yield
    hand.sweep_ends()
    found = [float(text.replace("−", "-")) for text in hand.coloured()]
    for layer, head in ((1, 8), (5, 3)):
        change = similarity(whatif.off(layer, head)) - similarity()
        assert abs(found[12 * layer + head] - change) < 6e-4


@ability("go to a head that matters", 2)
def to_one_that_matters(hand: Hand) -> Steps:
    hand.which_heads_matter()
    hand.sweep_ends()
    name = hand.first_that_matters()
    yield
    hand.shows(name)


@ability("order the heads by how much they matter", 3)
def by_matters(hand: Hand) -> Steps:
    hand.which_heads_matter()
    hand.sweep_ends()
    hand.order_by("matters")
    yield
    hand.comes(lambda: hand.state().get("atlas_order"), "matters")
    values = [float(text.replace("−", "-")) for text in hand.captions()]
    assert values == sorted(values, reverse=True) and len(values) == 72


@ability("choose which number the heads matter to", 3, of="masked")
def metric(hand: Hand) -> Steps:
    hand.which_heads_matter()
    hand.metric("divergence")
    yield
    hand.sweep_ends()
    numbers = [float(text.replace("−", "-")) for text in hand.coloured()]
    assert len(numbers) == 72 and min(numbers) >= 0 < max(numbers)  # a divergence only rises


@ability("ask about another word than the first", 2, of="masked", query=6, key=2)
def other_word(hand: Hand) -> Steps:
    hand.tab("matter")
    hand.ask_about("floor")
    yield
    hand.comes(lambda: hand.state().get("target"), "floor")
    word = lens(mlm=True).tokenizer.convert_tokens_to_ids("floor")
    cut = whatif.cut(1, 8, 6, 2)
    after = [
        trace("masked").rerun(change).output.logits[0, 6].softmax(-1)[word] for change in (OFF, cut, whatif.hide(2))
    ]
    hand.comes(hand.effects, [shown(float(value)) for value in after])


@ability("see which words the answer rests on", 2, of="masked", query=6, key=2)
def which_words(hand: Hand) -> Steps:
    hand.tab("matter")
    hand.which_words()
    yield
    at = trace("masked").output.logits[0, 6]
    found = attribution.occlusion(trace("masked"), whatif.logit(int(at.argmax())), progress=False).values.tolist()
    sat = trace("masked").display_tokens.index("sat")
    hand.comes(lambda: hand.counts_for(sat), f"+{found[sat]:.3f}")


@ability("undo a change", 3)
def undo(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    runs(hand, OFF)
    hand.undo_change()
    yield
    runs(hand)


@ability("take one of two changes back", 5)
def take_back(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    runs(hand, OFF)
    hand.what_if("MLP of L1 off")
    runs(hand, OFF, whatif.mlp(1))
    hand.take_back("L1·H8 off")
    yield
    runs(hand, whatif.mlp(1))


@ability("go back to the model's own run", 5)
def reset(hand: Hand) -> Steps:
    hand.what_if(re.compile("^L1·H8 off"))
    runs(hand, OFF)
    hand.what_if("MLP of L1 off")
    runs(hand, OFF, whatif.mlp(1))
    hand.reset()
    yield
    runs(hand)


@ability("come to a change again by keys", 4)
def forward(hand: Hand) -> Steps:
    hand.head(2, 3)
    hand.switch_off()
    runs(hand, whatif.off(2, 3))
    hand.press("Alt+ArrowLeft")
    runs(hand)
    hand.press("Alt+ArrowRight")
    yield
    runs(hand, whatif.off(2, 3))


@ability("go back over a change by keys", 3)
def back(hand: Hand) -> Steps:
    hand.head(2, 3)
    hand.switch_off()
    runs(hand, whatif.off(2, 3))
    hand.press("Alt+ArrowLeft")
    yield
    runs(hand)
    hand.shows("L2·H3")
