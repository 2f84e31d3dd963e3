"""A corpus beside a text, two runs beside each other, and a part of the view alone."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import expect

from browser.views import signed

from .hand import Hand
from .heads import Steps
from .subjects import comparison, corpus, similarity, trace
from .table import ability


@ability("see what a head does over a corpus", 1, of="corpus")
def survey(hand: Hand) -> Steps:
    part = hand.tab("survey")
    yield
    expect(hand.corpus_head(0, 2)).to_have_attribute("aria-label", corpus_name(0, 2, "previous"))
    expect(part).to_be_visible()


def corpus_name(layer: int, head: int, name: str, by: str = "weight", average: str = "text") -> str:
    value = corpus()["stats"].values(name, by, average)[layer, head]
    return f"L{layer}·H{head}: {signed(value, 3)}"


@ability("see another statistic of a corpus", 3, of="corpus")
def survey_statistic(hand: Hand) -> Steps:
    hand.tab("survey")
    hand.corpus_statistic("next")
    yield
    expect(hand.corpus_head(1, 8)).to_have_attribute("aria-label", corpus_name(1, 8, "next"))


@ability("see a corpus by norm", 2, of="corpus")
def survey_norm(hand: Hand) -> Steps:
    hand.tab("survey")
    hand.corpus_by_norm()
    yield
    expect(hand.corpus_head(0, 2)).to_have_attribute("aria-label", corpus_name(0, 2, "previous", "norm"))


@ability("let each token of a corpus count the same", 2, of="corpus")
def survey_tokens(hand: Hand) -> Steps:
    hand.tab("survey")
    hand.corpus_per_token()
    yield
    expect(hand.corpus_head(0, 2)).to_have_attribute("aria-label", corpus_name(0, 2, "previous", average="token"))


@ability("see how this text differs from a corpus", 2, of="corpus")
def survey_difference(hand: Hand) -> Steps:
    hand.tab("survey")
    hand.corpus_beside_text()
    yield
    here = float(np.trace(trace("pair").attention(0)[2].double().numpy(), -1) / 21)
    expect(hand.corpus_head(0, 2)).to_have_attribute("aria-label", f"L0·H2: {signed(here, 3)}")


@ability("choose a head in the picture of a corpus", 2, of="corpus")
def survey_head(hand: Hand) -> Steps:
    hand.tab("survey")
    hand.click(hand.corpus_head(4, 5))
    yield
    hand.shows("L4·H5")


@ability("see the layers of a corpus by their cone index", 3, of="corpus")
def survey_layers(hand: Hand) -> Steps:
    part = hand.tab("survey")
    hand.corpus_layers("cone")
    yield
    expect(part.get_by_role("img", name="I/n, layer by layer")).to_be_visible()


@ability("colour the map of heads by a statistic", 2, of="corpus")
def survey_map(hand: Hand) -> Steps:
    part = hand.tab("survey")
    colours = "all => new Set(all.map(one => one.getAttribute('fill'))).size"
    hand.corpus_map_by("previous token")
    yield
    hand.comes(lambda: part.locator("[data-map-head]").evaluate_all(colours) > 6, True)


@ability("run a text of the corpus in which a head does most", 4, of="corpus")
def survey_text(hand: Hand) -> Steps:
    hand.tab("table")
    hand.table_of("atlas")
    hand.head_of_table("L0·H2")
    hand.run_text_of_corpus()
    yield
    hand.comes(lambda: hand.view.text != trace("pair").text, True)


# Two runs


@ability("see where two runs differ most", 0, of="compared")
def compare(hand: Hand) -> Steps:
    yield
    expect(hand.seen.part("compare-most").locator("li")).to_have_count(5)


@ability("choose a word of two aligned texts", 1, of="compared")
def compare_word(hand: Hand) -> Steps:
    hand.aligned(7)
    yield
    hand.has(query=7)
    expect(hand.seen.part("compare-cell")).to_contain_text("mat")


@ability("choose what a word of two aligned texts looks at", 1, of="compared")
def compare_key(hand: Hand) -> Steps:
    hand.aligned(3, key=True)
    yield
    hand.has(key=3)


@ability("choose a head of two runs", 1, of="compared")
def compare_head(hand: Hand) -> Steps:
    hand.head_apart(4, 9)
    yield
    hand.has(layer=4, head=9)
    expect(hand.seen.part("compare-maps").get_by_role("heading", name=re.compile("^L4·H9"))).to_be_visible()


@ability("go to the cell at which a head of two runs differs most", 1, of="compared")
def compare_most(hand: Hand) -> Steps:
    hand.most_apart(2)
    yield
    third = comparison().most(3).iloc[2]
    layer, head = int(third["layer"]), int(third["head"])
    query, key = comparison().cell(layer, head)
    hand.has(layer=layer, head=head, query=query, key=key)


@ability("see two runs by norm", 1, of="compared")
def compare_norm(hand: Hand) -> Steps:
    hand.show("norm")
    yield
    expect(hand.seen.part("compare-maps")).to_contain_text("norm")
    hand.has(measure="norm")


@ability("see two runs as tables", 1, of="compared")
def compare_tables(hand: Hand) -> Steps:
    hand.as_tables()
    yield
    hand.comes(lambda: hand.seen.part("compare-maps").get_by_role("table").count() >= 3, True)


@ability("see what the model answers in two runs", 0, of="compared")
def compare_answers(hand: Hand) -> Steps:
    yield
    expect(hand.seen.part("compare-answers")).to_have_text(comparison().answers().said)


@ability("compare by aligned words alone", 1, of="compared")
def compare_aligned(hand: Hand) -> Steps:
    hand.aligned_only()
    yield
    only = comparison().only()
    expect(hand.seen.part("compare-said")).to_have_text(only.said)
    expect(hand.seen.part("compare-most").locator("li")).to_have_text(only.most(5)["words"].tolist())


@ability("compare the run shown with another text", 1, of="one")
def compare_with(hand: Hand) -> Steps:
    hand.compare_with(comparison().b.text)
    yield
    expect(hand.seen.part("compare-said")).to_have_text(comparison().only().said)


@ability("stop comparing", 2, of="one", view="compare", settings={"compare_with": {"text": "A dog lay there."}})
def compare_stop(hand: Hand) -> Steps:
    hand.stop_comparing()
    yield
    expect(hand.seen.part("compare-with")).to_be_visible()


# Parts alone


@ability("choose a query where a view has no head", 2, of="neurons alone")
def query_select(hand: Hand) -> Steps:
    hand.choose_query(3)
    yield
    hand.has(query=3)
    expect(hand.seen.part("formula")).to_contain_text("sat →")


# Two texts


@ability("see which words make two texts similar, and whether it would change without them", 0, of="similar")
def similar(hand: Hand) -> Steps:
    yield
    top = similarity().effects(1).iloc[0]
    part = hand.seen.part("similarity")
    expect(part.locator(".bl-pinned th")).to_have_text(f"{top.a} – {top.b}")
    expect(hand.seen.part("similar-tried")).to_contain_text(f"without both {signed(top.without_both, 3)}")


@ability("choose a pair of words of two texts", 1, of="similar")
def similar_pair(hand: Hand) -> Steps:
    hand.pair_of_words("food – eats")
    yield
    expect(hand.seen.part("similar-tried")).to_contain_text("without a’s “food”")


@ability("see two texts by the tokens that went in", 1, of="similar")
def similar_input(hand: Hand) -> Steps:
    hand.split_by("input tokens")
    yield
    expect(hand.seen.part("similar-said")).to_contain_text("Split by the tokens that went in")


@ability("see two texts by pieces", 1, of="similar")
def similar_pieces(hand: Hand) -> Steps:
    hand.texts_by("Pieces")
    yield
    expect(hand.seen.part("similarity").get_by_role("button", name="Pieces")).to_have_attribute("aria-pressed", "true")


@ability("see why a head looks where it does in the run of one of two texts", 1, of="similar")
def similar_why(hand: Hand) -> Steps:
    hand.why_word("meal")
    yield
    expect(hand.seen.part("why")).to_be_visible()
    hand.comes(lambda: hand.view.text, "Nobody eats a meal here.")


@ability("ask why a text is similar to another one", 3, of="one")
def similar_to(hand: Hand) -> Steps:
    hand.similar_to("The dog lay on the rug.")
    yield
    expect(hand.seen.part("similar-value")).to_contain_text("cosine")
