"""What stands below the head: each tab opened and worked, and its tables."""

from __future__ import annotations

import re
from typing import Any

import torch
from playwright.sync_api import expect

from bertlens.measures import gates, norms, sources
from browser.views import shown, signed

from .cells import expect_pinned
from .hand import Hand
from .heads import Steps
from .subjects import trace
from .table import ability

CELL: dict[str, Any] = {"query": 3, "key": 4}
IT_ANIMAL: dict[str, Any] = {"layer": 3, "head": 7, "query": 10, "key": 2}


def split(**more: object) -> float:
    """The score that "Why" splits, less that of what it is against."""
    return float(sources.score(trace("animal"), **(IT_ANIMAL | more)).total)


# Neurons


@ability("see how a weight is computed", 1, **CELL)
def neurons(hand: Hand) -> Steps:
    hand.tab("neurons")
    yield
    expect(hand.seen.part("formula-alpha")).to_have_text(shown(float(trace("pair").attention(1)[8, 3, 4])))


@ability("order the neurons as they come", 3, **CELL)
def neurons_by_index(hand: Hand) -> Steps:
    hand.tab("neurons")
    hand.order_neurons("index")
    yield
    hand.comes(lambda: hand.state().get("neuron_order"), "index")


@ability("order the keys by attention", 3, **CELL)
def keys_by_attention(hand: Hand) -> Steps:
    hand.tab("neurons")
    hand.order_keys("attention")
    yield
    row = trace("pair").attention(1)[8, 3]
    best = [shown(float(v)) for v in row.sort(descending=True).values[:4]]
    hand.comes(lambda: hand.alphas()[:4], best)


@ability("see all keys of a text", 2, **CELL)
def all_keys(hand: Hand) -> Steps:
    hand.tab("neurons")
    hand.all_keys()
    yield
    hand.comes(lambda: len(hand.alphas()), 21)


@ability("pin a key where its weight is computed", 2, **CELL)
def key_of_neurons(hand: Hand) -> Steps:
    hand.tab("neurons")
    hand.neuron_key("cat")
    yield
    expect_pinned(hand, 3, 2)
    expect(hand.seen.part("formula-alpha")).to_have_text(shown(float(trace("pair").attention(1)[8, 3, 2])))


# Why


@ability("see where a score came from", 1, of="animal", **IT_ANIMAL)
def why(hand: Hand) -> Steps:
    hand.tab("why")
    yield
    expect(hand.seen.part("why-foot")).to_contain_text(signed(split(), 4))


@ability("split a score by its key", 2, of="animal", **IT_ANIMAL)
def why_key(hand: Hand) -> Steps:
    part = hand.tab("why")
    hand.why_of("Key")
    yield
    largest = sources.score(trace("animal"), **IT_ANIMAL, side="key").rows
    value = max((row[3] for row in largest if row[0] == "head"), key=abs)
    expect(part.get_by_test_id("why-parts")).to_contain_text(signed(value))


@ability("split a score by both sides", 2, of="animal", **IT_ANIMAL)
def why_both(hand: Hand) -> Steps:
    part = hand.tab("why")
    hand.why_of("Both")
    yield
    raw = float(trace("animal").scores(3)[7, IT_ANIMAL["query"], IT_ANIMAL["key"]])
    expect(part.get_by_test_id("why-foot")).to_contain_text(signed(raw, 3)[:5])


@ability("open the MLPs of a split", 2, of="animal", **IT_ANIMAL)
def why_mlps(hand: Hand) -> Steps:
    part = hand.tab("why")
    hand.open_mlps()
    yield
    parts = part.get_by_test_id("why-parts")
    expect(part.get_by_test_id("why-foot")).to_contain_text(signed(split(), 3)[:5])
    hand.comes(lambda: "MLP" in parts.inner_text(), False)


@ability("split a score against another key", 2, of="animal", **IT_ANIMAL)
def why_against(hand: Hand) -> Steps:
    part = hand.tab("why")
    hand.against("One word …")
    yield
    row = trace("animal").attention(3)[7, IT_ANIMAL["query"]].clone()
    row[IT_ANIMAL["key"]] = -1
    expect(part.get_by_test_id("why-foot")).to_contain_text(signed(split(against=int(row.argmax())), 4))


@ability("split a score against nothing", 2, of="animal", **IT_ANIMAL)
def why_raw(hand: Hand) -> Steps:
    part = hand.tab("why")
    hand.against("Nothing")
    yield
    expect(part.get_by_test_id("why-foot")).to_contain_text(signed(split(against=None), 4))


@ability("follow a part of a score to the head that fetched it", 2, of="animal", **IT_ANIMAL)
def why_follow(hand: Hand) -> Steps:
    hand.tab("why")
    hand.follow()
    yield
    hand.comes(lambda: hand.view.layer < 3, True)
    hand.shows(f"L{hand.view.layer}·H{hand.view.head}")


@ability("come back from the head that fetched it", 3, of="animal", **IT_ANIMAL)
def why_back(hand: Hand) -> Steps:
    hand.tab("why")
    hand.follow()
    hand.follow_back()
    yield
    hand.has(**IT_ANIMAL)


@ability("see one of the pictures that a head's scores are the sum of", 2, of="animal", **IT_ANIMAL)
def why_picture(hand: Hand) -> Steps:
    hand.tab("why")
    picture = hand.picture_of_score(1)
    yield
    expect(picture).to_have_attribute("aria-pressed", "true")


@ability("try what a part of a score did", 2, of="animal", **IT_ANIMAL)
def why_try(hand: Hand) -> Steps:
    hand.tab("why")
    hand.try_part()
    yield
    expect(hand.seen.part("tried")).to_contain_text(signed(split()))
    assert len(hand.view.trace.changes) == 1


# Weight against norm


@ability("see weight against norm", 1)
def weight_norm(hand: Hand) -> Steps:
    part = hand.tab("norms")
    yield
    expect(part.locator("svg").first.locator("path[fill-opacity]")).to_have_count(441)


@ability("see mixing ratios by another norm", 3)
def mixing(hand: Hand) -> Steps:
    part = hand.tab("norms")
    hand.mixing("attn-n")
    yield
    mean = norms.mixing_ratio(trace("pair"), 0, "attn-n").mean()
    expect(part).to_contain_text(f"L0 {round(100 * float(mean))} %")


@ability("choose layer and word in the picture of mixing ratios", 2)
def mixing_cell(hand: Hand) -> Steps:
    hand.tab("norms")
    hand.mixing_at(3, 5, 6, 21)
    yield
    hand.has(layer=3, query=5)


# Gates


@ability("see what kind of head it is", 1)
def kind(hand: Hand) -> Steps:
    part = hand.tab("gates")
    yield
    table = gates.classify(trace("pair")).set_index(["layer", "head"])
    expect(part.get_by_role("heading", name=re.compile("^L1·H8"))).to_contain_text(table.label[1, 8])


@ability("move the threshold of gates", 2)
def threshold(hand: Hand) -> Steps:
    part = hand.tab("gates")
    hand.gate_limits("threshold", 0.9)
    yield
    table = gates.classify(trace("pair"), threshold=0.9).set_index(["layer", "head"])
    expect(part.get_by_role("heading", name=re.compile("^L1·H8"))).to_contain_text(table.label[1, 8])
    hand.comes(lambda: hand.heads_of_gate("mixed"), int((table.label == "mixed").sum()))


@ability("move the margin of gates", 2)
def margin(hand: Hand) -> Steps:
    hand.tab("gates")
    hand.gate_limits("margin", 0.4)
    yield
    count = int((gates.classify(trace("pair"), margin=0.4).label == "mixed").sum())
    hand.comes(lambda: hand.heads_of_gate("mixed"), count)


@ability("see gates of content words alone", 2)
def content(hand: Hand) -> Steps:
    hand.tab("gates")
    hand.gate_of_content()
    yield
    hand.comes(lambda: hand.state().get("gate_view"), "content")


@ability("pin a cell that made a gate", 2)
def evidence(hand: Hand) -> Steps:
    hand.tab("gates")
    hand.evidence_at(5, 6, 21, 21)
    yield
    expect_pinned(hand, 5, 6)


# Geometry


@ability("see the geometry of the stream", 1)
def geometry(hand: Hand) -> Steps:
    part = hand.tab("geometry")
    yield
    x = trace("pair").layer_input(1).double()
    cone = float((x / x.norm(dim=-1, keepdim=True)).mean(0).norm())
    assert 0 < cone < 1
    expect(part.get_by_role("img", name="Cone index through the stream")).to_be_visible()


@ability("see the words of another layer as a picture", 2)
def station(hand: Hand) -> Steps:
    part = hand.tab("geometry")
    hand.stream_of(4)
    yield
    expect(part.get_by_test_id("stream")).to_contain_text("after L3")
    expect(part.get_by_role("img", name="The stream after L3")).to_be_visible()


@ability("find a word in the picture of the stream", 2)
def stream_find(hand: Hand) -> Steps:
    part = hand.tab("geometry")
    hand.find_in_stream("the")
    yield
    expect(part.get_by_test_id("stream").locator("output").last).to_have_text("4 of 21")


@ability("go to the word that is nearest by cosine", 2, **CELL)
def nearest(hand: Hand) -> Steps:
    hand.tab("geometry")
    hand.nearest_by_cosine()
    yield
    x = trace("pair").layer_output(1).double()
    unit = x / x.norm(dim=-1, keepdim=True)
    cosine = (unit @ unit[3]) - 2 * torch.eye(21)[3]
    hand.has(query=int(cosine.argmax()), key=None)


@ability("choose a word in the picture of the stream", 2)
def stream_token(hand: Hand) -> Steps:
    hand.tab("geometry")
    hand.word_of_stream(15)
    yield
    hand.has(query=15)


# Tables


@ability("see the pictures of a tab as tables", 2, **CELL)
def tables(hand: Hand) -> Steps:
    hand.tab("neurons")
    hand.as_tables()
    yield
    expect(hand.table("Neurons of the query and of the keys").locator("tbody tr")).to_have_count(32)


@ability("see a head's largest weights as a table", 1, query=3)
def cells(hand: Hand) -> Steps:
    part = hand.tab("table")
    yield
    best = shown(float(trace("pair").attention(1)[8, 3].max()))
    expect(part.locator("tbody tr").first).to_contain_text(best)


@ability("see all heads as a table", 2)
def all_heads(hand: Hand) -> Steps:
    part = hand.tab("table")
    hand.table_of("atlas")
    yield
    expect(part.get_by_role("button", name="L0·H2", exact=True)).to_be_visible()


@ability("sort the table of heads by another statistic", 3)
def sort(hand: Hand) -> Steps:
    part = hand.tab("table")
    hand.table_of("atlas")
    hand.sort_table("largest weight α")
    yield
    most = [trace("pair").attention(layer).amax((1, 2)) for layer in range(6)]
    best = divmod(int(torch.stack(most).argmax()), 12)
    expect(part.locator("tbody tr").first).to_contain_text("L{}·H{}".format(*best))


@ability("choose a head in the table", 3)
def table_head(hand: Hand) -> Steps:
    hand.tab("table")
    hand.table_of("atlas")
    hand.head_of_table("L0·H2")
    yield
    hand.shows("L0·H2")


@ability("copy a table", 2, query=3)
def copy_table(hand: Hand) -> Steps:
    part = hand.tab("table")
    text = hand.copy_table(part)
    yield
    lines = [line.split("\t") for line in text.splitlines()]
    assert lines[0][:4] == ["query", "query_index", "key", "key_index"] and len(lines) > 5
