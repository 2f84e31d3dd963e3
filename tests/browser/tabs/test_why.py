"""The Why tab: what it says is true of the weights, its sums are the neuron view's numbers, and every way is walked by
keyboard. Numbers of the split itself: tests/unit/measures/test_sources.py and test_why.py."""

from __future__ import annotations

import re
from itertools import product
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, expect

from bertlens.measures import sources
from bertlens.widgets.questions import QUESTIONS
from browser.views import Seen, hosted, number, rows_of, signed

pytestmark = pytest.mark.usefixtures("neurons_open")

LAYER, HEAD = 3, 7
MEAN = "at a token with the mean score of the other 15 (geometric mean of their weights)"  # of the 16 of `trace`


@pytest.fixture(scope="module")
def trace(embedded_lens: Any) -> Any:
    return embedded_lens.trace("The animal didn't cross the street because it was too tired.")


@pytest.fixture(scope="module")
def cell(trace: Any) -> dict[str, int]:
    return {"layer": LAYER, "head": HEAD, "query": trace.tokens.index("it"), "key": trace.tokens.index("animal")}


def followed(trace: Any, cell: dict[str, int], side: str = "query") -> tuple[dict[str, int], str]:
    """The cell that the first chip leads to, and the chip's token."""
    fields, _ = QUESTIONS["why"].answer(trace, **cell, side=side, against="others", through_mlps=False)
    part = next(part for part in fields["largest"] if part["token"] is not None)
    to = {"layer": part["layer"], "head": part["head"], "query": cell[side], "key": part["token"]}
    return to, trace.display_tokens[part["token"]]


def net(seen: Seen) -> Locator:
    """The printed net, with its unit."""
    return seen.part("why").locator("[data-net]")


def tab_to(seen: Seen, name: str, role: str = "button") -> None:
    """Press Tab until a control inside the tab has the focus."""
    wanted = seen.root.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
    for _ in range(120):
        if wanted.count() and wanted.first.evaluate("one => one === document.activeElement"):
            return
        seen.page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {name}")


def choose(seen: Seen, name: str) -> None:
    tab_to(seen, name)
    seen.page.keyboard.press("Enter")


def back_to_start(seen: Seen) -> None:
    seen.tab("Why").focus()


def test_every_way_by_keyboard_alone(show: Any, trace: Any, cell: dict[str, int]) -> None:
    to, token = followed(trace, cell)
    seen = show(trace.explore(**cell))
    key = cell["key"]
    score = seen.numbers("score")[key]
    seen.part("contrast").locator("summary").click()
    expect(seen.part("contrast")).to_contain_text("contrast")
    found = re.search(r"contrast ([+−\d.]+)\)", seen.part("contrast").text_content() or "")
    assert found
    contrast = found[1]

    seen.tab("Neurons").focus()  # open the tab
    seen.page.keyboard.press("ArrowRight")
    expect(seen.tab("Why")).to_be_focused()
    seen.page.keyboard.press("Enter")
    expect(seen.part("why-says")).to_be_visible()
    expect(net(seen)).to_have_text(f"{contrast} nats")

    choose(seen, "more …")
    choose(seen, "Nothing")
    expect(seen.part("why-says")).to_contain_text(f"with a score of {score}.")
    expect(net(seen)).to_have_text(f"{score} nats")
    expect(seen.part("why-foot")).to_contain_text("A split, not an experiment")

    back_to_start(seen)
    choose(seen, "Key")  # the other side: the same number by other parts
    wanted = sources.score(trace, **cell, side="key", against=None)
    assert signed(wanted.total, 4) == signed(wanted.model, 4)
    foot = f"The parts add up to the model’s own {signed(wanted.model, 4)}."
    expect(seen.part("why-parts")).to_contain_text(signed(max((row[3] for row in wanted.rows), key=abs)))
    expect(seen.part("why-foot")).to_contain_text(foot)
    expect(net(seen)).to_have_text(f"{score} nats")

    choose(seen, "Opened")
    expect(seen.part("why").get_by_text("MLPs", exact=True)).to_have_count(1)  # the switch: no part is an MLP's
    expect(net(seen)).to_have_text(f"{score} nats")

    choose(seen, "One word …")
    alpha = trace.attention(LAYER, torch.float64)[HEAD, cell["query"]]
    order = [j for j in alpha.argsort(descending=True).tolist() if j != key]
    expect(seen.select("key")).to_have_value(str(order[0]))
    tab_to(seen, "key", "combobox")
    seen.page.keyboard.press("Home")
    seen.page.keyboard.press("End")
    foil = trace.n_tokens - 1
    expect(seen.select("key")).to_have_value(str(foil))
    expect(seen.part("why-says")).to_contain_text(f"times as much as at “{trace.display_tokens[foil]}”.")
    assert number((net(seen).text_content() or "").removesuffix(" nats")) == pytest.approx(
        float((alpha[key] / alpha[foil]).log()), abs=0.0051
    )

    back_to_start(seen)
    for name in ("Query", "As sources", "Other words on average"):
        choose(seen, name)
    expect(net(seen)).to_have_text(f"{contrast} nats")
    label = f"L{to['layer']}·H{to['head']} · from “{token}” ›"
    choose(seen, label)  # to where an earlier head fetched its part
    seen.title(f"L{to['layer']}·H{to['head']}")
    expect(seen.part("why-says")).to_contain_text(f"In L{to['layer']}·H{to['head']}, “it” looks at “{token}” ")
    expect(seen.part("why")).to_contain_text("the pinned cell")
    expect(seen.part("why")).to_be_focused()
    choose(seen, f"‹ L{LAYER}·H{HEAD} it → animal")  # and back
    seen.title(f"L{LAYER}·H{HEAD}")
    expect(seen.part("why-says")).to_contain_text("“it” looks at “animal”")
    expect(seen.root.get_by_role("navigation", name="Way back")).to_have_count(0)
    expect(net(seen)).to_have_text(f"{contrast} nats")


def test_both_sides_sum_to_the_score(show: Any, trace: Any, cell: dict[str, int]) -> None:
    seen = show(trace.explore(**cell))
    score = seen.numbers("score")[cell["key"]]
    seen.open_tab("Why")
    more = seen.part("why").get_by_role("button", name="more …")
    expect(seen.part("why")).to_contain_text("compared with: other words on average")
    expect(seen.choice("stream of", "Both")).to_have_count(0)  # an expert's choices are behind "more"
    more.click()
    seen.choice("stream of", "Both").click()
    expect(more).to_have_count(0)  # nothing but the usual is hidden there
    texts = seen.part("why").locator("svg text").all_text_contents()
    values = [text for text in texts if re.fullmatch(r"−?\d+\.\d\d", text)]
    assert len(values) == 6 * 6 + 2 * 6 + 1 and values[-1] == score
    s = {side: sources.score(trace, **cell, side=side, against=None).by("kind") for side in sources.SIDES}
    margins = values[36:48]
    for n, kind in enumerate(s["query"].index):
        assert margins[2 * n : 2 * n + 2] == [signed(s["query"][kind]), signed(s["key"][kind])]
    root = ElementTree.fromstring(seen.save("SVG", "Open tab").read_bytes())
    written = " ".join("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
    query, key = cell["query"], cell["key"]
    assert f"L{LAYER}·H{HEAD}, “it” ({query}) at “animal” ({key}): sum {signed(s['key'].sum(), 4)}" in written


def test_a_page_without_a_kernel_holds_the_shown_head_and_refuses_the_rest(show_saved: Any, trace: Any) -> None:
    alpha = trace.attention(LAYER)[HEAD]
    strongest, least = int(alpha[3].argmax()), int(alpha[3].argmin())
    seen = show_saved(trace.explore(layer=LAYER, head=HEAD, query=3, key=strongest, view="why"))
    seen.part("why").get_by_role("button", name="more …").click()
    for side, opened, against in product(
        ("Key", "Query", "Both"), ("Opened", "As sources"), ("Nothing", "Other words on average")
    ):
        seen.choice("stream of", side).click()
        if side != "Both":
            seen.choice("MLPs", opened).click()
            seen.choice("compared with", against).click()
        expect(seen.part("why-foot")).to_contain_text("The parts add up to")
        expect(seen.part("why")).not_to_contain_text("computing")
    seen.choice("stream of", "Query").click()
    seen.at_cell(5, int(alpha[5].argmax()))
    expect(seen.part("why-says")).to_contain_text(f"“{trace.display_tokens[5]}” looks at")
    seen.at_cell(3, least)
    expect(seen.part("why")).to_contain_text("This needs the model, which a saved page does not hold.")
    expect(seen.part("why")).to_contain_text("What does it hold?")
    seen.at_cell(3, strongest)
    expect(seen.part("why-says")).to_be_visible()


def test_long_texts_are_refused_in_words(show_saved: Any, embedded_lens: Any) -> None:
    trace = embedded_lens.trace("one two three four five six seven eight nine ten. " * 6)
    assert trace.n_tokens > 64
    seen = show_saved(trace.explore(layer=2, head=1, view="why"))
    held = seen.part("why").locator("abbr", has_text="What does it hold?")
    expect(held).to_have_attribute("title", re.compile("texts of at most 64 tokens"))


def test_a_later_key_of_gpt2_and_its_first_token(show: Any) -> None:
    """A query that sees only itself has nothing to be compared with; a hidden key is no question."""
    from browser.maps import causal

    trace = causal()
    seen = show(trace.explore(layer=1, head=1, query=2, key=1, view="why"))
    expect(seen.part("why-says")).to_contain_text(
        "at a token with the mean score of the other 2 that it may look at (geometric mean of their weights)."
    )
    assert "position" in seen.part("why").inner_text()


def test_files(show: Any, trace: Any, cell: dict[str, int]) -> None:
    seen = show(trace.explore(**cell, view="why"))
    expect(seen.part("why-says")).to_be_visible()
    s = sources.score(trace, **cell)
    root = ElementTree.fromstring(seen.save("SVG", "Open tab").read_bytes())
    texts = " ".join("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
    for part in ("“it”", "“animal”", "by the sources of the query", f"sum {signed(s.total, 4)}", "net"):
        assert part in texts, part
    assert "Largest parts" in texts
    (about,) = root.iter("{http://www.w3.org/2000/svg}metadata")
    assert "a split, not an experiment" in (about.text or "")
    path = seen.save("CSV", "Open tab")
    rows = rows_of(path)
    assert len(rows) == len(s.rows)
    assert sum(float(row["nats"]) for row in rows) == pytest.approx(s.total, abs=1e-5)
    for row, (kind, layer, head, value) in zip(
        sorted(rows, key=lambda row: (row["kind"], row["layer"] or "-1", int(row["head"] or -1))),
        sorted(
            s.rows, key=lambda row: (row[0], str(-1 if row[1] is None else row[1]), -1 if row[2] is None else row[2])
        ),
        strict=True,
    ):
        assert (row["kind"], row["layer"]) == (kind, "" if layer is None else str(layer))
        assert row["head"] == ("" if head is None else str(head))
        assert float(row["nats"]) == pytest.approx(value, abs=1e-6)
    assert "a split, not an experiment" in path.read_text(encoding="utf-8")


def test_score_as_a_sum_of_pictures(show_saved: Any, pair: Any) -> None:
    """L0·H2 is position·position and nothing else: seen by its share; a picture is shown large, by keyboard too."""
    seen = show_saved(pair.explore(layer=0, head=2, view="why"))
    pictures = seen.part("why-pictures")
    buttons = pictures.locator(".bl-why-pictures button")
    expect(buttons).to_have_count(7)
    shares = sources.map_shares(sources.maps(pair, 0, 2))
    largest = sorted(shares, key=lambda one: -abs(shares[one]))[:5]
    texts = [text.replace("\n", " ") for text in buttons.all_inner_texts()]
    assert texts[0] == "score, row mean 0 100 %"
    for text, (query, key) in zip(texts[1:6], largest, strict=True):
        percent = f"{np.floor(100 * shares[query, key] + 0.5):.0f} %".replace("-", "−")
        assert text.removeprefix("= ").removeprefix("+ ") == f"{query}·{key} {percent}"
    assert largest[0] == ("position", "position") and shares[largest[0]] > 0.95
    buttons.nth(1).focus()
    seen.page.keyboard.press("Enter")
    large = seen.part("why-large")
    expect(large.get_by_role("img", name="position·position 98 %")).to_be_visible()
    names = large.locator("text").all_text_contents()
    assert names == pair.display_tokens * 2
    expect(pictures).to_contain_text("their sum is the model’s scores up to")
    seen.page.keyboard.press("Enter")
    expect(large).to_have_count(0)
    seen.thumb(3, 1).click()  # not held: in words, and not the pictures of the head before
    expect(pictures).to_contain_text("This needs the model, which a saved page does not hold.")


def test_two_steps_and_back_one_by_one(show: Any, trace: Any, cell: dict[str, int]) -> None:
    """The way back stays as long as the reader stays on it; another cell of the matrix ends it."""
    second, _ = followed(trace, cell)
    third, _ = followed(trace, second)
    seen = show(trace.explore(**cell, view="why"))
    way = seen.root.get_by_role("navigation", name="Way back")
    for place in (second, third):
        seen.part("why-parts").get_by_role("button", name=re.compile("from “.+” ›")).first.click()
        seen.title(f"L{place['layer']}·H{place['head']}")
        expect(seen.part("why")).not_to_contain_text("computing")
    expect(way.get_by_role("button")).to_have_count(2)
    way.get_by_role("button").nth(1).click()
    seen.title(f"L{second['layer']}·H{second['head']}")
    expect(way.get_by_role("button")).to_have_count(1)
    seen.at_cell(1, 1)
    expect(way).to_have_count(0)
    seen.at_cell(second["query"], second["key"])
    expect(way.get_by_role("button")).to_have_count(1)
    way.get_by_role("button").click()
    seen.title(f"L{LAYER}·H{HEAD}")
    expect(way).to_have_count(0)


def test_the_split_of_another_head_is_asked_for_with_the_head(tab_of: Any, trace: Any, cell: dict[str, int]) -> None:
    """One round trip, not two; its pictures, which take the kernel longest, come last."""
    seen = Seen(hosted(tab_of, trace.explore(**cell, view="why")))
    expect(seen.part("why-pictures")).to_be_visible()  # nothing of the first head is asked for any more
    seen.page.evaluate("() => Object.assign(models[0], { held: true, sent: [] })")
    # heads that matter are of the text, and wait for a quiet second
    sent = """() => models[0].sent.filter(({ op }) => op !== "heads_that_matter")
        .map(({ op, layer, head, query }) => [op, layer, head, query ?? null])"""
    seen.thumb(2, 4).click()
    assert seen.page.evaluate(sent) == [["head", 2, 4, None], ["why", 2, 4, cell["query"]]]
    seen.page.evaluate("() => { models[0].held = false; for (const { give } of models[0].waiting) give(); }")
    seen.title("L2·H4")
    seen.page.wait_for_function("() => models[0].sent.some(({ op }) => op === 'score_maps')")
    assert [name for name in seen.page.evaluate(sent) if name[0] == "why"] == [["why", 2, 4, cell["query"]]]
