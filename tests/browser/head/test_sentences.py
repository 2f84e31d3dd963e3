"""What is said of a head is of the measure shown, on the screen and in a file."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from bertlens.base import vocabulary
from bertlens.measures import gates, norms
from browser.views import Seen

DESCRIPTION = "{http://www.w3.org/2000/svg}desc"


def shares(trace, layer: int, head: int, norm: bool) -> dict[str, float]:
    """Where a row's weight, or its share of ‖αf(x)‖, lies: mean over rows, by the words of the sentence."""
    rows = (norms.weighted_norm(trace, layer) if norm else trace.attention(layer))[head].double()
    rows = rows / rows.sum(-1, keepdim=True)
    separators = [n for n, token in enumerate(trace.display_tokens) if token == "[SEP]"]
    return {
        "the next word": float(rows.diagonal(1).sum() / len(rows)),
        "the previous word": float(rows.diagonal(-1).sum() / len(rows)),
        "the word itself": float(rows.diagonal().mean()),
        "[CLS]": float(rows[:, 0].mean()),
        "[SEP]": float(rows[:, separators].sum(-1).mean()),
        "entropy": float(-(rows * rows.clamp_min(1e-300).log()).sum(-1).mean()),
    }


VERBS = r"(?:looks|rests|goes|takes|comes) (?:partly )?(?:at|on|to|from)"


def told(sentence: str) -> list[tuple[str, str]]:
    """(where, percent) of each share that a sentence names, the first one in its lead."""
    first = re.match(rf"L\d+·H\d+ {VERBS} ([^(]+) \((\d+) %\)", sentence)
    assert first, sentence
    return [first.groups(), *((where, part) for part, where in re.findall(rf"(\d+) % {VERBS} ([^;.]+)", sentence))]


def holds(sentence: str, truth: dict[str, float]) -> None:
    for where, percent in told(sentence):
        assert int(percent) / 100 == pytest.approx(truth[where], abs=0.0051), (sentence, where)
    assert truth[told(sentence)[0][0]] == max(value for name, value in truth.items() if name != "entropy"), sentence


def said(seen: Seen) -> str:
    text = str(seen.part("head-sentence").inner_text())
    assert text.startswith("In general: ")  # the front above says what a word of this text does
    return text.removeprefix("In general: ")


def described(seen: Seen) -> str:
    return ElementTree.fromstring(seen.save("SVG", "Head view").read_bytes()).findtext(DESCRIPTION) or ""


@pytest.mark.parametrize("measure", ["weight", "norm", "difference"])
def test_sentence_and_file_say_what_the_measure_shows(show, pair, measure):
    seen = show(pair.explore(layer=1, head=8, measure=measure))
    by_weight, by_norm = shares(pair, 1, 8, norm=False), shares(pair, 1, 8, norm=True)
    assert abs(by_weight["[CLS]"] - by_norm["[CLS]"]) > 0.05  # the two differ, so that one can be wrong
    if measure != "weight":  # until its statistics are there it says where the head looks
        expect(seen.part("head-sentence")).to_contain_text("takes")
    sentence = said(seen)
    truth = by_norm if measure == "norm" else by_weight
    if measure == "difference":
        a, n = pair.attention(1)[8].double(), norms.weighted_norm(pair, 1)[8].double()
        apart = float(((a - n / n.sum(-1, keepdim=True)).abs().sum(-1) / 2).mean())
        shown, elsewhere = sentence.split("; ")
        assert elsewhere.startswith(f"{round(100 * apart)} % of what it takes comes from elsewhere.")
        holds(shown, truth)
    else:
        holds(sentence, truth)
    entropy = re.search(r"entropy (\d\.\d) nats", seen.part("head-sentence").locator(".bl-term").get_attribute("title"))
    assert entropy and float(entropy[1]) == pytest.approx(truth["entropy"], abs=0.051)
    assert sentence.startswith(described(seen))


def test_the_kind_of_head_is_a_tag_after_the_sentence(show, pair):
    """Its tooltip has what the kind means, at which length, and what else is to be known of the head."""
    seen = show(pair.explore(layer=1, head=8))
    sentence, tag = seen.part("head-sentence"), seen.part("head-sentence").locator(".bl-term")
    expect(tag).to_have_text("forward contextual")
    assert said(seen).endswith(". forward contextual")
    about = vocabulary.GATES["forward contextual"].about
    expect(tag).to_have_attribute("title", re.compile(f"^{about} A kind of head at 21 tokens. paper: 2-9 · .*entropy"))
    tag.click()
    expect(seen.tab("Gates")).to_have_attribute("aria-selected", "true")
    table = gates.classify(pair).set_index(["layer", "head"])["label"]
    layer, head = next(at for at, label in table.items() if label == "mixed")
    seen.thumb(layer, head).click()
    expect(sentence).to_contain_text(f"L{layer}·H{head}")
    expect(tag).to_have_text("more")
    expect(tag).to_have_attribute("title", re.compile("^No clear kind. paper: "))


def test_file_of_a_layer_map_says_what_the_map_is(show, pair):
    seen = show(pair.explore(layer=1, head=8, layer_map="rollout"))
    assert described(seen) == vocabulary.LAYER_MAPS["rollout"].about
